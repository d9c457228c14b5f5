//! Agents that are removed or moved although their machine cannot be used.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use paw_testkit::{git, wait_until};
use serde_json::Value;

use super::TwoMachines;

#[test]
fn an_agent_on_a_lost_machine_is_removed_by_force_with_its_last_work_kept_and_cleaned_up_there_later() {
    let Some(mut world) = TwoMachines::new() else { return };
    let there = world.start_with_work();
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);

    let refused = world.paw(&["remove", "feat-b"]);
    assert!(refused.code == 1 && refused.stderr.contains("hint: --force removes it now"), "{refused}");
    assert_ne!(world.agent("feat/b"), Value::Null);
    let removed = world.run(&["remove", "feat-b", "--force"]);
    assert!(removed.stderr.contains("warning: cannot reach big"), "{removed}");
    assert_eq!(world.agent("feat/b"), Value::Null, "{removed}");
    let idea = fs::read_to_string(world.restore("feat/b").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");

    // What it did there since is stored there, and the worktree is gone.
    fs::write(there.join("later.txt"), "after that\n").unwrap();
    world.machine.run();
    wait_until("the machine is cleaned up", || (!there.exists()).then_some(()));
    let stored = git(&world.clone(), ["for-each-ref", "--format=%(refname)", "refs/paw/rescue"]);
    let later = stored.lines().find(|name| {
        let show = ["show", &format!("{name}:later.txt")];
        world.machine.sandbox.run(&world.clone(), "git", show).stdout == "after that\n"
    });
    assert!(later.is_some(), "{stored}");
}

/// What a machine that was set up again, or that refuses its user, does with a command of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherMachine {
    /// It has another host key.
    OtherKey,
    /// The user is refused.
    OtherUser,
    /// It has git-paw, and nothing else.
    EmptyDisk,
    /// It has no git-paw any longer.
    NoProgram,
}

impl OtherMachine {
    fn replace(self, world: &TwoMachines) {
        let machine = &world.machine;
        match self {
            Self::OtherKey => {
                let other = fs::read_to_string(machine.key("user.pub")).unwrap();
                fs::write(machine.key("known"), format!("[127.0.0.1]:{} {other}", machine.port)).unwrap();
            }
            Self::OtherUser => machine.write_client_config("no-such-user"),
            Self::EmptyDisk => {
                world.end_session_there();
                let old = machine.sandbox.root().join("old-disk");
                fs::rename(machine.there(), &old).unwrap();
                fs::create_dir_all(machine.there()).unwrap();
                fs::copy(old.join(".profile"), machine.there().join(".profile")).unwrap();
            }
            Self::NoProgram => {
                world.end_session_there();
                fs::remove_file(machine.bin().join("git-paw")).unwrap();
            }
        }
        machine.end_connections();
    }

    /// What the hub says about it.
    fn reason(self) -> &'static str {
        match self {
            Self::OtherKey => "the host key of big has changed",
            Self::OtherUser => "big refuses this user or key",
            Self::EmptyDisk => "does not appear to be a git repository",
            Self::NoProgram => "git-paw: not found",
        }
    }

    fn restore(self, world: &TwoMachines) {
        let machine = &world.machine;
        match self {
            Self::OtherKey => machine.know_server(),
            Self::OtherUser => machine.write_client_config("root"),
            Self::NoProgram => {
                std::os::unix::fs::symlink(machine.program(), machine.bin().join("git-paw")).unwrap();
            }
            Self::EmptyDisk => {}
        }
    }
}

impl TwoMachines {
    /// A session whose agent on the other machine has uncommitted work that the hub has a snapshot of.
    fn start_with_work(&self) -> PathBuf {
        self.start();
        self.wait_until_reachable(true);
        let there = self.worktree();
        fs::write(there.join("idea.txt"), "half a thought\n").unwrap();
        let git = |args: [&str; 2]| self.machine.sandbox.run(&self.repo.root, "git", args);
        let known = self.repo.root.join(".git/paw/snapshots-big.json");
        wait_until("its work is copied", || {
            (git(["show", "refs/paw/snapshots/big/feat-b:idea.txt"]).code == 0).then_some(())?;
            let commit = git(["rev-parse", "refs/paw/snapshots/big/feat-b"]).stdout;
            fs::read_to_string(&known).ok()?.contains(commit.trim()).then_some(())
        });
        there
    }

    /// The session on the hub.
    fn receipt(&self) -> String {
        let sessions = self.machine.sandbox.home().join(".local/share/git-paw/sessions");
        let files = fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }
}

fn an_agent_is_removed_by_force_from(other: OtherMachine) {
    let Some(world) = TwoMachines::new() else { return };
    let there = world.start_with_work();
    other.replace(&world);
    world.wait_until_reachable(false);
    let refused = world.paw(&["remove", "feat-b"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("hint: --force removes it now"), "{refused}");
    assert_ne!(world.agent("feat/b"), Value::Null);
    let removed = world.run(&["remove", "feat-b", "--force"]);
    assert!(removed.stderr.contains(other.reason()), "{removed}");
    assert!(!removed.stderr.contains("cannot reach"), "{removed}");
    assert_eq!(world.agent("feat/b"), Value::Null, "{removed}");
    let idea = fs::read_to_string(world.restore("feat/b").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
    other.restore(&world);
    match other {
        OtherMachine::OtherKey | OtherMachine::OtherUser | OtherMachine::NoProgram => {
            world.run(&["start"]);
            wait_until("the machine is cleaned up", || (!there.exists()).then_some(()));
        }
        OtherMachine::EmptyDisk => {
            // An agent can start there, and nothing is left to be cleaned up.
            world.run(&["add", "feat/c@big"]);
            wait_until("nothing is left to clean", || (!world.receipt().contains("to_clean")).then_some(()));
            assert_eq!(world.agent("feat/c")["host"]["name"], "big");
        }
    }
}

#[test]
fn an_agent_is_removed_by_force_from_a_machine_with_another_host_key() {
    an_agent_is_removed_by_force_from(OtherMachine::OtherKey);
}

#[test]
fn an_agent_is_removed_by_force_from_a_machine_that_refuses_the_user() {
    an_agent_is_removed_by_force_from(OtherMachine::OtherUser);
}

#[test]
fn an_agent_is_removed_by_force_from_a_machine_with_an_empty_disk() {
    an_agent_is_removed_by_force_from(OtherMachine::EmptyDisk);
}

#[test]
fn an_agent_is_removed_by_force_from_a_machine_that_lost_git_paw() {
    an_agent_is_removed_by_force_from(OtherMachine::NoProgram);
}

#[test]
fn an_agent_moves_from_its_last_snapshot_without_asking_its_machine() {
    let Some(world) = TwoMachines::new() else { return };
    world.start_with_work();
    OtherMachine::EmptyDisk.replace(&world);
    world.wait_until_reachable(false);
    let failed = world.paw(&["move", "feat-b", "--to", "local"]);
    assert!(failed.code == 1 && failed.stderr.contains("--from-snapshot"), "{failed}");
    assert_eq!(world.agent("feat/b")["host"]["name"], "big");
    let moved = world.run(&["move", "feat-b", "--to", "local", "--from-snapshot"]);
    assert!(moved.stderr.contains("feat/b continues from its snapshot of 20"), "{moved}");
    assert_eq!(world.agent("feat/b")["host"], Value::Null);
    let idea = fs::read_to_string(world.here("feat-b").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
}

#[test]
fn a_machine_that_answers_is_cleaned_up_after_a_move_that_did_not_ask_it() {
    let Some(world) = TwoMachines::new() else { return };
    let there = world.start_with_work();
    world.run(&["move", "feat-b", "--to", "local", "--from-snapshot"]);
    let idea = fs::read_to_string(world.here("feat-b").join("idea.txt")).unwrap();
    assert_eq!(idea, "half a thought\n");
    wait_until("the old worktree is removed", || (!there.exists()).then_some(()));
    assert!(!world.machine.tmux(&["list-panes", "-a"]).stdout.contains("feat"), "{}", world.logs());
}

#[test]
fn an_agent_that_starts_while_its_machine_is_cleaned_up_keeps_its_worktree() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let (old, there) = (world.worktree(), world.machine.there());
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    world.run(&["remove", "feat-b", "--force"]);

    // When the machine returns, its cleanup takes as long as this test wants.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'__host purge'*)\n  touch {0}/cleaning\n  until [ -e {0}/clean ]; do sleep 0.1; done\n  \
         {1} \"$@\"\n  touch {0}/cleaned\n  exit\nesac\nexec {1} \"$@\"\n",
        there.display(),
        world.machine.program().display()
    );
    let slow = world.machine.sandbox.install_program("slow", &script);
    fs::rename(slow, world.machine.bin().join("git-paw")).unwrap();
    world.machine.run();
    wait_until("the cleanup begins", || there.join("cleaning").exists().then_some(()));

    let lock = fs::metadata(world.repo.root.join(".git/paw/hosts.lock")).unwrap().ino();
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| world.run(&["add", "feat/c@big", "--cli", "claude"]));
        wait_until("the start waits or is finished", || {
            let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
            let is_awaited = |line: &str| line.contains("->") && line.contains(&format!(":{lock} "));
            (adding.is_finished() || locks.lines().any(is_awaited)).then_some(())
        });
        fs::write(there.join("clean"), "").unwrap();
        adding.join().unwrap();
    });
    wait_until("the machine is cleaned up", || there.join("cleaned").exists().then_some(()));
    assert!(!old.exists());
    let new = old.with_file_name(old.file_name().unwrap().to_str().unwrap().replace("feat-b", "feat-c"));
    assert_eq!(git(&new, ["branch", "--show-current"]), "feat/c", "{}", world.logs());
    assert_eq!(world.agent("feat/c")["host"]["name"], "big");
}

#[test]
fn the_machine_decides_which_agent_is_its_last() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    // Another command of the hub has started an agent there, and has not recorded it yet.
    let clone = world.clone();
    git(&clone, ["branch", "feat/x"]);
    let command =
        format!("cd {} && echo '{{}}' | git-paw add feat/x=claude --no-rebase --from-hub", clone.display());
    let added = world.machine.sandbox.run(&world.repo.root, "ssh", ["big", &command]);
    assert_eq!(added.code, 0, "{added}");
    let other = clone.with_file_name(format!("{}-feat-x", clone.file_name().unwrap().to_str().unwrap()));
    assert!(other.exists(), "{added}");
    let removed = world.run(&["remove", "feat-b"]);
    assert!(!world.worktree().exists(), "{removed}");
    assert!(other.exists(), "{removed}");
}
