//! `--update-base`: updates the base branch from its remote before tasks start.

use std::fs;

use paw_testkit::git;

use super::world::{World, task};

/// Another clone pushes a commit that writes `text` to `file`.
fn push_from_elsewhere(world: &World, file: &str, text: &str) {
    let origin = world.sandbox.root().join("origin.git");
    let clone = world.sandbox.root().join("clone");
    if !clone.exists() {
        git(&world.sandbox.root(), ["clone", "--quiet", origin.to_str().unwrap(), "clone"]);
    }
    fs::write(clone.join(file), text).unwrap();
    git(&clone, ["add", "--all"]);
    git(
        &clone,
        ["-c", "user.name=b", "-c", "user.email=b@c", "commit", "--quiet", "--message", "from elsewhere"],
    );
    git(&clone, ["push", "--quiet", "origin", "main"]);
}

fn tip(world: &World) -> String {
    world.repo.git(["log", "--format=%s", "-1", "main"])
}

#[test]
fn update_base_starts_tasks_at_the_remote_state() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[]), task(3, &[])]) else { return };
    world.remote();
    push_from_elsewhere(&world, "app/news.py", "new = 1\n");
    let ran = world.run(&["1", "2", "--update-base"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("fast-forwarded main by 1 commit"), "{ran}");
    assert!(world.worktree(1).join("app/news.py").exists() && world.repo.root.join("app/news.py").exists());
    // A branch that is not checked out is moved, too; a single task can also use the flag.
    push_from_elsewhere(&world, "app/news.py", "new = 2\n");
    world.repo.git(["switch", "--quiet", "--create", "aside"]);
    let ran = world.run(&["1", "2", "--update-base"]);
    assert!(ran.code == 0 && ran.stderr.contains("fast-forwarded main by 1 commit"), "{ran}");
    assert_eq!(tip(&world), "from elsewhere");
    let elsewhere = world.run(&["3", "--update-base"]);
    assert!(elsewhere.code == 1 && elsewhere.stderr.contains("would start from aside"), "{elsewhere}");
    world.repo.git(["switch", "--quiet", "main"]);
    let alone = world.run(&["3", "--update-base"]);
    assert!(alone.code == 0 && alone.stderr.contains("main is up to date"), "{alone}");
}

#[test]
fn update_base_keeps_uncommitted_changes_and_only_fast_forwards() {
    let Some(world) = World::find(&[task(1, &[]), task(2, &[])]) else { return };
    let none = world.run(&["1", "2", "--update-base"]);
    assert!(none.code == 1 && none.stderr.contains("there is no remote to update main from"), "{none}");
    world.remote();
    push_from_elsewhere(&world, "app/__init__.py", "theirs = 1\n");
    world.repo.write("app/__init__.py", "mine = 1\n");
    let dirty = world.run(&["1", "2", "--update-base"]);
    assert!(dirty.code == 1 && dirty.stderr.contains("uncommitted changes in"), "{dirty}");
    assert_eq!(fs::read_to_string(world.repo.root.join("app/__init__.py")).unwrap(), "mine = 1\n");
    world.repo.git(["commit", "--quiet", "--all", "--message", "mine"]);
    let diverged = world.run(&["1", "2", "--update-base"]);
    assert!(
        diverged.code == 1 && diverged.stderr.contains("has commits that origin does not have"),
        "{diverged}"
    );
    assert_eq!(tip(&world), "mine");
    assert!(!world.worktree(1).exists());
    let unconfirmed = world.autopilot(&["1", "2", "--update-base"]);
    assert!(unconfirmed.stderr.contains("stdin is not a terminal; nothing was done"), "{unconfirmed}");
}
