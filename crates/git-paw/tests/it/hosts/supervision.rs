//! Agents on another machine in a session with a supervisor on the hub.

use std::fs;

use paw_testkit::{AgentLook, FakeAgent, wait_until};
use serde_json::Value;

use super::{CLI, TwoMachines, audit};
use crate::paw::document;

/// The supervisor waits for a file, then looks at the agent on the other machine and approves its prompt.
fn install_supervisor(world: &TwoMachines) {
    let (root, program) = (world.machine.sandbox.root(), world.machine.program());
    let script = format!(
        "#!/bin/sh\nuntil [ -e {0}/boss-go ]; do sleep 0.1; done\n\
         {{ {1} sweep capture feat-b; {1} sweep approve feat-b; {1} sweep approve feat-b; echo done; }} >{0}/boss-said 2>&1\n\
         exec sleep 1000\n",
        root.display(),
        program.display()
    );
    world.machine.sandbox.install_program("boss", &script);
}

/// The CLI on the other machine is scripted; those here wait.
pub(super) fn install_agent(world: &TwoMachines) -> FakeAgent {
    let (sandbox, machine) = (&world.machine.sandbox, &world.machine);
    let agent = sandbox.install_agent("claude", AgentLook::Claude, "");
    fs::copy(&agent.program, machine.bin().join("claude")).unwrap();
    sandbox.install_program("claude", CLI);
    fs::write(machine.there().join(".tmux.conf"), "set -g default-command sh\n").unwrap();
    agent
}

#[test]
fn the_supervisor_of_the_hub_looks_after_an_agent_on_another_machine() {
    let Some(world) = TwoMachines::new() else { return };
    let sandbox = &world.machine.sandbox;
    let agent = install_agent(&world);
    install_supervisor(&world);
    let config = "[hosts.big]\nssh = \"big\"\n[clis.boss]\ncommand = \"boss\"\n\
                  [supervisor]\ncli = \"boss\"\ntest_command = \"make check\"\n\
                  [supervisor.auto_approve]\nsafe_commands = [\"make report\"]\n";
    sandbox.write("home/.config/git-paw/config.toml", config);
    let task = "[[bash:git status ; bash:make report ; bash:make check ; bash:make deploy]]";
    world.run(&[
        "start",
        "--supervisor",
        "--cli",
        "claude",
        "--branches",
        "feat/a,feat/b@big",
        "--prompt",
        task,
    ]);

    // What is certainly safe is approved there, by the rules of the hub's user.
    let has = |event: &str| agent.events().iter().any(|found| found == event);
    for command in ["git status", "make report", "make check"] {
        wait_until(command, || has(&format!("allowed {command}")).then_some(()));
    }
    let briefing = fs::read_to_string(world.worktree().join("AGENTS.md")).unwrap();
    assert!(briefing.contains("`supervisor`: watches the agents"), "{briefing}");

    // Everything else is a question to the supervisor, which answers it from its pane on the hub.
    wait_until("the supervisor is asked", || {
        audit(&world.repo.root).contains("[approval] feat-b wants: make deploy").then_some(())
    });
    assert!(!has("allowed make deploy"));
    fs::write(sandbox.root().join("boss-go"), "").unwrap();
    let said = wait_until("the supervisor has answered", || {
        let said = fs::read_to_string(sandbox.root().join("boss-said")).unwrap_or_default();
        said.ends_with("done\n").then_some(said)
    });
    assert!(said.contains("Do you want to proceed?"), "its pane is shown: {said}");
    assert!(said.contains("approved for feat-b on big: make deploy"), "{said}\n{}", world.logs());
    assert!(said.contains("on big: feat-b is not waiting for an approval"), "{said}");
    wait_until("the command runs", || has("allowed make deploy").then_some(()));
    let verdicts = format!("cd {} && git-paw approvals --json", world.clone().display());
    let verdicts = document(&sandbox.run(&world.repo.root, "ssh", ["big", &verdicts]));
    let deploy = verdicts["verdicts"].as_array().unwrap().iter().rfind(|row| row["command"] == "make deploy");
    assert_eq!(deploy.unwrap()["by"], "supervisor", "{verdicts}");
}

#[test]
fn a_rule_that_changes_on_the_hub_holds_on_another_machine_while_the_session_runs() {
    let Some(world) = TwoMachines::new() else { return };
    let sandbox = &world.machine.sandbox;
    let agent = install_agent(&world);
    install_supervisor(&world);
    let config =
        "[hosts.big]\nssh = \"big\"\n[clis.boss]\ncommand = \"boss\"\n[supervisor]\ncli = \"boss\"\n";
    sandbox.write("home/.config/git-paw/config.toml", config);
    let task = "[[bash:make first ; bash:make second ; bash:make third]]";
    let agents = ["--cli", "claude", "--branches", "feat/a,feat/b@big", "--prompt", task];
    world.run(&[&["start", "--supervisor"], agents.as_slice()].concat());
    let has = |event: &str| agent.events().iter().any(|found| found == event);
    let approve = |command: &str| {
        wait_until(command, || has(&format!("asked {command}")).then_some(()));
        wait_until("it is approved", || (world.paw(&["approve", "feat-b", "--yes"]).code == 0).then_some(()));
    };
    let receipts = world.machine.there().join(".local/share/git-paw/sessions");
    let has_rule = || {
        let files = fs::read_dir(&receipts).unwrap().map(|entry| entry.unwrap().path());
        let receipt = files.filter_map(|file| fs::read_to_string(file).ok()).find_map(|text| {
            let receipt: Value = serde_json::from_str(&text).ok()?;
            receipt["cluster"]["supervision"].is_object().then_some(receipt)
        });
        let rules =
            receipt.map(|receipt| receipt["cluster"]["supervision"]["config"]["auto_approve"].clone());
        rules.is_some_and(|rules| rules["safe_commands"].to_string().contains("make second"))
    };
    wait_until("the agent asks", || has("asked make first").then_some(()));
    let rules = |commands: &str| format!("{config}[supervisor.auto_approve]\nsafe_commands = [{commands}]\n");
    sandbox.write("home/.config/git-paw/config.toml", &rules("\"make second\""));
    wait_until("the machine knows the rule", || has_rule().then_some(()));
    approve("make first");
    wait_until("the second command is approved by the rule", || has("allowed make second").then_some(()));
    // A rule that was removed does not hold any longer.
    sandbox.write("home/.config/git-paw/config.toml", config);
    wait_until("the machine has forgotten the rule", || (!has_rule()).then_some(()));
    approve("make third");
}
