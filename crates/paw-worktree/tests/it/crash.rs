//! The process dies at every step, and the next one puts things right.

use std::fs;
use std::path::PathBuf;

use paw_host::git::Repo;
use paw_host::process::Exit;
use paw_testkit::git;
use paw_worktree::{WorktreeStatus, rescue};

use crate::log::warnings;
use crate::world::{World, is_clean};

const ABORTED: Exit = Exit::Signal(6);

fn dies(world: &World, test: &str, moment: &str, variables: &[(&str, &str)]) {
    let output = world.child(test, &[variables, &[("GIT_PAW_CRASH_AT", moment)]].concat());
    assert_eq!(output.exit, ABORTED, "{moment}: {}", String::from_utf8_lossy(&output.stdout));
}

fn leftover_locks(world: &World) -> usize {
    fs::read_dir(world.data_dir().join("operations")).map_or(0, Iterator::count)
}

#[test]
fn a_creation_that_dies_at_any_step_leaves_nothing() {
    let world = World::new();
    let before = world.traces();
    for moment in
        ["create:row", "create:registered", "create:checked-out", "create:hook-ran", "create:filled"]
    {
        dies(&world, "create", moment, &[("PAW_TEST_BRANCH", "topic")]);
        assert_ne!(leftover_locks(&world), 0, "{moment}");
        assert_eq!(world.traces(), before, "{moment}");
        assert_eq!(leftover_locks(&world), 0, "{moment}");
    }
    let output = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
    assert!(output.exit.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_creation_that_dies_after_its_last_step_is_whole() {
    let world = World::new();
    dies(&world, "create", "create:active", &[("PAW_TEST_BRANCH", "topic")]);
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Active));
    assert!(is_clean(&rows[0].path));
}

#[test]
fn work_in_a_half_made_worktree_is_not_thrown_away() {
    let world = World::new();
    dies(&world, "create", "create:filled", &[("PAW_TEST_BRANCH", "topic")]);
    fs::write(world.beside("project-topic").join("work"), "x").unwrap();
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Active));
    assert!(rows[0].path.join("work").exists());
}

#[test]
fn a_directory_that_somebody_else_made_at_the_place_of_a_half_is_not_thrown_away() {
    let world = World::new();
    dies(&world, "create", "create:row", &[("PAW_TEST_BRANCH", "topic")]);
    let path = world.beside("project-topic");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("mine"), "x").unwrap();
    assert!(world.worktrees().list(None).unwrap().worktrees.is_empty());
    assert!(path.join("mine").exists());
}

#[test]
fn a_worktree_that_plain_git_made_at_the_place_of_a_half_is_not_thrown_away() {
    let world = World::new();
    dies(&world, "create", "create:row", &[("PAW_TEST_BRANCH", "topic")]);
    let path = world.beside("project-topic");
    world.repo.git(["worktree", "add", "--quiet", "-b", "theirs", path.to_str().unwrap()]);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (0, 1));
    assert!(path.join("README.md").exists() && is_clean(&path));
}

#[test]
fn a_removal_that_dies_at_any_step_loses_nothing_and_is_finished() {
    for moment in ["remove:rescued", "remove:marked", "remove:deleted", "remove:branch"] {
        let world = World::new();
        let created = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
        assert!(created.exit.success());
        let path = world.beside("project-topic");
        fs::write(path.join("work"), "precious").unwrap();
        let tree = {
            git(&path, ["add", "work"]);
            git(&path, ["write-tree"])
        };
        dies(&world, "remove", moment, &[("PAW_TEST_NAME", "topic")]);
        let rows: Vec<PathBuf> =
            world.worktrees().list(None).unwrap().worktrees.into_iter().map(|row| row.path).collect();
        let listed = world.repo.git(["worktree", "list"]).contains("project-topic");
        if moment == "remove:rescued" {
            assert_eq!((rows.len(), listed, path.join("work").exists()), (1, true, true), "{moment}");
        } else {
            assert_eq!((rows.len(), listed, path.exists()), (0, false, false), "{moment}");
        }
        assert_eq!(leftover_locks(&world), usize::from(moment == "remove:rescued"), "{moment}");
        let kept = world.repo.git(["log", "--format=%T", "--glob=refs/paw/rescue"]);
        assert!(kept.contains(&tree), "{moment}: {kept}");
    }
}

#[test]
fn work_that_was_done_after_a_removal_died_is_kept_when_it_is_finished() {
    let world = World::new();
    let created = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
    assert!(created.exit.success());
    dies(&world, "remove", "remove:marked", &[("PAW_TEST_NAME", "topic")]);
    let path = world.beside("project-topic");
    fs::write(path.join("later"), "precious").unwrap();
    let said = warnings(|| drop(world.worktrees().list(None).unwrap()));
    assert!(!path.exists());
    let rescue = rescue::list(&Repo::discover(&world.repo.root).unwrap()).unwrap().remove(0);
    assert_eq!(world.repo.git(["show", &format!("{}:later", rescue.reference)]), "precious");
    assert!(said.len() == 1 && said[0].ends_with(&format!("git paw undo restore {}", rescue.id)), "{said:?}");
}

#[test]
fn a_list_that_dies_between_mark_and_prune_is_finished_by_the_next() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::remove_dir_all(&row.path).unwrap();
    dies(&world, "list", "stale:marked", &[]);
    assert!(world.repo.git(["worktree", "list"]).contains("project-auth"));
    let rows = world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees;
    assert_eq!(rows[0].status, WorktreeStatus::Stale);
    assert!(!world.repo.git(["worktree", "list"]).contains("project-auth"));
}
