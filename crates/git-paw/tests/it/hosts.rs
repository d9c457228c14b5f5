//! Sessions with agents on another machine, over a real ssh server and a real NATS server.

mod checked_out;
mod credentials;
mod faults;
mod hub_start;
mod interrupted;
mod limits;
mod moves;
mod old_server;
mod page;
mod page_terminal;
mod permissions;
mod rebase;
mod removal;
mod snapshots;
mod specs;
mod supervision;
mod sweep;
mod tell;
mod two_hubs;
mod unattended;
mod untrusted_rescues;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

    /// The worktree of an agent on this machine.
    fn here(&self, agent: &str) -> PathBuf {
        self.repo.root.with_file_name(format!("app-{agent}"))
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

    /// Restores the work that was removed last, beside the repository.
    fn restore(&self, branch: &str) -> PathBuf {
        let kept = document(&self.run(&["undo", "--json"]));
        let rescue = kept["rescues"].as_array().unwrap().iter().find(|rescue| rescue["branch"] == branch);
        let id = rescue.and_then(|rescue| rescue["id"].as_str()).unwrap_or_else(|| panic!("{kept}"));
        self.run(&["undo", "restore", id]);
        self.repo.root.with_file_name(format!("app-{id}"))
    }

    fn wait_until_reachable(&self, is_reachable: bool) {
        wait_until(&format!("the machine is reachable: {is_reachable}"), || {
            (self.agent("feat/b")["host"]["reachable"] == is_reachable).then_some(())
        });
    }
}

/// A NATS server that the user runs, and that the configuration names.
struct OwnServers {
    server: Child,
    store: PathBuf,
}

impl OwnServers {
    fn start(world: &TwoMachines) -> Self {
        let sandbox = &world.machine.sandbox;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = sandbox.root().join("own-servers");
        let server = Command::new(sandbox.root().join("tools/nats-server"))
            .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
            .arg(&store)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        let config = format!(
            "[hosts.big]\nssh = \"big\"\n[supervisor]\ntest_command = \"true\"\n\
             [cluster]\nservers = [\"nats://127.0.0.1:{port}\"]\n"
        );
        sandbox.write("home/.config/git-paw/config.toml", &config);
        Self { server, store }
    }

    fn streams(&self) -> usize {
        let accounts = fs::read_dir(self.store.join("jetstream")).into_iter().flatten();
        let streams = |account: &Path| fs::read_dir(account.join("streams")).into_iter().flatten().count();
        accounts.map(|account| streams(&account.unwrap().path())).sum()
    }
}

impl Drop for OwnServers {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
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

    // A window of the session shows the pane there.
    let tmux = |args: &[&str]| world.machine.sandbox.run(&world.repo.root, "tmux", args).stdout;
    wait_until("a window follows the agent", || {
        let panes = tmux(&["list-panes", "-a", "-F", "#{pane_id} #{window_name}"]);
        let pane = panes.lines().find_map(|line| line.strip_suffix(" feat/b@big"))?.to_owned();
        tmux(&["capture-pane", "-p", "-t", &pane]).contains("feat/b").then_some(())
    });

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
    assert!(shown.stdout.contains("unreachable since 20") && shown.stdout.contains("\nbig: "), "{shown}");
    let lost = world.paw(&["approve", "feat-b", "--yes"]);
    assert!(
        lost.code == 1 && lost.stderr.contains("error: cannot reach big; unreachable since 20"),
        "{lost}"
    );
    let lost = world.paw(&["remove", "feat-b"]);
    assert!(lost.code == 1 && lost.stderr.contains("error: cannot reach big: ssh: "), "{lost}");
    assert!(lost.stderr.contains("'git paw move feat-b --to local --from-snapshot'"), "{lost}");
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
fn a_session_with_agents_only_on_another_machine_pauses_stops_starts_and_is_purged_on_own_servers() {
    let Some(world) = TwoMachines::new() else { return };
    let servers = OwnServers::start(&world);
    // A session may have no agent on this machine.
    world.run(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/b@big"]);
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
    assert_eq!(servers.streams(), 1);
    let purged = world.run(&["purge", "--force"]);
    assert!(!purged.stderr.contains("is still on your NATS servers"), "{purged}");
    // The server deletes the files afterwards.
    wait_until("the stream is deleted", || (servers.streams() == 0).then_some(()));
}

#[test]
fn agents_on_different_machines_that_change_one_file_are_both_warned_once() {
    let Some(world) = TwoMachines::new() else { return };
    let lines = |changed: usize| -> String {
        (1..=20).map(|line| if line == changed { "new\n".to_owned() } else { format!("{line}\n") }).collect()
    };
    world.repo.commit_file("lines.txt", &lines(0), "lines");
    world.start();
    world.wait_until_reachable(true);
    let clone = world.clone();
    let here = world.here("feat-a");
    // Different lines of one file merge, and the hub knows it from uncommitted work.
    fs::write(here.join("lines.txt"), lines(1)).unwrap();
    fs::write(world.worktree().join("lines.txt"), lines(20)).unwrap();
    wait_until("both agents know that their changes merge", || {
        [&world.repo.root, &clone].iter().all(|side| audit(side).contains("merge as they are")).then_some(())
    });
    fs::write(here.join("shared.txt"), "a\n").unwrap();
    fs::write(world.worktree().join("shared.txt"), "b\n").unwrap();
    let warnings = ["both you and feat-b: your line 1", "both you and feat-a: your line 1"];
    for side in [&world.repo.root, &clone] {
        wait_until("both agents are warned", || {
            warnings.iter().all(|warning| audit(side).contains(warning)).then_some(())
        });
    }
    for (side, warning) in [(&world.repo.root, warnings[0]), (&clone, warnings[1])] {
        let conflict = format!("file shared.txt is being modified by {warning}");
        assert_eq!(audit(side).matches(&conflict).count(), 1, "{}", audit(side));
        assert!(!audit(side).contains("file lines.txt"), "{}", audit(side));
    }
    world.run(&["remove", "feat-b", "--force"]);
    wait_until("the warning is withdrawn", || {
        audit(&world.repo.root).contains("no longer conflicts with the work of feat-b").then_some(())
    });
}

#[test]
fn an_agent_moves_with_its_uncommitted_work_also_from_a_machine_that_is_lost() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.repo.commit_file("lines", "one\n", "lines");
    world.start();
    world.wait_until_reachable(true);
    let (here, there) = (world.here("feat-b"), world.worktree());
    fs::write(there.join("lines"), "one\ntwo\n").unwrap();
    fs::write(there.join("new.txt"), "new\n").unwrap();
    let status = |dir: &Path| git(dir, ["status", "--porcelain"]);
    let before = status(&there);

    // To the hub: the work arrives, and the old place is empty.
    let moved = world.run(&["move", "feat-b", "--to", "local"]);
    assert!(moved.stdout.contains("moved feat/b from big to this machine"), "{moved}");
    assert_eq!(status(&here), before, "{moved}");
    assert_eq!(fs::read_to_string(here.join("lines")).unwrap(), "one\ntwo\n");
    assert!(!there.exists(), "{moved}");
    assert_eq!(world.agent("feat/b")["host"], Value::Null);
    let again = world.paw(&["move", "feat-b", "--to", "local"]);
    assert!(again.code == 1 && again.stderr.contains("feat/b already runs on local"), "{again}");

    // Back to the machine.
    let moved = world.run(&["move", "feat-b", "--to", "big"]);
    assert_eq!(status(&there), before, "{moved}\n{}", world.logs());
    assert!(!here.exists(), "{moved}");
    assert_eq!(world.agent("feat/b")["host"]["name"], "big");
    world.wait_until_reachable(true);
    fs::write(there.join("new.txt"), "newer\n").unwrap();
    wait_until("the snapshot arrives", || {
        let shown = world.machine.sandbox.run(
            &world.repo.root,
            "git",
            ["show", "refs/paw/snapshots/big/feat-b:new.txt"],
        );
        (shown.stdout == "newer\n").then_some(())
    });

    // The machine is lost: the agent continues from its snapshot.
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    let diff = world.run(&["diff", "feat-b"]);
    assert!(diff.stdout.contains("+newer") && diff.stderr.contains("this is the snapshot of"), "{diff}");
    let moved = world.run(&["move", "feat-b", "--to", "local"]);
    assert!(moved.stderr.contains("feat/b continues from its snapshot of 20"), "{moved}");
    assert_eq!(
        (status(&here), fs::read_to_string(here.join("new.txt")).unwrap()),
        (before, "newer\n".to_owned())
    );

    // When it returns, what is left there is saved and removed.
    fs::write(there.join("new.txt"), "newest\n").unwrap();
    world.machine.run();
    wait_until("the old worktree is removed", || (!there.exists()).then_some(()));
    let rescued = git(&world.clone(), ["for-each-ref", "--format=%(refname)", "refs/paw/rescue/"]);
    assert!(!rescued.is_empty());
    assert_eq!(world.agent("feat/b")["host"], Value::Null, "{}", world.logs());
    let status = document(&world.run(&["status", "--json"]));
    assert_eq!(status["worktrees"].as_array().map(Vec::len), Some(2), "{status}");
}

#[test]
fn what_is_wrong_with_an_agent_on_another_machine_is_said_before_anything_is_left_behind() {
    let Some(world) = TwoMachines::new() else { return };
    let start =
        |branches: &str| world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", branches]);
    let unknown = start("feat/a,feat/b@gpu");
    assert!(unknown.code != 0 && unknown.stderr.contains("there is no host 'gpu'"), "{unknown}");
    // Without free slots, an agent that may run anywhere runs here.
    let place = |branches: &str| {
        world.run(&["start", "--no-supervisor", "--cli", "claude", "--dry-run", "--branches", branches])
    };
    let full = place("feat/a,feat/b@auto");
    assert!(full.stderr.contains("feat/b runs on this machine"), "{full}");
    let config = "[hosts.big]\nssh = \"big\"\nslots = 1\n";
    world.machine.sandbox.write("home/.config/git-paw/config.toml", config);
    let placed = place("feat/a@auto,feat/b@auto,feat/c");
    let expected = ["feat/a runs on big", "feat/b runs on this machine"];
    assert!(expected.iter().all(|line| placed.stderr.contains(line)), "{placed}");
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
