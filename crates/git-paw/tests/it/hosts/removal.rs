//! Agents that are removed although their machine cannot be reached.

use std::fs;

use paw_testkit::{git, wait_until};
use serde_json::Value;

use super::TwoMachines;

#[test]
fn an_agent_on_a_lost_machine_is_removed_by_force_with_its_last_work_kept_and_cleaned_up_there_later() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let there = world.worktree();
    fs::write(there.join("idea.txt"), "half a thought\n").unwrap();
    wait_until("its work is copied", || {
        let show = ["show", "refs/paw/snapshots/big/feat-b:idea.txt"];
        (world.machine.sandbox.run(&world.repo.root, "git", show).code == 0).then_some(())
    });
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
