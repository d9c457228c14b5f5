//! Machines that are not as they should be, and agents there that need a person.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use paw_testkit::{AgentLook, git, wait_until};
use serde_json::Value;

use super::{CLI, TwoMachines, audit};
use crate::paw::document;

/// Why the other machine cannot be reached, by `git paw cluster status`.
fn problem(world: &TwoMachines) -> Option<String> {
    let status = document(&world.run(&["cluster", "status", "--json"]));
    let host = status["hosts"].as_array()?.iter().find(|host| host["name"] == "big")?;
    host["problem"].as_str().map(str::to_owned)
}

fn wait_for_problem(world: &TwoMachines, expected: &str) {
    wait_until(expected, || (problem(world)? == expected).then_some(()));
}

#[test]
fn a_running_session_says_that_a_host_key_has_changed_or_a_user_is_refused() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let machine = &world.machine;
    let other = fs::read_to_string(machine.key("user.pub")).unwrap();
    fs::write(machine.key("known"), format!("[127.0.0.1]:{} {other}", machine.port)).unwrap();
    machine.end_connections();
    wait_for_problem(&world, "the host key of big has changed");
    let refused = world.paw(&["pause"]);
    assert!(refused.stderr.contains("the host key of big has changed"), "{refused}");
    machine.know_server();
    machine.write_client_config("no-such-user");
    world.run(&["start"]);
    wait_for_problem(&world, "big refuses this user or key");
    machine.write_client_config("root");
    world.wait_until_reachable(true);
    assert_eq!(problem(&world), None);

    // The machine was restarted meanwhile: nothing of the session runs there any longer.
    world.end_session_there();
    world.run(&["start"]);
    let panes = machine.tmux(&["list-panes", "-a", "-F", "#{@paw_agent}"]);
    assert!(panes.stdout.contains("feat-b"), "{panes}");
}

#[test]
fn an_agent_cannot_start_on_a_machine_with_an_old_tmux_or_another_version_or_without_space() {
    let Some(world) = TwoMachines::new() else { return };
    let machine = &world.machine;
    world.start_alone();
    let add = |expected: &str| {
        let ran = world.paw(&["add", "feat/b@big"]);
        assert!(ran.code == 1 && ran.stderr.contains(expected), "{expected}: {ran}");
        assert_eq!(world.agent("feat/b"), Value::Null, "it is not part of the session");
        assert_eq!(git(&world.repo.root, ["branch", "--list", "feat/b"]), "", "its branch is removed");
    };
    let program = machine.bin().join("git-paw");
    fs::remove_file(&program).unwrap();
    add("git-paw: not found");
    machine.install("git-paw", "git-paw 0.0.1");
    add("gave an answer that this version does not understand");
    fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(machine.program(), &program).unwrap();
    let tmux = machine.bin().join("tmux");
    let real = fs::read_link(&tmux).unwrap();
    machine.install("tmux", "tmux 2.8");
    add("on big: tmux 2.8 is too old");
    fs::remove_file(&tmux).unwrap();
    std::os::unix::fs::symlink(real, &tmux).unwrap();
    if let Some(_disk) = mount_small_disk(&world, "64k") {
        let full = world.paw(&["add", "feat/b@big"]);
        assert!(full.code == 1 && full.stderr.contains("No space left on device"), "{full}");
        assert_eq!(world.agent("feat/b"), Value::Null);
    }
    world.run(&["add", "feat/b@big"]);
    assert_eq!(world.agent("feat/b")["host"]["name"], "big");
}

impl TwoMachines {
    /// A session with `feat/a` here, to which agents on other machines can be added.
    pub(super) fn start_alone(&self) {
        let config = fs::read_to_string(self.machine.sandbox.user_config()).unwrap();
        if !config.contains("[broker]") {
            let config = format!("{config}[broker]\nenabled = true\n");
            self.machine.sandbox.write("home/.config/git-paw/config.toml", &config);
        }
        self.run(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a"]);
    }

    /// Ends the tmux server and the session's process on the other machine.
    pub(super) fn end_session_there(&self) {
        let clone = self.clone();
        let is_there = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == clone);
        self.machine.tmux(&["kill-server"]);
        for pid in self.machine.sandbox.session_processes().into_iter().filter(is_there) {
            self.kill(pid);
        }
    }
}

/// A disk of this size for all data of git-paw on the other machine. `None` where mounting is not allowed; that part of a test
/// is then left out.
pub(super) fn mount_small_disk(world: &TwoMachines, size: &str) -> Option<SmallDisk> {
    let data = world.machine.there().join(".local/share");
    fs::create_dir_all(&data).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&data);
    mount.output().is_ok_and(|output| output.status.success()).then_some(SmallDisk(data))
}

pub(super) struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// Leaves no space on it.
    fn fill(&self) {
        // Larger writes first: the last ones take what is left.
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_fills_up_on_another_machine_is_named_and_nothing_is_lost_once_there_is_space() {
    let Some(world) = TwoMachines::new() else { return };
    let Some(disk) = mount_small_disk(&world, "48m") else { return };
    world.start();
    world.wait_until_reachable(true);
    let clone = world.clone();
    world.run(&["tell", "feat-b", "message one", "--inbox"]);
    wait_until("a message arrives there", || audit(&clone).contains("message one").then_some(()));
    disk.fill();
    // What the agent says is refused with the reason, not lost.
    world.ask();
    let said = world.machine.there().join("said");
    let refused = wait_until("the agent is refused", || {
        fs::read_to_string(&said)
            .ok()
            .filter(|text| text.contains("disk is full") || text.contains("No space left"))
    });
    assert!(!audit(&world.repo.root).contains("may I rename it?"), "{refused}");
    // What the hub says waits, and new work is not stored.
    for number in 2..=20 {
        world.run(&[
            "tell",
            "feat-b",
            &format!("message number {number}. {}", "x".repeat(60_000)),
            "--inbox",
        ]);
    }
    let log = || fs::read_to_string(clone.join(".git/paw/session.log")).unwrap_or_default();
    wait_until("the machine says why", || {
        (log().contains("disk is full") || log().contains("No space left")).then_some(())
    });
    disk.free();
    fs::write(world.worktree().join("idea.txt"), "half a thought\n").unwrap();
    wait_until("the last message arrives", || audit(&clone).contains("message number 20.").then_some(()));
    for number in 2..=20 {
        let text = format!("message number {number}. ");
        assert_eq!(audit(&clone).matches(&text).count(), 1, "{text}");
    }
    wait_until("a snapshot arrives", || {
        let show = ["show", "refs/paw/snapshots/big/feat-b:idea.txt"];
        (world.machine.sandbox.run(&world.repo.root, "git", show).stdout == "half a thought\n").then_some(())
    });
    // The agent can speak again.
    let command = format!("cd {} && git-paw say --help >/dev/null && git-paw status --json", clone.display());
    let status = world.machine.sandbox.run(&world.repo.root, "ssh", ["big", &command]);
    assert_eq!(document(&status)["status"], "active", "{status}");
    world.run(&["purge", "--force"]);
}

#[test]
fn an_agent_cannot_start_on_a_machine_that_has_no_tmux_and_doctor_says_so() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start_alone();
    world.machine.remove_program("tmux");
    let doctor = world.machine.host(&["doctor", "big"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("tmux is not installed"), "{doctor}");
    let added = world.paw(&["add", "feat/b@big"]);
    assert!(added.code == 1 && added.stderr.contains("on big: tmux"), "{added}");
    assert_eq!(world.agent("feat/b"), Value::Null, "it is not part of the session");
    assert_eq!(git(&world.repo.root, ["branch", "--list", "feat/b"]), "", "its branch is removed");
    assert_eq!(world.agent("feat/a")["host"], Value::Null, "the session keeps running");
}

#[test]
fn two_agents_that_are_added_to_one_machine_at_the_same_time_both_run_there() {
    let Some(world) = TwoMachines::new() else { return };
    world.start_alone();
    let ran: Vec<_> = std::thread::scope(|scope| {
        let add = |branch: &'static str| world.paw(&["add", branch]);
        let added = ["feat/b@big", "feat/c@big"].map(|branch| scope.spawn(move || add(branch)));
        added.into_iter().map(|added| added.join().unwrap()).collect()
    });
    for ran in ran {
        assert_eq!(ran.code, 0, "{ran}\n{}", world.logs());
    }
    for (branch, id) in [("feat/b", "feat-b"), ("feat/c", "feat-c")] {
        assert_eq!(world.agent(branch)["host"]["name"], "big");
        let panes = world.machine.tmux(&["list-panes", "-a", "-F", "#{@paw_agent}"]);
        assert_eq!(panes.stdout.lines().filter(|pane| *pane == id).count(), 1, "{panes}");
    }
    world.wait_until_reachable(true);
    for agent in ["feat-b", "feat-c"] {
        let text = format!("only for {agent}");
        world.run(&["tell", agent, &text, "--inbox"]);
        wait_until("the message arrives there", || audit(&world.clone()).contains(&text).then_some(()));
    }
}

#[test]
fn a_machine_has_one_hub_and_a_session_that_was_left_there_is_named() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let clone = world.clone();
    let there = |world: &TwoMachines, args: &str| {
        let command = format!("cd {} && git-paw {args}", clone.display());
        world.machine.sandbox.run(&world.repo.root, "ssh", ["big", &command])
    };
    let config = world.machine.there().join(".config/git-paw/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[hosts.other]\nssh = \"other\"\n").unwrap();
    world.machine.install("nats-server", "nats-server: v2.15.1");
    let second = there(&world, "add feat/c@other --cli claude");
    assert!(second.code != 0, "{second}");
    assert!(second.stderr.contains("this session belongs to the hub of another machine"), "{second}");
    // The hub forgets the session while the machine cannot be reached.
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    let purged = world.run(&["purge", "--force"]);
    assert!(purged.stderr.contains("left as it is on big"), "{purged}");
    world.machine.run();
    world.start_alone();
    let refused = world.paw(&["add", "feat/b@big"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("big still has a session of this repository"), "{refused}");
    let removed = there(&world, "purge --force");
    assert_eq!(removed.code, 0, "{removed}");
    world.run(&["add", "feat/b@big"]);
    world.wait_until_reachable(true);
}

#[test]
fn a_prompt_on_another_machine_is_approved_and_denied_and_removed_work_is_restored_here() {
    let Some(world) = TwoMachines::new() else { return };
    let (sandbox, machine) = (&world.machine.sandbox, &world.machine);
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    fs::copy(&agent.program, machine.bin().join("claude")).unwrap();
    sandbox.install_program("claude", CLI);
    fs::write(machine.there().join(".tmux.conf"), "set -g default-command sh\n").unwrap();
    world.start_alone();
    world.run(&["add", "feat/b@big", "--prompt", "[[bash:make deploy ; bash:make clean]]"]);
    let has = |event: &str| agent.events().iter().any(|found| found == event);
    let answer = |args: &[&str], asked: &str, event: &str, said: &str| {
        wait_until(asked, || has(asked).then_some(()));
        // The screen may be in the middle of a redraw.
        let ran = wait_until(said, || Some(world.paw(args)).filter(|ran| ran.code == 0));
        assert!(ran.stdout.contains(said), "{ran}");
        wait_until(event, || has(event).then_some(()));
    };
    answer(
        &["approve", "feat-b", "--yes"],
        "asked make deploy",
        "allowed make deploy",
        "approved for feat-b: make deploy",
    );
    answer(&["deny", "feat-b"], "asked make clean", "denied make clean", "denied for feat-b: make clean");

    fs::write(world.worktree().join("idea.txt"), "half a thought\n").unwrap();
    let removed = world.run(&["remove", "feat-b", "--force"]);
    let idea = fs::read_to_string(world.restore("feat/b").join("idea.txt"));
    assert_eq!(idea.unwrap_or_else(|error| panic!("{error}: {removed}")), "half a thought\n");
}
