//! Recovery from a crash at every step.

use std::fs;
use std::path::PathBuf;

use paw_core::paths::PawDir;
use paw_host::files::Lock;
use paw_host::git::Repo;
use paw_host::process::{self, Exit};
use paw_testkit::{git, wait_until};
use paw_worktree::{WorktreeStatus, rescue};

use crate::log::warnings;
use crate::world::{World, is_clean};

const ABORTED: Exit = Exit::Signal(6);

fn crash(world: &World, test: &str, moment: &str, variables: &[(&str, &str)]) {
    let output = world.child(test, &[variables, &[("GIT_PAW_CRASH_AT", moment)]].concat());
    assert_eq!(output.exit, ABORTED, "{moment}: {}", String::from_utf8_lossy(&output.stdout));
}

fn leftover_locks(world: &World) -> usize {
    fs::read_dir(world.data_dir().join("operations")).map_or(0, Iterator::count)
}

#[test]
fn crashed_creation_is_rolled_back_at_every_step() {
    let world = World::new();
    let before = world.traces();
    for moment in
        ["create:row", "create:registered", "create:checked-out", "create:hook-ran", "create:filled"]
    {
        crash(&world, "create", moment, &[("PAW_TEST_BRANCH", "topic")]);
        assert_ne!(leftover_locks(&world), 0, "{moment}");
        assert_eq!(world.traces(), before, "{moment}");
        assert_eq!(leftover_locks(&world), 0, "{moment}");
    }
    let output = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
    assert!(output.exit.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn creation_that_crashes_after_its_last_step_is_complete() {
    let world = World::new();
    crash(&world, "create", "create:active", &[("PAW_TEST_BRANCH", "topic")]);
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Active));
    assert!(is_clean(&rows[0].path));
}

#[test]
fn recovery_keeps_work_in_an_unfinished_worktree() {
    let world = World::new();
    crash(&world, "create", "create:filled", &[("PAW_TEST_BRANCH", "topic")]);
    fs::write(world.sibling("project-topic").join("work"), "x").unwrap();
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Active));
    assert!(rows[0].path.join("work").exists());
}

#[test]
fn recovery_keeps_a_foreign_directory_at_the_path_of_an_unfinished_worktree() {
    let world = World::new();
    crash(&world, "create", "create:row", &[("PAW_TEST_BRANCH", "topic")]);
    let path = world.sibling("project-topic");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("mine"), "x").unwrap();
    assert!(world.worktrees().list(None).unwrap().worktrees.is_empty());
    assert!(path.join("mine").exists());
}

#[test]
fn recovery_keeps_a_git_worktree_at_the_path_of_an_unfinished_worktree() {
    let world = World::new();
    crash(&world, "create", "create:row", &[("PAW_TEST_BRANCH", "topic")]);
    let path = world.sibling("project-topic");
    world.repo.git(["worktree", "add", "--quiet", "-b", "theirs", path.to_str().unwrap()]);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (0, 1));
    assert!(path.join("README.md").exists() && is_clean(&path));
}

#[test]
fn crashed_removal_is_completed_without_losing_work() {
    for moment in ["remove:rescued", "remove:marked", "remove:deleted", "remove:branch"] {
        let world = World::new();
        let created = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
        assert!(created.exit.success());
        let path = world.sibling("project-topic");
        fs::write(path.join("work"), "precious").unwrap();
        let tree = {
            git(&path, ["add", "work"]);
            git(&path, ["write-tree"])
        };
        crash(&world, "remove", moment, &[("PAW_TEST_NAME", "topic")]);
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
fn recovery_rescues_work_added_after_a_crashed_removal() {
    let world = World::new();
    let created = world.child("create", &[("PAW_TEST_BRANCH", "topic")]);
    assert!(created.exit.success());
    crash(&world, "remove", "remove:marked", &[("PAW_TEST_NAME", "topic")]);
    let path = world.sibling("project-topic");
    fs::write(path.join("later"), "precious").unwrap();
    let logged = warnings(|| drop(world.worktrees().list(None).unwrap()));
    assert!(!path.exists());
    let rescue = rescue::list(&Repo::discover(&world.repo.root).unwrap()).unwrap().remove(0);
    assert_eq!(world.repo.git(["show", &format!("{}:later", rescue.reference)]), "precious");
    assert!(
        logged.len() == 1 && logged[0].ends_with(&format!("git paw undo restore {}", rescue.id)),
        "{logged:?}"
    );
}

#[test]
fn work_is_stored_once_although_a_removal_was_killed_among_its_files() {
    for is_clean in [false, true] {
        let world = World::new();
        world.repo.commit_file(".gitignore", "built\n", "ignore");
        assert!(world.child("create", &[("PAW_TEST_BRANCH", "topic")]).exit.success());
        let path = world.sibling("project-topic");
        fs::write(path.join("built"), "output").unwrap();
        if !is_clean {
            fs::write(path.join("work"), "precious").unwrap();
            fs::write(path.join("more"), "precious").unwrap();
        }
        crash(&world, "remove", "remove:marked", &[("PAW_TEST_NAME", "topic")]);
        for deleted in ["README.md", ".gitignore", "work"] {
            let _ = fs::remove_file(path.join(deleted));
        }
        drop(world.worktrees().list(None).unwrap());
        assert!(!path.exists());
        let stored = rescue::list(&Repo::discover(&world.repo.root).unwrap()).unwrap();
        assert_eq!(stored.len(), usize::from(!is_clean), "{stored:?}");
    }
}

#[test]
fn work_is_stored_once_although_a_removal_was_killed_after_storing_it() {
    let world = World::new();
    assert!(world.child("create", &[("PAW_TEST_BRANCH", "topic")]).exit.success());
    let path = world.sibling("project-topic");
    fs::write(path.join("work"), "precious").unwrap();
    let stored = || rescue::list(&Repo::discover(&world.repo.root).unwrap()).unwrap();
    for _ in 0..2 {
        crash(&world, "remove", "remove:rescued", &[("PAW_TEST_NAME", "topic")]);
        assert_eq!(stored().len(), 1);
    }
    fs::write(path.join("work"), "more").unwrap();
    let removed = world.child("remove", &[("PAW_TEST_NAME", "topic")]);
    assert!(removed.exit.success(), "{}", String::from_utf8_lossy(&removed.stdout));
    let ids = stored().into_iter().map(|rescue| rescue.reference);
    let mut works: Vec<_> = ids.map(|id| world.repo.git(["show", &format!("{id}:work")])).collect();
    works.sort();
    assert_eq!(works, ["more", "precious"], "other work is stored, too");
}

#[test]
fn recovery_waits_for_a_git_that_outlives_its_killed_parent() {
    let world = World::new();
    assert!(world.child("create", &[("PAW_TEST_BRANCH", "topic")]).exit.success());
    let (started, gate) = (world.sibling("started"), world.sibling("gate"));
    let git = process::find_program("git", &std::env::var_os("PATH").unwrap()).unwrap();
    let wait = format!(
        "#!/bin/sh\ncase \" $* \" in *' worktree remove '*)\n\
         touch '{}'; while [ ! -e '{}' ]; do sleep 0.01; done;; esac\nexec '{}' \"$@\"\n",
        started.display(),
        gate.display(),
        git.display()
    );
    let program = world.sandbox.install_program("git", &wait);
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut removal = world.start_child("remove", &[("PAW_TEST_NAME", "topic"), ("PATH", &path)]);
    wait_until("git removes the worktree", || started.exists().then_some(()));
    removal.kill().unwrap();
    removal.wait().unwrap();
    let lock = PawDir::of(&world.repo.root.join(".git")).worktrees_lock();
    assert!(Lock::is_held(&lock).unwrap(), "by git");
    fs::write(&gate, "").unwrap();
    assert!(world.worktrees().list(None).unwrap().worktrees.is_empty());
    assert!(!world.sibling("project-topic").exists());
    let stored = rescue::list(&Repo::discover(&world.repo.root).unwrap()).unwrap();
    assert!(stored.is_empty(), "{stored:?}");
}

#[test]
fn list_that_crashes_before_pruning_is_completed_by_the_next_list() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::remove_dir_all(&row.path).unwrap();
    crash(&world, "list", "stale:marked", &[]);
    assert!(world.repo.git(["worktree", "list"]).contains("project-auth"));
    let rows = world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees;
    assert_eq!(rows[0].status, WorktreeStatus::Stale);
    assert!(!world.repo.git(["worktree", "list"]).contains("project-auth"));
}

#[test]
fn killed_create_ends_its_checkout() {
    let world = World::new();
    let (started, gate) = (world.sibling("started"), world.sibling("gate"));
    for n in 0..100 {
        world.repo.write(&format!("z{n:02}"), "x\n");
    }
    world.repo.write("middle", "x\n");
    world.repo.write(".gitattributes", "middle filter=gate\n");
    world.repo.git(["add", "."]);
    world.repo.git(["commit", "--quiet", "--message", "files"]);
    let filter =
        format!("cat; touch '{}'; until [ -e '{}' ]; do sleep 0.01; done", started.display(), gate.display());
    world.repo.git(["config", "filter.gate.smudge", &filter]);
    let mut create = world.start_child("create", &[("PAW_TEST_BRANCH", "topic")]);
    wait_until("the checkout waits", || started.exists().then_some(()));
    create.kill().unwrap();
    create.wait().unwrap();
    fs::write(gate, "").unwrap();
    let path = world.sibling("project-topic");
    wait_until("the checkout has ended", || process::processes_in(&path).is_empty().then_some(()));
    assert!(!path.join("z99").exists(), "git has checked out everything");
    assert!(world.worktrees().list(None).unwrap().worktrees.is_empty());
    assert!(!path.exists());
}

/// A world with one rescue of a removed worktree and its branch.
fn rescued() -> World {
    let world = World::new();
    assert!(world.child("create", &[("PAW_TEST_BRANCH", "topic")]).exit.success());
    let path = world.sibling("project-topic");
    fs::write(path.join("work"), "precious").unwrap();
    fs::write(path.join("README.md"), "changed\n").unwrap();
    assert!(world.child("remove", &[("PAW_TEST_NAME", "topic")]).exit.success());
    world
}

#[test]
fn crashed_restore_is_undone_and_can_be_repeated() {
    for moment in ["restore:row", "restore:linked", "restore:filled"] {
        let world = rescued();
        let before = world.traces();
        crash(&world, "restore", moment, &[]);
        assert_eq!(world.traces(), before, "{moment}");
        assert!(world.child("restore", &[]).exit.success(), "{moment}");
        let rows = world.worktrees().list(Some(&world.repo.root)).unwrap();
        assert_eq!((rows.worktrees.len(), rows.unmanaged.len()), (1, 0), "{moment}");
        let path = world.sibling("project-topic");
        assert_eq!(fs::read_to_string(path.join("work")).unwrap(), "precious");
        assert_eq!(git(&path, ["symbolic-ref", "HEAD"]), "refs/heads/topic");
    }
}

#[test]
fn recovery_keeps_work_that_was_added_after_a_crashed_restore() {
    for (file, text) in [("mine", "x"), ("work", "other")] {
        let world = rescued();
        crash(&world, "restore", "restore:filled", &[]);
        let path = world.sibling("project-topic");
        fs::write(path.join(file), text).unwrap();
        let rows = world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees;
        assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Active), "{file}");
        assert_eq!(fs::read_to_string(path.join(file)).unwrap(), text);
    }
}
