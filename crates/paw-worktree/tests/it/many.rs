//! Many concurrent processes in one repository.

use std::thread;

use paw_testkit::git;
use paw_worktree::WorktreeStatus;

use crate::world::{World, is_clean};

const PROCESSES: usize = 25;

/// Two rounds by default; set `PAW_TEST_ROUNDS=20` for more.
fn rounds() -> usize {
    std::env::var("PAW_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

#[test]
fn concurrent_creates_and_removes_lose_nothing_and_leave_nothing() {
    for round in 0..rounds() {
        let world = World::new();
        for n in 0..40 {
            world.repo.write(&format!("dir/{n}"), "text\n");
        }
        world.repo.git(["add", "."]);
        world.repo.git(["commit", "--quiet", "--message", "files"]);
        thread::scope(|scope| {
            for n in 0..PROCESSES {
                let world = &world;
                scope.spawn(move || {
                    let output = world.child("create", &[("PAW_TEST_BRANCH", &format!("agent/{n}"))]);
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(output.exit.success(), "round {round}, process {n}: {stderr}");
                });
            }
        });
        let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
        assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (PROCESSES, 0));
        for row in &listing.worktrees {
            assert_eq!(row.status, WorktreeStatus::Active);
            assert!(is_clean(&row.path) && row.path.join("dir/39").exists());
        }
        thread::scope(|scope| {
            for n in 0..PROCESSES {
                let world = &world;
                scope.spawn(move || {
                    let output = world.child("remove", &[("PAW_TEST_NAME", &n.to_string())]);
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(output.exit.success(), "round {round}, process {n}: {stderr}");
                });
            }
        });
        assert!(world.worktrees().list(Some(&world.repo.root)).unwrap().is_empty());
        assert_eq!(world.repo.git(["branch", "--list", "agent/*"]), "");
        assert!(!world.repo.root.join(".git/worktrees").exists());
        git(&world.repo.root, ["fsck", "--no-dangling", "--no-progress"]);
    }
}

#[test]
fn concurrent_creates_of_one_branch_succeed_exactly_once() {
    let world = World::new();
    let made: usize = thread::scope(|scope| {
        let children: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| world.child("create", &[("PAW_TEST_BRANCH", "topic")]).exit.success()))
            .collect();
        children.into_iter().map(|child| usize::from(child.join().unwrap())).sum()
    });
    assert_eq!(made, 1);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (1, 0));
    assert!(is_clean(&listing.worktrees[0].path));
}
