//! `git paw merge --rebase` with branches of agents on another machine.

use std::fs;
use std::path::Path;

use paw_testkit::{git, wait_until};

use super::{TwoMachines, audit};
use crate::paw::document;

fn commit(worktree: &Path, file: &str, text: &str) {
    fs::write(worktree.join(file), text).unwrap();
    git(worktree, ["add", file]);
    git(worktree, ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", file]);
}

/// The result of a branch in a merge of all.
fn merge(world: &TwoMachines) -> (String, String) {
    let report = document(&world.paw(&["merge", "--rebase", "--only", "feat-a,feat-b", "--json"]));
    let branch = report["branches"].as_array().unwrap().iter().find(|entry| entry["branch"] == "feat/b");
    let text = |key: &str| branch.unwrap()[key].as_str().unwrap().to_owned();
    (text("outcome"), text("detail"))
}

#[test]
fn a_branch_on_another_machine_is_rebased_in_its_worktree_unless_that_has_changes_or_is_lost() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.repo.commit_file("lines", "one\n", "lines");
    world.start();
    world.wait_until_reachable(true);
    let (here, there) = (world.here("feat-a"), world.worktree());
    commit(&here, "a", "a\n");
    commit(&there, "b", "b\n");
    let old = git(&there, ["rev-parse", "HEAD"]);

    // Uncommitted work is not touched; the agent is asked to commit, and has what it needs for a rebase.
    fs::write(there.join("lines"), "one\ntwo\n").unwrap();
    let (outcome, detail) = merge(&world);
    assert_eq!(outcome, "skipped", "{detail}");
    assert!(detail.contains("on big: ") && detail.contains("has uncommitted changes"), "{detail}");
    assert_eq!(git(&there, ["rev-parse", "HEAD"]), old);
    assert_eq!(git(&world.clone(), ["show", "main:a"]), "a", "main is on the machine");
    wait_until("the agent is told why", || {
        audit(&world.clone()).contains("it needs a rebase onto main, but on big").then_some(())
    });
    git(&there, ["checkout", "--", "lines"]);

    // The machine is lost: the branch is left out.
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    let (outcome, detail) = merge(&world);
    assert_eq!(outcome, "skipped", "{detail}");
    assert!(detail.contains("not rebased: ") && detail.contains("big"), "{detail}");
    world.machine.run();
    world.wait_until_reachable(true);

    // It is rebased and merged, and its worktree follows. The old tip is kept on both machines.
    fs::write(there.join("untracked"), "mine\n").unwrap();
    let (outcome, detail) = merge(&world);
    assert_eq!(outcome, "merged", "{detail}");
    assert!(detail.starts_with("rebased, "), "{detail}");
    let merged = git(&world.repo.root, ["rev-parse", "main"]);
    for (dir, rev) in [(&there, "HEAD"), (&world.clone(), "main"), (&world.repo.root, "feat/b")] {
        assert_eq!(git(dir, ["rev-parse", rev]), merged, "{rev} in {}", dir.display());
    }
    assert_eq!(git(&there, ["branch", "--show-current"]).trim(), "feat/b");
    assert_eq!(git(&there, ["status", "--porcelain"]).trim(), "?? untracked");
    assert_eq!(git(&there, ["show", "HEAD:a"]), "a");
    for dir in [&world.repo.root, &world.clone()] {
        let kept =
            git(dir, ["for-each-ref", "--format=%(refname)", "--contains", old.trim(), "refs/paw/rescue/"]);
        assert!(!kept.trim().is_empty(), "{}", dir.display());
        assert_eq!(git(dir, ["for-each-ref", "refs/paw/rebased/"]).trim(), "");
    }
}
