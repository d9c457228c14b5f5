//! Commands about agents on other machines that are killed before they are finished.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use paw_testkit::{git, wait_until};
use serde_json::Value;

use super::TwoMachines;
use crate::machine::SecondMachine;

impl TwoMachines {
    /// Runs a command until git begins to push to the other machine, and kills it there.
    fn kill_at_the_push(&self, args: &[&str]) {
        let real = self.machine.sandbox.root().join("tools/git");
        let script = |mark: &str| {
            format!(
                "case \" $* \" in *' push '*) {mark}; exec sleep 1000;; esac\nexec {} \"$@\"\n",
                real.display()
            )
        };
        fs::remove_file(self.kill_in("git", script, args)).unwrap();
    }

    /// Runs a command until the agent was started on the other machine, and kills it before it knows that.
    fn kill_after_the_start(&self, args: &[&str]) {
        let own = self.machine.sandbox.root().join("bin/ssh");
        let real = own.with_file_name("ssh-real");
        fs::rename(&own, &real).unwrap();
        let script = |mark: &str| {
            format!(
                "case \"$*\" in *--from-hub*) {0} \"$@\"; {mark}; exec sleep 1000;; esac\nexec {0} \"$@\"\n",
                real.display()
            )
        };
        fs::rename(real.clone(), self.kill_in("ssh", script, args)).unwrap();
    }

    /// Runs a command with a program in the place of another one, until that leaves its mark; then kills both. Returns the path
    /// of the program.
    fn kill_in(&self, program: &str, script: impl Fn(&str) -> String, args: &[&str]) -> PathBuf {
        let sandbox = &self.machine.sandbox;
        let marked = sandbox.root().join("marked");
        let mark = format!("echo $$ >{0}.new; mv {0}.new {0}", marked.display());
        let wrapper = sandbox.install_program(program, &format!("#!/bin/sh\n{}", script(&mark)));
        let mut command = sandbox.command(self.machine.program());
        command.args(args).current_dir(&self.repo.root).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().unwrap();
        let pid = wait_until("it is the moment", || fs::read_to_string(&marked).ok());
        running.kill().unwrap();
        assert_eq!(running.wait().unwrap().signal(), Some(9), "it was killed");
        assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
        fs::remove_file(marked).unwrap();
        wrapper
    }

    fn panes_there(&self) -> String {
        self.machine.tmux(&["list-panes", "-a", "-F", "#{@paw_agent}"]).stdout
    }
}

#[test]
fn an_add_that_was_killed_during_its_push_is_completed_by_the_same_command_or_by_start() {
    let Some(world) = TwoMachines::new() else { return };
    world.start_alone();
    world.kill_at_the_push(&["add", "feat/b@big", "--prompt", "build the parser"]);
    assert_eq!(world.agent("feat/b")["host"]["name"], "big", "it is part of the session");
    let elsewhere = world.paw(&["add", "feat/b"]);
    assert!(elsewhere.code == 1 && elsewhere.stderr.contains("feat/b"), "{elsewhere}");
    world.run(&["add", "feat/b@big"]);
    assert!(world.panes_there().contains("feat-b"), "{}", world.logs());
    world.wait_until_reachable(true);
    // With the task of the command that was killed.
    let sessions = fs::read_dir(world.machine.there().join(".local/share/git-paw/sessions")).unwrap();
    let there: String =
        sessions.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default()).collect();
    assert!(there.contains("build the parser"), "{there}");
    let twice = world.paw(&["add", "feat/b@big"]);
    assert!(twice.code == 1 && twice.stderr.contains("feat/b"), "it is complete now: {twice}");

    // The session there exists now, and a start completes the next one.
    world.kill_at_the_push(&["add", "feat/c@big"]);
    assert!(!world.panes_there().contains("feat-c"));
    world.run(&["start"]);
    assert!(world.panes_there().contains("feat-c"), "{}", world.logs());
    let twice = world.paw(&["add", "feat/c@big"]);
    assert!(twice.code == 1 && twice.stderr.contains("feat/c"), "it is complete now: {twice}");
    world.run(&["tell", "feat-c", "hello there", "--inbox"]);
    wait_until("its messages arrive", || super::audit(&world.clone()).contains("hello there").then_some(()));
}

#[test]
fn an_add_that_was_killed_after_the_agent_started_there_is_completed_without_a_second_one() {
    let Some(world) = TwoMachines::new() else { return };
    world.start_alone();
    for (branch, id) in [("feat/b@big", "feat-b"), ("feat/c@big", "feat-c")] {
        world.kill_after_the_start(&["add", branch]);
        let count = || world.panes_there().lines().filter(|pane| *pane == id).count();
        assert_eq!(count(), 1, "{}", world.logs());
        // It has worked there in the meantime.
        let there = world.worktree().to_string_lossy().replace("feat-b", id);
        fs::write(Path::new(&there).join("new.txt"), "new\n").unwrap();
        git(Path::new(&there), ["add", "new.txt"]);
        git(Path::new(&there), ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "new"]);
        let added = world.run(&["add", branch]);
        assert_eq!(count(), 1, "{added}\n{}", world.logs());
        assert!(Path::new(&there).join("new.txt").exists());
        assert_eq!(world.paw(&["add", branch]).code, 1, "it is complete");
    }
    world.run(&["remove", "feat-b"]);
    assert_eq!(git(&world.repo.root, ["show", "feat/b:new.txt"]), "new");
}

#[test]
fn an_agent_whose_add_was_killed_is_removed_although_its_machine_has_nothing_of_it() {
    let Some(world) = TwoMachines::new() else { return };
    world.start_alone();
    // The machine has neither its branch nor a session.
    world.kill_at_the_push(&["add", "feat/b@big"]);
    world.run(&["remove", "feat-b"]);
    assert_eq!(world.agent("feat/b"), Value::Null);
    // It has a session, with another agent whose name begins like this one's.
    world.run(&["add", "feat/b2@big"]);
    world.kill_at_the_push(&["add", "feat/b@big"]);
    world.run(&["remove", "feat-b"]);
    assert_eq!(world.agent("feat/b"), Value::Null);
    assert!(world.panes_there().contains("feat-b2"), "{}", world.logs());
    assert_eq!(world.agent("feat/b2")["host"]["name"], "big");
    // And from here it starts as if nothing had happened.
    world.run(&["add", "feat/b@big"]);
    assert!(world.panes_there().lines().any(|pane| pane == "feat-b"), "{}", world.logs());
}

#[test]
fn a_start_says_which_agent_could_not_be_completed() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start_alone();
    world.kill_at_the_push(&["add", "feat/b@big"]);
    world.machine.stop();
    world.machine.end_connections();
    world.run(&["pause"]);
    let started = world.run(&["start"]);
    assert!(started.stderr.contains("the agent of feat/b on big is not complete"), "{started}");
    world.machine.run();
    world.run(&["pause"]);
    world.run(&["start"]);
    assert!(world.panes_there().contains("feat-b"), "{}", world.logs());
}

#[test]
fn an_agent_that_renamed_its_branch_there_is_removed_by_force_with_its_work_kept_here() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let there = world.worktree();
    git(&there, ["branch", "-m", "feat/other"]);
    fs::write(there.join("done.txt"), "done\n").unwrap();
    git(&there, ["add", "done.txt"]);
    git(&there, ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "done"]);
    fs::write(there.join("idea.txt"), "half a thought\n").unwrap();
    let refused = world.paw(&["remove", "feat-b"]);
    assert!(refused.code == 1 && refused.stderr.contains("big has no branch 'feat/b'"), "{refused}");
    assert!(refused.stderr.contains("--force"), "{refused}");
    let stays = world.paw(&["move", "feat-b", "--to", "local"]);
    assert!(stays.code == 1 && stays.stderr.contains("big has no branch 'feat/b'"), "{stays}");
    wait_until("it runs there as before", || world.panes_there().contains("feat-b").then_some(()));
    let removed = world.run(&["remove", "feat-b", "--force"]);
    assert!(removed.stderr.contains("warning: big has no branch 'feat/b'"), "{removed}");
    assert_eq!(world.agent("feat/b"), Value::Null);
    assert!(!there.exists(), "{removed}");
    let kept = world.restore("feat/b");
    assert_eq!(fs::read_to_string(kept.join("idea.txt")).unwrap(), "half a thought\n");
    assert_eq!(fs::read_to_string(kept.join("done.txt")).unwrap(), "done\n");
    // The name can be used again, without the work that was taken away.
    world.run(&["add", "feat/b@big"]);
    assert!(world.worktree().exists() && !world.worktree().join("idea.txt").exists());
}

#[test]
fn a_move_that_was_killed_is_completed_by_the_same_command_with_all_work() {
    let Some(world) = TwoMachines::new() else { return };
    let gpu = SecondMachine::start(&world.machine);
    world.machine.sandbox.write(
        "home/.config/git-paw/config.toml",
        "[hosts.big]\nssh = \"big\"\n[hosts.gpu]\nssh = \"gpu\"\n",
    );
    world.start();
    world.wait_until_reachable(true);
    let left = world.worktree();
    fs::write(left.join("idea.txt"), "half a thought\n").unwrap();
    world.kill_at_the_push(&["move", "feat-b", "--to", "gpu"]);
    let completed = world.run(&["move", "feat-b", "--to", "gpu"]);
    assert_eq!(world.agent("feat/b")["host"]["name"], "gpu", "{completed}");
    let clones = gpu.home().join(".local/share/git-paw/clones");
    let entries = fs::read_dir(clones).unwrap().map(|entry| entry.unwrap().path());
    let there = entries.into_iter().find(|path| path.to_string_lossy().ends_with("-feat-b")).unwrap();
    assert_eq!(fs::read_to_string(there.join("idea.txt")).unwrap(), "half a thought\n");
    wait_until("the old worktree is removed", || (!left.exists()).then_some(()));
    world.run(&["purge", "--force"]);
}
