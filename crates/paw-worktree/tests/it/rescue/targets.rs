//! Restoring into an existing directory, and restoring single paths.

use std::os::unix::fs::symlink;

use paw_core::Diagnostic as _;
use paw_worktree::WorktreeError;
use paw_worktree::rescue::RescueError;

use super::*;
use crate::world::assert_waits_for;

fn into(
    scene: &Scene,
    rescue: &Rescue,
    dir: &Path,
    paths: &[&str],
    force: bool,
) -> Result<RestoredRescue, WorktreeError> {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let options = RestoreOptions { paths: &paths, force };
    restore(&scene.repo, &rescue.id, RestoreInto::Existing(dir), options)
}

fn rescued() -> (Scene, Rescue) {
    let scene = Scene::new();
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("dir/b.txt", "unstaged\n");
    scene.write("new/one", "1");
    scene.write("new/two", "2");
    let rescue = scene.store();
    scene.remove();
    (scene, rescue)
}

#[test]
fn restore_into_another_worktree_keeps_staged_changes_staged() {
    let (scene, rescue) = rescued();
    into(&scene, &rescue, &scene.main.root, &[], false).unwrap();
    assert_eq!(
        scene.main.git(["status", "--porcelain", "--untracked-files=all"]),
        "M  a.txt\n M dir/b.txt\n?? new/one\n?? new/two"
    );
}

#[test]
fn restore_can_be_limited_to_paths() {
    let (scene, rescue) = rescued();
    let restored = into(&scene, &rescue, &scene.main.root, &["new", "README.md"], false).unwrap();
    assert_eq!(restored.files, ["README.md", "new/one", "new/two"].map(PathBuf::from));
    assert_eq!(scene.main.git(["status", "--porcelain"]), "?? new/");
    let error = into(&scene, &rescue, &scene.main.root, &["missing"], false).unwrap_err();
    assert!(error.to_string().contains("does not contain missing"), "{error}");
}

#[test]
fn restore_refuses_to_overwrite_changed_files_without_force() {
    let (scene, rescue) = rescued();
    scene.main.write("dir/b.txt", "precious\n");
    scene.main.write("new/two", "precious too");
    let before = WorktreeSnapshot::of(&scene.main.root);
    let error = into(&scene, &rescue, &scene.main.root, &[], false).unwrap_err();
    let text = error.report().to_string();
    assert!(text.contains("dir/b.txt, new/two") && text.contains("--force"), "{text}");
    assert_eq!(WorktreeSnapshot::of(&scene.main.root), before);

    into(&scene, &rescue, &scene.main.root, &[], true).unwrap();
    assert_eq!(fs::read_to_string(scene.main.root.join("dir/b.txt")).unwrap(), "unstaged\n");
}

#[test]
fn restore_refuses_to_overwrite_staged_changes() {
    let (scene, rescue) = rescued();
    scene.main.write("a.txt", "mine\n");
    scene.main.git(["add", "a.txt"]);
    let error = into(&scene, &rescue, &scene.main.root, &["a.txt"], false).unwrap_err();
    assert!(matches!(error, WorktreeError::Rescue(RescueError::WouldOverwrite { .. })), "{error}");
}

#[test]
fn restoring_twice_succeeds() {
    let (scene, rescue) = rescued();
    into(&scene, &rescue, &scene.main.root, &[], false).unwrap();
    let before = WorktreeSnapshot::of(&scene.main.root);
    into(&scene, &rescue, &scene.main.root, &[], false).unwrap();
    assert_eq!(WorktreeSnapshot::of(&scene.main.root), before);
}

#[test]
fn restore_does_not_write_through_a_symlink_in_the_target() {
    let (scene, rescue) = rescued();
    let outside = scene.sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, scene.main.root.join("new")).unwrap();
    assert!(into(&scene, &rescue, &scene.main.root, &[], false).is_err());
    into(&scene, &rescue, &scene.main.root, &[], true).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn restore_works_into_a_plain_directory() {
    let (scene, rescue) = rescued();
    let plain = scene.sandbox.root().join("plain");
    fs::create_dir(&plain).unwrap();
    into(&scene, &rescue, &plain, &["new/one"], false).unwrap();
    assert_eq!(fs::read_to_string(plain.join("new/one")).unwrap(), "1");
}

#[test]
fn restore_into_a_new_worktree_can_be_limited_to_paths() {
    let (scene, rescue) = rescued();
    let (back, paths) = (scene.back(), [PathBuf::from("new/one")]);
    let options = RestoreOptions { paths: &paths, force: false };
    restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&back), options).unwrap();
    assert_eq!(git(&back, ["status", "--porcelain", "--untracked-files=all"]), "?? new/one");
}

#[test]
fn restore_refuses_an_existing_target_for_a_new_worktree() {
    let (scene, rescue) = rescued();
    write(&scene.back(), "file", "x");
    let error =
        restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&scene.back()), RestoreOptions::default());
    assert!(matches!(error, Err(WorktreeError::Rescue(RescueError::TargetExists(_)))));
    let missing = scene.sandbox.root().join("missing");
    assert!(matches!(
        into(&scene, &rescue, &missing, &[], false),
        Err(WorktreeError::Rescue(RescueError::NoTarget(_)))
    ));
}

#[test]
fn restore_waits_for_the_worktrees_lock() {
    let (scene, rescue) = rescued();
    let lock = scene.repo.common_dir.join("paw/worktrees.lock");
    assert_waits_for(&lock, || scene.restore(&rescue));
    assert_eq!(fs::read(scene.back().join("new/one")).unwrap(), b"1");
}

#[test]
fn restore_that_fails_removes_its_worktree_again() {
    let (scene, rescue) = rescued();
    let (back, paths) = (scene.back(), [PathBuf::from("not/there")]);
    let options = RestoreOptions { paths: &paths, force: false };
    assert!(restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&back), options).is_err());
    assert!(!back.exists());
    assert_eq!(scene.repo.git().worktrees().unwrap().len(), 1);
}
