//! Sessions with agents on another machine, over a real ssh server and a real NATS server.

use std::fs;
use std::path::{Path, PathBuf};

use paw_testkit::{RunOutput, Terminal, TestRepo, git, wait_until};
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::paw::document;

/// A CLI that prints a greeting and waits.
const CLI: &str = "#!/bin/sh\necho hello from $PWD\nexec sleep 1000\n";

/// A repository here, and a machine with git-paw.
struct TwoMachines {
    machine: Machine,
    repo: TestRepo,
}

impl TwoMachines {
    /// `None`, with a note in the test's output, where a server is missing.
    #[expect(
        clippy::disallowed_macros,
        clippy::print_stderr,
        reason = "a skipped test reports that in its output"
    )]
    fn new() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let nats =
            std::env::split_paths(&path).map(|dir| dir.join("nats-server")).find(|file| file.is_file());
        let Some(nats) = nats else {
            eprintln!("skipped: nats-server is not installed (scripts/install-runners installs it)");
            return None;
        };
        let machine = Machine::start()?;
        let sandbox = &machine.sandbox;
        std::os::unix::fs::symlink(nats, sandbox.root().join("tools/nats-server")).unwrap();
        std::os::unix::fs::symlink(machine.program(), machine.bin().join("git-paw")).unwrap();
        sandbox.install_program("claude", CLI);
        let asking = format!(
            "#!/bin/sh\nuntil [ -e {0}/go ]; do sleep 0.1; done\ngit-paw say question 'may I rename it?' >{0}/said 2>&1\nexec sleep 1000\n",
            machine.there().display()
        );
        let cli = sandbox.install_program("asking", &asking);
        fs::rename(cli, machine.bin().join("claude")).unwrap();
        // Panes run login shells, which may reset PATH.
        let here = format!("PATH='{0}/bin:{0}/tools'\n", sandbox.root().display());
        sandbox.write("home/.profile", &here);
        let there = format!("PATH='{}':/usr/bin:/bin\n", machine.bin().display());
        sandbox.write("there/.profile", &there);
        sandbox.write(
            "home/.config/git-paw/config.toml",
            "[hosts.big]\nssh = \"big\"\n[supervisor]\ntest_command = \"true\"\n",
        );
        let repo = sandbox.repo("app");
        Some(Self { machine, repo })
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        self.machine.sandbox.run(&self.repo.root, self.machine.program(), args)
    }

    fn run(&self, args: &[&str]) -> RunOutput {
        let ran = self.paw(args);
        assert_eq!(ran.code, 0, "git paw {args:?}: {ran}\n{}", self.logs());
        ran
    }

    /// A session with `feat/a` here and `feat/b` there.
    fn start(&self) {
        self.run(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b@big"]);
    }

    /// The clone on the machine.
    fn clone(&self) -> PathBuf {
        let clones = self.machine.there().join(".local/share/git-paw/clones");
        fs::read_dir(clones)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.join(".git").is_dir())
            .unwrap()
    }

    /// What the processes of both sessions have logged.
    fn logs(&self) -> String {
        let read = |dir: &Path| fs::read_to_string(dir.join(".git/paw/session.log")).unwrap_or_default();
        let clones = self.machine.there().join(".local/share/git-paw/clones");
        let there: String =
            fs::read_dir(clones).into_iter().flatten().map(|entry| read(&entry.unwrap().path())).collect();
        format!("--- here\n{}--- there\n{there}", read(&self.repo.root))
    }

    /// The worktree of `feat/b`.
    fn worktree(&self) -> PathBuf {
        let clone = self.clone();
        clone.with_file_name(format!("{}-feat-b", clone.file_name().unwrap().to_str().unwrap()))
    }

    /// Lets the agent on the machine ask its question.
    fn ask(&self) {
        fs::write(self.machine.there().join("go"), "").unwrap();
    }

    /// The session's process on the hub.
    fn process_here(&self) -> u32 {
        let is_here =
            |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == self.repo.root);
        self.machine.sandbox.session_processes().into_iter().find(is_here).unwrap()
    }

    fn kill(&self, pid: u32) {
        let killed = self.machine.sandbox.run(&self.repo.root, "kill", ["-KILL", &pid.to_string()]);
        assert_eq!(killed.code, 0, "{killed}");
        wait_until("it is gone", || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    }

    fn agent(&self, branch: &str) -> Value {
        let status = document(&self.run(&["status", "--json"]));
        let agents = status["worktrees"].as_array().unwrap();
        agents.iter().find(|agent| agent["branch"] == branch).cloned().unwrap_or_default()
    }

    fn wait_until_reachable(&self, is_reachable: bool) {
        wait_until(&format!("the machine is reachable: {is_reachable}"), || {
            (self.agent("feat/b")["host"]["reachable"] == is_reachable).then_some(())
        });
    }
}

#[test]
fn an_agent_on_another_machine_works_exchanges_messages_and_is_merged_and_removed() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    let agent = world.agent("feat/b");
    assert_eq!((&agent["agent_id"], &agent["host"]["name"]), (&json!("feat-b"), &json!("big")), "{agent}");
    assert_eq!(world.agent("feat/a")["host"], Value::Null);
    world.wait_until_reachable(true);
    let shown = world.run(&["status"]);
    assert!(shown.stdout.contains("HOST") && shown.stdout.contains("big"), "{shown}");

    // The worktree and the pane are there, and only there.
    let (clone, worktree) = (world.clone(), world.worktree());
    assert_eq!(git(&worktree, ["branch", "--show-current"]).trim(), "feat/b");
    assert!(!world.repo.root.with_file_name("app-feat-b").exists());

    // Messages arrive in both directions, once.
    world.run(&["tell", "feat-b", "use the new parser", "--inbox"]);
    wait_until("the message arrives there", || audit(&clone).contains("use the new parser").then_some(()));
    world.ask();
    wait_until("the question arrives here", || {
        audit(&world.repo.root).contains("may I rename it?").then_some(())
    });
    assert_eq!(audit(&world.repo.root).matches("may I rename it?").count(), 1);
    let status = document(&world.run(&["cluster", "status", "--json"]));
    assert_eq!(
        (&status["hosts"][0]["name"], &status["own_server"]),
        (&json!("big"), &json!(true)),
        "{status}"
    );
    assert_eq!(status["replication"]["connected"], true, "{status}");
    assert_eq!(status["replication"]["skipped"], 0, "{status}\n{}", world.logs());
    let shown = world.run(&["cluster", "status"]);
    assert!(shown.stdout.contains("started by this session"), "{shown}");

    // Its prompts are answered there, and its pane is shown over ssh.
    let nothing = world.paw(&["approve", "feat-b", "--yes"]);
    assert_eq!(nothing.code, 1, "{nothing}");
    assert!(nothing.stderr.contains("git paw approve failed on big"), "{nothing}");
    let program = world.machine.program();
    let attach = ["attach", "feat-b"];
    let mut pane =
        Terminal::run(&world.machine.sandbox, &world.repo.root, program.to_str().unwrap(), &attach);
    pane.wait_for("feat/b");
    pane.send("\u{2}d");
    pane.wait_for("detached");
    assert_eq!(pane.finish(), 0);

    // Its work is seen, verified and merged here.
    fs::write(worktree.join("new.txt"), "new\n").unwrap();
    let diff = world.run(&["diff", "feat-b"]);
    assert!(diff.stdout.contains("+new"), "{diff}");
    let refused = world.paw(&["remove", "feat-b"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("big has uncommitted changes in"), "{refused}");
    git(&worktree, ["add", "new.txt"]);
    git(&worktree, ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "new"]);
    let merged = world.run(&["merge", "--only", "feat-b"]);
    assert_eq!(git(&world.repo.root, ["show", "main:new.txt"]), "new", "{merged}");
    assert_eq!(git(&clone, ["show", "main:new.txt"]), "new", "main is pushed to the machine: {merged}");

    // Removing it keeps the branch; a purge leaves nothing running there.
    world.run(&["start"]);
    world.run(&["remove", "feat-b"]);
    assert!(!worktree.exists());
    assert_eq!(world.agent("feat/b"), Value::Null);
    world.run(&["add", "feat/c@big"]);
    let twice = world.paw(&["add", "feat/c"]);
    assert!(twice.code == 1 && twice.stderr.contains("feat/c"), "{twice}");
    world.run(&["purge", "--force"]);
    assert!(!world.repo.root.join(".git/paw/nats").exists());
    wait_until("no process is left", || world.machine.sandbox.session_processes().is_empty().then_some(()));
    let branches = git(&world.repo.root, ["branch", "--list", "feat/*", "--format=%(refname:short)"]);
    assert_eq!(branches, "feat/b\nfeat/c", "branches of other machines are kept");
}

#[test]
fn a_machine_that_cannot_be_reached_is_shown_and_its_messages_arrive_afterwards() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    let shown = world.run(&["status"]);
    assert!(shown.stdout.contains("unreachable since 20"), "{shown}");
    let kept = world.paw(&["purge"]);
    assert_eq!(kept.code, 1, "{kept}");
    // Both sides keep working.
    world.ask();
    let clone = world.clone();
    wait_until("the agent has asked", || audit(&clone).contains("may I rename it?").then_some(()));
    world.run(&["tell", "feat-b", "go on", "--inbox"]);
    assert!(!audit(&world.repo.root).contains("may I rename it?"));
    world.machine.run();
    world.wait_until_reachable(true);
    wait_until("the question arrives here", || {
        audit(&world.repo.root).contains("may I rename it?").then_some(())
    });
    wait_until("the message arrives there", || audit(&clone).contains("go on").then_some(()));
    // The session's process dies, and its successor connects again.
    let here = world.process_here();
    world.kill(here);
    world.run(&["start"]);
    world.wait_until_reachable(true);
    world.run(&["tell", "feat-b", "once more", "--inbox"]);
    wait_until("the next message arrives", || audit(&clone).contains("once more").then_some(()));
    assert_eq!(audit(&world.repo.root).matches("may I rename it?").count(), 1);
    assert_eq!(audit(&clone).matches("go on").count(), 1);
}

#[test]
fn pause_stop_and_start_include_the_other_machine() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    let there = || {
        let command = format!("cd {} && git-paw status --json", world.clone().display());
        let ran = world.machine.sandbox.run(&world.repo.root, "ssh", ["big", &command]);
        document(&ran)["status"].clone()
    };
    assert_eq!(there(), "active");
    let verified = world.run(&["verify", "feat-b"]);
    assert!(verified.stdout.contains("feat/b"), "{verified}");
    world.run(&["pause"]);
    assert_eq!(there(), "paused");
    world.run(&["start"]);
    assert_eq!(there(), "active");
    world.wait_until_reachable(true);
    world.run(&["stop", "--force"]);
    assert_eq!(there(), "stopped");
    world.run(&["start"]);
    assert_eq!(there(), "active");
    world.wait_until_reachable(true);
    let clone = world.clone();
    world.run(&["tell", "feat-b", "go on", "--inbox"]);
    wait_until("the message arrives there", || audit(&clone).contains("go on").then_some(()));
}

#[test]
fn agents_on_different_machines_that_change_one_file_are_both_warned_once() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let clone = world.clone();
    fs::write(world.repo.root.with_file_name("app-feat-a").join("shared.txt"), "a\n").unwrap();
    fs::write(world.worktree().join("shared.txt"), "b\n").unwrap();
    let warnings = ["both you and feat-b", "both you and feat-a"];
    for side in [&world.repo.root, &clone] {
        wait_until("both agents are warned", || {
            warnings.iter().all(|warning| audit(side).contains(warning)).then_some(())
        });
    }
    for (side, warning) in [(&world.repo.root, warnings[0]), (&clone, warnings[1])] {
        assert_eq!(audit(side).matches(warning).count(), 1, "{}", audit(side));
    }
    world.run(&["remove", "feat-b", "--force"]);
    wait_until("the warning is withdrawn", || {
        audit(&world.repo.root).contains("no longer conflicts with the work of feat-b").then_some(())
    });
}

#[test]
fn what_is_wrong_with_an_agent_on_another_machine_is_said_before_anything_is_left_behind() {
    let Some(world) = TwoMachines::new() else { return };
    let start =
        |branches: &str| world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", branches]);
    let alone = start("feat/b@big");
    assert!(
        alone.code != 0 && alone.stderr.contains("at least one agent has to run on this machine"),
        "{alone}"
    );
    let unknown = start("feat/a,feat/b@gpu");
    assert!(unknown.code != 0 && unknown.stderr.contains("there is no host 'gpu'"), "{unknown}");
    fs::remove_file(world.machine.sandbox.root().join("tools/nats-server")).unwrap();
    let missing = start("feat/a,feat/b@big");
    assert!(missing.code == 1 && missing.stderr.contains("nats-server is not installed"), "{missing}");
    world.machine.sandbox.install_program("nats-server", "#!/bin/sh\necho nats-server: v2.9.10\n");
    let old = start("feat/a,feat/b@big");
    assert!(old.code == 1 && old.stderr.contains("nats-server: v2.9.10 is too old"), "{old}");
    assert_eq!(document(&world.run(&["status", "--json"]))["session"], Value::Null);
    assert_eq!(git(&world.repo.root, ["branch", "--list", "feat/*"]), "");
}

/// All messages of the session of a repository.
fn audit(repository: &Path) -> String {
    fs::read_to_string(repository.join(".git-paw/broker.log")).unwrap_or_default()
}
