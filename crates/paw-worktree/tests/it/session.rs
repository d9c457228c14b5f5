//! The worktrees of a session.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::config::WorktreePlacement;
use paw_core::{BranchName, PawError};
use paw_testkit::{TestRepo, git};
use paw_worktree::{SessionWorktree, WorktreeCreation};

use crate::world::{World, assert_waits_for, is_clean};

fn wanted(branch: &str) -> SessionWorktree {
    SessionWorktree::new(BranchName::new(branch).unwrap())
}

fn rebased(branch: &str) -> SessionWorktree {
    SessionWorktree { rebase_onto_main: true, ..wanted(branch) }
}

fn create(world: &World, wanted: &SessionWorktree) -> Result<WorktreeCreation, PawError> {
    world.worktrees().create_worktree(&world.repo.root, wanted)
}

fn tip(dir: &Path, name: &str) -> String {
    git(dir, ["rev-parse", name])
}

fn message(error: &PawError) -> String {
    error.report().message
}

/// A branch `feat/example` at the first commit, with main `commits` ahead of it.
fn behind(world: &World, commits: usize) {
    world.repo.git(["branch", "feat/example"]);
    for n in 0..commits {
        world.repo.commit_file(&format!("main-{n}"), "x", "main moves on");
    }
}

#[test]
fn worktree_created_at_correct_path() {
    let world = World::new();
    world.repo.git(["branch", "feature/test"]);
    let made = create(&world, &wanted("feature/test")).unwrap();
    assert_eq!(made.path, world.sibling("project-feature-test"));
    assert!(!made.branch_created && !made.resumed);
    assert!(made.path.join("README.md").exists());
    let rows = world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees;
    assert_eq!((rows.len(), &rows[0].id), (1, &made.id));
}

#[test]
fn creating_worktree_for_currently_checked_out_branch_fails() {
    let world = World::new();
    let before = world.traces();
    for rebase_onto_main in [false, true] {
        let error = create(&world, &SessionWorktree { rebase_onto_main, ..wanted("main") }).unwrap_err();
        assert!(message(&error).contains("already checked out"), "{error}");
    }
    assert_eq!(world.traces(), before);
}

#[test]
fn resume_of_an_existing_worktree_returns_success_without_re_running_git_worktree_add() {
    let world = World::new();
    let first = create(&world, &wanted("feature/test")).unwrap();
    fs::write(first.path.join("README.md"), "changed").unwrap();
    let head = tip(&first.path, "HEAD");
    let again = create(&world, &wanted("feature/test")).unwrap();
    assert_eq!((&again.path, again.branch_created, again.resumed), (&first.path, false, true));
    assert_eq!(again.id, first.id);
    assert_eq!(tip(&first.path, "HEAD"), head);
    assert_eq!(fs::read_to_string(first.path.join("README.md")).unwrap(), "changed");
}

#[test]
fn resume_adopts_a_worktree_created_by_plain_git() {
    let world = World::new();
    let path = world.sibling("project-feature-auth");
    world.repo.git(["worktree", "add", "--quiet", path.to_str().unwrap(), "feature/auth"]);
    let made = create(&world, &wanted("feature/auth")).unwrap();
    assert!(made.resumed && made.path == path);
    assert!(world.worktrees().list(None).unwrap().worktrees[0].adopted);
}

#[test]
fn path_exists_but_is_not_a_git_worktree() {
    let world = World::new();
    world.repo.git(["branch", "feature/test"]);
    fs::create_dir(world.sibling("project-feature-test")).unwrap();
    let error = create(&world, &wanted("feature/test")).unwrap_err();
    assert!(message(&error).contains("already exists"), "{error}");
}

#[test]
fn path_exists_as_a_worktree_but_for_a_different_branch() {
    let world = World::new();
    world.repo.git(["branch", "feature/test"]);
    world.repo.git(["worktree", "add", "--quiet", "-b", "feature/other", "../project-feature-test"]);
    let error = create(&world, &wanted("feature/test")).unwrap_err();
    assert!(message(&error).contains("already exists"), "{error}");
}

#[test]
fn rebase_on_resume_happy_path_advances_branch_onto_current_main() {
    let world = World::new();
    behind(&world, 3);
    let made = create(&world, &rebased("feat/example")).unwrap();
    assert!(!made.branch_created);
    assert_eq!(tip(&world.repo.root, "feat/example"), tip(&world.repo.root, "main"));
    assert!(made.path.join("main-2").exists() && is_clean(&made.path));
    assert_eq!(made.notes, Vec::<String>::new(), "nothing was rewritten, so no rescue is stored");
}

#[test]
fn resume_rebases_the_surviving_worktree_in_place() {
    let world = World::new();
    let first = create(&world, &wanted("feat/example")).unwrap();
    fs::write(first.path.join("own"), "x").unwrap();
    git(&first.path, ["add", "own"]);
    git(&first.path, ["commit", "--quiet", "--message", "own"]);
    let old = tip(&first.path, "HEAD");
    let main = world.repo.commit_file("main-file", "x", "main moves on");
    let again = create(&world, &rebased("feat/example")).unwrap();
    assert!(again.resumed && first.path.join("main-file").exists());
    assert_eq!(tip(&first.path, "HEAD~1"), main);
    let reference = again.notes[0].rsplit(' ').next().unwrap().to_owned();
    assert!(reference.starts_with("refs/paw/rescue/"), "{:?}", again.notes);
    world.repo.git(["merge-base", "--is-ancestor", &old, &reference]);
    assert_eq!(
        world.repo.git(["symbolic-ref", "HEAD"]),
        "refs/heads/main",
        "the user's checkout is unchanged"
    );
}

#[test]
fn resume_does_not_rebase_a_worktree_with_uncommitted_changes() {
    let world = World::new();
    let first = create(&world, &wanted("feat/example")).unwrap();
    let old = tip(&first.path, "HEAD");
    fs::write(first.path.join("loose"), "x").unwrap();
    world.repo.commit_file("main-file", "x", "main moves on");
    let again = create(&world, &rebased("feat/example")).unwrap();
    assert_eq!(again.notes, ["feat/example has uncommitted changes: not rebased onto main"]);
    assert_eq!(tip(&first.path, "HEAD"), old);
}

#[test]
fn rebase_skipped_when_branch_is_already_up_to_date() {
    let world = World::new();
    behind(&world, 0);
    let before = tip(&world.repo.root, "feat/example");
    let made = create(&world, &rebased("feat/example")).unwrap();
    assert_eq!((made.branch_created, tip(&world.repo.root, "feat/example")), (false, before));
}

#[test]
fn rebase_conflict_aborts_cleanly_and_surfaces_error() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "-b", "feat/example"]);
    world.repo.commit_file("README.md", "theirs\n", "theirs");
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.commit_file("README.md", "ours\n", "ours");
    let before = world.traces();
    let error = create(&world, &rebased("feat/example")).unwrap_err();
    assert!(message(&error).contains("rebase onto main failed"), "{error}");
    assert!(message(&error).len() > "rebase onto main failed: ".len(), "{error}");
    let hints = error.report().hints.join("\n");
    assert!(hints.contains("README.md") && hints.contains("--no-rebase"), "{hints}");
    assert_eq!(world.traces(), before);
    for leftover in ["rebase-merge", "rebase-apply", "worktrees"] {
        assert!(!world.repo.root.join(".git").join(leftover).exists(), "{leftover}");
    }
}

#[test]
fn rebase_conflict_in_a_surviving_worktree_leaves_it_unchanged() {
    let world = World::new();
    let first = create(&world, &wanted("feat/example")).unwrap();
    fs::write(first.path.join("README.md"), "theirs\n").unwrap();
    git(&first.path, ["commit", "--quiet", "--all", "--message", "theirs"]);
    let old = tip(&first.path, "HEAD");
    world.repo.commit_file("README.md", "ours\n", "ours");
    let error = create(&world, &rebased("feat/example")).unwrap_err();
    assert!(message(&error).contains("rebase onto main failed"), "{error}");
    assert_eq!(tip(&first.path, "HEAD"), old);
    assert_eq!(git(&first.path, ["symbolic-ref", "HEAD"]), "refs/heads/feat/example");
    assert!(is_clean(&first.path));
}

#[test]
fn rebase_onto_main_false_preserves_no_rebase_behaviour() {
    let world = World::new();
    behind(&world, 3);
    let before = tip(&world.repo.root, "feat/example");
    let made = create(&world, &wanted("feat/example")).unwrap();
    assert_eq!(tip(&made.path, "HEAD"), before);
}

#[test]
fn new_branch_creation_skips_rebase_regardless_of_flag() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "develop"]);
    let head = world.repo.commit_file("develop-file", "x", "develop moves on");
    world.repo.git(["branch", "side", "main"]);
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.commit_file("main-file", "x", "main moves on");
    world.repo.git(["checkout", "--quiet", "develop"]);
    let made = create(&world, &rebased("feat/new")).unwrap();
    assert!(made.branch_created);
    assert_eq!(tip(&made.path, "HEAD"), head, "created at the checked out commit");
}

#[test]
fn session_worktree_tracks_a_branch_that_exists_only_on_a_remote() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "feature/auth"]);
    let remote_tip = world.repo.commit_file("auth", "x", "auth");
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.commit_file("main-file", "x", "main moves on");
    let clone = TestRepo::clone_of(&world.repo.root, world.sibling("clone"));
    let made = world.worktrees().create_worktree(&clone.root, &rebased("feature/auth")).unwrap();
    assert!(made.branch_created);
    assert_eq!(tip(&made.path, "HEAD"), remote_tip);
    assert_eq!(git(&made.path, ["rev-parse", "--abbrev-ref", "@{upstream}"]), "origin/feature/auth");
}

#[test]
fn child_placement_excludes_worktrees_inside_the_repository() {
    let world = World::new();
    let child = SessionWorktree { placement: WorktreePlacement::Child, ..wanted("feature/auth") };
    let made = create(&world, &child).unwrap();
    assert_eq!(made.path, world.repo.root.join(".git-paw/worktrees/project-feature-auth"));
    assert!(is_clean(&world.repo.root));
    assert!(create(&world, &child).unwrap().resumed);
}

#[test]
fn child_placement_waits_for_the_exclude_file_lock() {
    let world = World::new();
    let child = SessionWorktree { placement: WorktreePlacement::Child, ..wanted("feature/auth") };
    let exclude = world.repo.root.join(".git/info/exclude");
    fs::write(&exclude, "*.log").unwrap();
    assert_waits_for(&world.repo.root.join(".git/paw/exclude.lock"), || create(&world, &child)).unwrap();
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "*.log\n/.git-paw/worktrees/\n");
}

#[test]
fn create_worktrees_succeed_or_fail_individually() {
    let world = World::new();
    let names = ["a", "main", "feature/auth", "b/c", "a"];
    let wanted: Vec<_> = names.iter().map(|name| wanted(name)).collect();
    let made = world.worktrees().create_worktrees(&world.repo.root, &wanted).unwrap();
    let paths: Vec<Option<PathBuf>> = made.into_iter().map(|made| made.ok().map(|made| made.path)).collect();
    let sibling = |name: &str| Some(world.sibling(name));
    assert_eq!(
        paths,
        [sibling("project-a"), None, sibling("project-feature-auth"), sibling("project-b-c"), None]
    );
    for path in paths.into_iter().flatten() {
        assert!(is_clean(&path) && path.join("README.md").exists());
    }
}

#[test]
fn worktree_fully_cleaned_up_after_removal() {
    let world = World::new();
    let made = create(&world, &wanted("feature/auth")).unwrap();
    world.worktrees().remove_worktree(&world.repo.root, &made.path, false).unwrap();
    assert!(!made.path.exists());
    assert!(!world.repo.git(["worktree", "list"]).contains("feature-auth"));
}

#[test]
fn dirty_worktree_is_force_removed_and_kept_without_force() {
    let world = World::new();
    // A worktree that is not in the registry, as an older session may have left it.
    let path = world.sibling("project-feature-auth");
    world.repo.git(["worktree", "add", "--quiet", path.to_str().unwrap(), "feature/auth"]);
    fs::write(path.join("README.md"), "changed").unwrap();
    fs::write(path.join("untracked"), "x").unwrap();
    let error = world.worktrees().remove_worktree(&world.repo.root, &path, false).unwrap_err();
    assert!(message(&error).contains("uncommitted changes"), "{error}");
    let removed = world.worktrees().remove_worktree(&world.repo.root, &path, true).unwrap();
    assert!(removed.rescue.is_some() && !path.exists());
    assert!(!world.repo.git(["worktree", "list"]).contains("feature-auth"));
}
