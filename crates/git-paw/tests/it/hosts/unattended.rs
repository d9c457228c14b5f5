//! `git paw start --unattended` with an agent on another machine.

use std::fs;
use std::process::{Child, Stdio};

use paw_supervisor::unattended::attendant_lock;
use paw_testkit::{RunOutput, git, wait_until};

use super::supervision::install_agent;
use super::{TwoMachines, audit};
use crate::paw::document;

/// The running command, killed on drop.
struct Running(Option<Child>);

impl Running {
    fn start(world: &TwoMachines, args: &[&str]) -> Self {
        let mut command = world.machine.sandbox.command(world.machine.program());
        command.args(args).current_dir(&world.repo.root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap()))
    }

    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn finish(mut self) -> RunOutput {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn approvals_on_another_machine_end_with_the_command_that_attends_the_session() {
    let Some(world) = TwoMachines::new() else { return };
    let agent = install_agent(&world);
    let config = "[hosts.big]\nssh = \"big\"\n\
                  [supervisor]\ntest_command = \"test ! -e broken || { echo it is broken; exit 1; }\"\n";
    world.machine.sandbox.write("home/.config/git-paw/config.toml", config);
    let task = "[[bash:git status ; wait ; bash:git log]]";
    let start = ["start", "--unattended", "--json", "--merge", "--cli", "claude", "--branches", "feat/b@big"];
    let running = Running::start(&world, &[&start[..], &["--prompt", task]].concat());
    let has = |event: &str| agent.events().iter().any(|found| found == event);
    wait_until("a safe command is approved there", || has("allowed git status").then_some(()));

    // The command is gone: prompts are not answered any longer.
    running.kill();
    let there = world.clone().join(".git");
    wait_until("the lock there is free", || (!attendant_lock::is_held(&there)).then_some(()));
    agent.go();
    wait_until("the agent asks", || has("asked git log").then_some(()));
    wait_until("its state arrives on the hub", || {
        audit(&world.repo.root).contains("waiting for approval: git log").then_some(())
    });
    assert!(!has("allowed git log"), "{:?}", agent.events());

    // Attended again: it is answered, its work is verified here, and failures reach it.
    let running = Running::start(&world, &start);
    wait_until("the command is approved", || has("allowed git log").then_some(()));
    let there = world.worktree();
    let commit = |file: &str| {
        fs::write(there.join(file), "x\n").unwrap();
        git(&there, ["add", "--all", "--", file]);
        git(&there, ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", file]);
    };
    commit("broken");
    wait_until("the failure arrives as a prompt", || {
        agent.prompts().iter().any(|prompt| prompt.contains("it is broken")).then_some(())
    });
    git(&there, ["rm", "-q", "broken"]);
    commit("work");
    let ran = running.finish();
    assert_eq!(ran.code, 0, "{ran}\n{}", world.logs());
    let summary = document(&ran);
    assert_eq!(summary["agents"][0]["result"], "merged", "{summary}");
    assert_eq!(git(&world.repo.root, ["show", "main:work"]), "x", "{ran}");
    assert_eq!(git(&world.clone(), ["show", "main:work"]), "x", "{ran}");
}
