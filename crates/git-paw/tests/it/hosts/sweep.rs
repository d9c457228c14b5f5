//! `git paw sweep` lists the agents of all machines, for the user and for the supervisor.

use std::fs;

use paw_testkit::wait_until;
use serde_json::{Value, json};

use super::supervision::install_agent;
use super::{TwoMachines, audit};
use crate::paw::document;

/// The row of `feat-b`.
fn row(rows: &Value) -> Value {
    rows.as_array().unwrap().iter().find(|row| row["agent"] == "feat-b").cloned().unwrap_or_default()
}

#[test]
fn sweep_lists_the_agents_of_all_machines_and_says_which_cannot_be_reached() {
    let Some(mut world) = TwoMachines::new() else { return };
    let agent = install_agent(&world);
    let sandbox = &world.machine.sandbox;
    let said = sandbox.root().join("boss-said");
    let verbs = ["sweep snapshot --lines 30", "sweep worktrees", "sweep status", "diff feat-b"];
    let verbs: Vec<_> = verbs.map(|verb| format!("{} {verb}", world.machine.program().display())).to_vec();
    let script = format!(
        "#!/bin/sh\nuntil [ -e {0}/boss-go ]; do sleep 0.1; done\n{{ {1}; echo done; }} >{2} 2>&1\nexec sleep 1000\n",
        sandbox.root().display(),
        verbs.join("; "),
        said.display(),
    );
    sandbox.install_program("boss", &script);
    let config =
        "[hosts.big]\nssh = \"big\"\n[clis.boss]\ncommand = \"boss\"\n[supervisor]\ncli = \"boss\"\n";
    sandbox.write("home/.config/git-paw/config.toml", config);
    let agents = ["--cli", "claude", "--branches", "feat/a,feat/b@big", "--prompt", "[[bash:make deploy]]"];
    world.run(&[&["start", "--supervisor"], agents.as_slice()].concat());
    wait_until("the agent asks", || agent.events().contains(&"asked make deploy".to_owned()).then_some(()));
    fs::write(world.worktree().join("idea.txt"), "half a thought\n").unwrap();

    let shown = wait_until("its prompt is shown", || {
        let rows = document(&world.run(&["sweep", "snapshot", "--lines", "30", "--json"]));
        Some(row(&rows)).filter(|row| row["screen"].as_str().is_some_and(|text| text.contains("make deploy")))
    });
    assert_eq!((&shown["host"], &shown["state"]), (&json!("big"), &json!("waiting_approval")), "{shown}");
    let status = row(&document(&world.run(&["sweep", "status", "--json"])));
    assert_eq!((&status["host"], &status["waits_for"]), (&json!("big"), &json!("make deploy")), "{status}");
    let stuck = world.run(&["sweep", "detect-stuck"]);
    assert!(stuck.stdout.contains("feat-b"), "{stuck}");
    let worktrees = row(&document(&world.run(&["sweep", "worktrees", "--json"])));
    assert_eq!((&worktrees["host"], &worktrees["changed"]), (&json!("big"), &json!(1)), "{worktrees}");
    assert!(worktrees["worktree"].as_str().unwrap().ends_with("-feat-b"), "{worktrees}");
    let shown = world.run(&["sweep", "worktrees"]);
    assert!(shown.stdout.contains("feat/b@big"), "{shown}");

    // The supervisor has no ssh; the session's process does it.
    wait_until("the snapshot arrives", || {
        let show = ["show", "refs/paw/snapshots/big/feat-b:idea.txt"];
        (world.machine.sandbox.run(&world.repo.root, "git", show).code == 0).then_some(())
    });
    fs::write(world.machine.sandbox.root().join("boss-go"), "").unwrap();
    let boss = wait_until("the supervisor has looked", || {
        fs::read_to_string(&said).ok().filter(|said| said.ends_with("done\n"))
    });
    for expected in [
        "=== feat-a (",
        "=== feat-b on big (waiting_approval)",
        "feat/b@big",
        "claude@big",
        "+half a thought",
    ] {
        assert!(boss.contains(expected), "{expected}: {boss}\n{}", world.logs());
    }

    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    for verb in ["snapshot", "worktrees", "status"] {
        let ran = world.run(&["sweep", verb]);
        assert!(ran.stdout.contains("big is unreachable since 20") && ran.stdout.contains("feat-a"), "{ran}");
    }
    assert!(!audit(&world.repo.root).contains("not allowed"));
}
