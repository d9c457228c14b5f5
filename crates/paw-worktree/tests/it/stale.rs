//! Worktree directories that are deleted externally, and directories that return.

use std::fs;

use paw_core::Diagnostic as _;
use paw_testkit::git;
use paw_worktree::{CreateRequest, ManagedWorktree, RemoveOptions, WorktreeError, WorktreeStatus};
use serde_json::json;

use crate::log::warnings;
use crate::world::World;

const MISSING: &str = "Worktree directory no longer exists";

fn deleted(world: &World) -> ManagedWorktree {
    let row = world.create("feature/auth").unwrap().worktree;
    fs::remove_dir_all(&row.path).unwrap();
    row
}

fn only_row(world: &World) -> ManagedWorktree {
    let mut rows = world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees;
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.remove(0)
}

#[test]
fn directory_deleted_externally() {
    let world = World::new();
    let row = deleted(&world);
    let mut listed = None;
    let logged = warnings(|| listed = Some(only_row(&world)));
    let listed = listed.unwrap();
    assert_eq!((listed.status, listed.message.as_deref()), (WorktreeStatus::Stale, Some(MISSING)));
    assert_eq!(logged, [format!("Worktree {} directory missing: {}", row.id, row.path.display())]);
    assert_eq!(warnings(|| drop(only_row(&world))), Vec::<String>::new(), "logged once per change");
}

#[test]
fn switch_to_deleted_worktree_fails() {
    let world = World::new();
    let row = deleted(&world);
    for _ in 0..2 {
        let error = world.worktrees().switch(row.id.as_str(), None).unwrap_err();
        assert_eq!(
            (error.report().code.as_str(), error.report().message.as_str()),
            ("FAILED_PRECONDITION", MISSING)
        );
        assert_eq!(error.report().details, json!({ "path": row.path }));
    }
}

#[test]
fn startup_reconciliation_marks_stale() {
    let world = World::new();
    let row = deleted(&world);
    let mut rows = Vec::new();
    let logged = warnings(|| rows = world.worktrees().reconcile().unwrap());
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Stale));
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains(&row.path.display().to_string()));
}

#[test]
fn remove_worktree_cleans_up_stale_worktree() {
    let world = World::new();
    for force in [true, false] {
        let row = deleted(&world);
        assert_eq!(only_row(&world).status, WorktreeStatus::Stale);
        let options = RemoveOptions { force, ..RemoveOptions::default() };
        let removed = world.worktrees().remove(row.id.as_str(), None, options).unwrap();
        assert_eq!(removed.worktree.id, row.id);
        assert!(world.worktrees().list(None).unwrap().is_empty());
        assert_eq!(
            world.repo.git(["branch", "--list", "--format=%(refname:short)", "feature/auth"]),
            "feature/auth"
        );
    }
}

#[test]
fn git_worktree_prune_on_stale_detection() {
    let world = World::new();
    let row = deleted(&world);
    assert!(world.repo.git(["worktree", "list"]).contains(row.path.to_str().unwrap()));
    only_row(&world);
    assert!(!world.repo.git(["worktree", "list"]).contains(row.path.to_str().unwrap()));
    world.repo.git(["checkout", "--quiet", "feature/auth"]);
}

#[test]
fn list_rescues_the_records_of_all_missing_worktrees() {
    let world = World::new();
    let ours = world.create("feature/auth").unwrap().worktree.path;
    let theirs = world.sibling("theirs");
    world.repo.git(["worktree", "add", "--quiet", "-b", "theirs", theirs.to_str().unwrap()]);
    let mut staged = Vec::new();
    for dir in [&ours, &theirs] {
        fs::write(dir.join("staged"), dir.display().to_string()).unwrap();
        git(dir, ["add", "staged"]);
        staged.push(git(dir, ["write-tree"]));
        fs::remove_dir_all(dir).unwrap();
    }
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((listing.worktrees.len(), listing.unmanaged[0].missing), (1, true));
    let kept = world.repo.git(["log", "--format=%T", "--glob=refs/paw/rescue"]);
    for tree in staged {
        assert!(kept.contains(&tree), "{tree} is not in {kept}");
    }
}

#[test]
fn stale_locked_worktree_is_not_pruned() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let path = row.path.to_str().unwrap();
    world.repo.git(["worktree", "lock", "--reason", "on a disk", path]);
    let away = world.sibling("away");
    fs::rename(&row.path, &away).unwrap();
    assert_eq!(only_row(&world).status, WorktreeStatus::Stale);
    assert!(world.repo.git(["worktree", "list"]).contains(path), "git still lists it");
    let error = world.worktrees().remove(&row.name, None, RemoveOptions::default()).unwrap_err();
    assert_eq!(error.report().message, "Worktree is locked: on a disk");
    fs::rename(&away, &row.path).unwrap();
    let back = only_row(&world);
    assert_eq!((back.status, back.message), (WorktreeStatus::Active, None));
    fs::rename(&row.path, &away).unwrap();
    let options = RemoveOptions { force: true, ..RemoveOptions::default() };
    world.worktrees().remove(&row.name, None, options).unwrap();
    assert!(!world.repo.git(["worktree", "list"]).contains(path));
}

#[test]
fn returned_directory_is_relinked_with_its_staged_changes() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::write(row.path.join("staged"), "x").unwrap();
    git(&row.path, ["add", "staged"]);
    fs::write(row.path.join("loose"), "x").unwrap();
    let before = git(&row.path, ["status", "--porcelain"]);
    let away = world.sibling("away");
    fs::rename(&row.path, &away).unwrap();
    assert_eq!(only_row(&world).status, WorktreeStatus::Stale);
    fs::rename(&away, &row.path).unwrap();
    assert_eq!(only_row(&world).status, WorktreeStatus::Active);
    assert_eq!(git(&row.path, ["status", "--porcelain"]), before);
    assert_eq!(git(&row.path, ["symbolic-ref", "HEAD"]), "refs/heads/feature/auth");
    world.worktrees().switch("auth", None).unwrap();
}

#[test]
fn foreign_directory_at_a_stale_path_is_broken_and_never_deleted() {
    let world = World::new();
    let row = deleted(&world);
    only_row(&world);
    fs::create_dir(&row.path).unwrap();
    fs::write(row.path.join("mine"), "x").unwrap();
    let broken = only_row(&world);
    assert_eq!(broken.status, WorktreeStatus::Broken);
    assert!(broken.message.unwrap().contains("git paw worktree remove --force"));
    let error = world.worktrees().switch("auth", None).unwrap_err();
    assert!(matches!(error, WorktreeError::Broken { .. }), "{error}");
    assert!(world.worktrees().remove("auth", None, RemoveOptions::default()).is_err());
    let options = RemoveOptions { force: true, ..RemoveOptions::default() };
    let removed = world.worktrees().remove("auth", None, options).unwrap();
    assert!(removed.notes[0].ends_with("was left unchanged"), "{:?}", removed.notes);
    assert!(row.path.join("mine").exists());
}

#[test]
fn list_follows_a_worktree_moved_by_git() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let moved = world.sibling("moved");
    world.repo.git(["worktree", "move", row.path.to_str().unwrap(), moved.to_str().unwrap()]);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((&listing.worktrees[0].path, listing.worktrees[0].status), (&moved, WorktreeStatus::Active));
    assert!(listing.unmanaged.is_empty());
}

#[test]
fn create_reuses_the_branch_and_path_of_a_stale_worktree() {
    let world = World::new();
    let old = deleted(&world);
    let new = world.create("feature/auth").unwrap().worktree;
    assert_eq!(new.path, old.path);
    assert_eq!(only_row(&world).id, new.id);
}

#[test]
fn create_rescues_the_record_of_a_stale_worktree_at_its_path() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::write(row.path.join("staged"), "x").unwrap();
    git(&row.path, ["add", "staged"]);
    let tree = git(&row.path, ["write-tree"]);
    fs::rename(&row.path, world.sibling("away")).unwrap();
    let request = CreateRequest { create_branch: true, ..world.request("fix/auth") };
    let new = world.worktrees().create(&request, &mut |_| {}).unwrap().worktree;
    assert_eq!(new.path, row.path);
    assert_eq!(git(&new.path, ["symbolic-ref", "HEAD"]), "refs/heads/fix/auth");
    let kept = world.repo.git(["log", "--format=%T", "--glob=refs/paw/rescue"]);
    assert!(kept.contains(&tree), "{tree} is not in {kept}");
}

#[test]
fn create_refuses_the_path_of_a_missing_locked_worktree() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::write(row.path.join("staged"), "x").unwrap();
    git(&row.path, ["add", "staged"]);
    let before = git(&row.path, ["status", "--porcelain"]);
    world.repo.git(["worktree", "lock", "--reason", "on a disk", row.path.to_str().unwrap()]);
    let away = world.sibling("away");
    fs::rename(&row.path, &away).unwrap();
    let request = CreateRequest { create_branch: true, ..world.request("fix/auth") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(error.report().details, json!({ "path": row.path, "reason": "on a disk" }));
    assert_eq!(world.repo.git(["branch", "--list", "fix/auth"]), "");
    fs::rename(&away, &row.path).unwrap();
    assert_eq!(git(&row.path, ["status", "--porcelain"]), before);
    assert_eq!(only_row(&world).id, row.id);
}

#[test]
fn rows_of_a_missing_repository_can_be_removed() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let other = world.create("develop").unwrap().worktree;
    fs::remove_dir_all(&world.repo.root).unwrap();
    fs::remove_dir_all(&row.path).unwrap();
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!(
        rows.iter().map(|row| row.status).collect::<Vec<_>>(),
        [WorktreeStatus::Stale, WorktreeStatus::Broken]
    );
    let options = RemoveOptions { force: true, ..RemoveOptions::default() };
    for id in [row.id, other.id] {
        world.worktrees().remove(id.as_str(), None, options).unwrap();
    }
    assert!(world.worktrees().list(None).unwrap().is_empty());
    assert!(other.path.exists());
}
