//! A power cut after a deletion: what was stored first is readable.

use std::fs;
use std::path::Path;

use paw_core::BranchName;
use paw_host::git::Repo;
use paw_testkit::{Sandbox, TestDisk, git};
use paw_worktree::rescue::{self, Rescue, RestoreInto, RestoreOptions};
use paw_worktree::{RemoveOptions, SessionWorktree};

use crate::world::World;

const FORCE: RemoveOptions = RemoveOptions { force: true, delete_branch: false, include_ignored: false };

fn world_on(disk: &TestDisk) -> World {
    World::in_sandbox(Sandbox::new_in(&disk.path()))
}

fn only_rescue(world: &World) -> (Repo, Rescue) {
    world.repo.git(["fsck", "--no-dangling", "--no-progress"]);
    let repo = Repo::discover(&world.repo.root).unwrap();
    let mut rescues = rescue::list(&repo).unwrap();
    assert_eq!(rescues.len(), 1, "{rescues:?}");
    (repo, rescues.remove(0))
}

fn write_files(dir: &Path) {
    for n in 0..50 {
        fs::write(dir.join(format!("new-{n}")), format!("work {n}\n").repeat(100)).unwrap();
    }
}

#[test]
fn rescued_work_survives_a_power_cut_after_the_removal() {
    let Some(disk) = TestDisk::new(64) else { return };
    let world = world_on(&disk);
    let row = world.create("feature/auth").unwrap().worktree;
    write_files(&row.path);
    fs::write(row.path.join("README.md"), "changed\n").unwrap();
    disk.sync();
    world.worktrees().remove(row.id.as_str(), None, FORCE).unwrap();
    disk.cut_power();
    assert!(!row.path.exists());
    assert!(world.worktrees().list(None).unwrap().is_empty(), "the removal was not completed");
    let (repo, kept) = only_rescue(&world);
    let again = world.sibling("again");
    rescue::restore(&repo, &kept.id, RestoreInto::NewWorktree(&again), RestoreOptions::default()).unwrap();
    for n in 0..50 {
        let text = fs::read_to_string(again.join(format!("new-{n}"))).unwrap();
        assert_eq!(text, format!("work {n}\n").repeat(100));
    }
    assert_eq!(fs::read_to_string(again.join("README.md")).unwrap(), "changed\n");
}

#[test]
fn commit_survives_a_power_cut_after_its_clean_worktree_was_removed() {
    let Some(disk) = TestDisk::new(64) else { return };
    let world = world_on(&disk);
    let row = world.create("feature/auth").unwrap().worktree;
    write_files(&row.path);
    disk.sync();
    git(&row.path, ["add", "."]);
    git(&row.path, ["commit", "--quiet", "--message", "work"]);
    world.worktrees().remove(row.id.as_str(), None, RemoveOptions::default()).unwrap();
    disk.cut_power();
    assert!(!row.path.exists());
    world.repo.git(["fsck", "--no-dangling", "--no-progress"]);
    let text = world.repo.git(["show", "feature/auth:new-49"]);
    assert_eq!(text, "work 49\n".repeat(100).trim_end());
}

#[test]
fn old_tip_of_a_rebased_branch_survives_a_power_cut() {
    let Some(disk) = TestDisk::new(64) else { return };
    let world = world_on(&disk);
    world.repo.git(["checkout", "--quiet", "feature/auth"]);
    let tip = world.repo.commit_file("auth", "old\n", "auth");
    world.repo.git(["checkout", "--quiet", "main"]);
    world.repo.commit_file("main", "x\n", "main moves on");
    let branch = BranchName::new("feature/auth").unwrap();
    let wanted = SessionWorktree { rebase_onto_main: true, ..SessionWorktree::new(branch) };
    world.worktrees().create_worktree(&world.repo.root, &wanted).unwrap();
    disk.cut_power();
    let repo = Repo::discover(&world.repo.root).unwrap();
    let kept = rescue::list(&repo).unwrap().remove(0);
    assert_eq!(world.repo.git(["show", &format!("{tip}:auth")]), "old");
    world.repo.git(["merge-base", "--is-ancestor", &tip, &kept.reference]);
}

#[test]
fn restored_work_survives_a_power_cut_after_its_rescue_was_deleted() {
    let Some(disk) = TestDisk::new(64) else { return };
    let world = world_on(&disk);
    let row = world.create("feature/auth").unwrap().worktree;
    write_files(&row.path);
    world.worktrees().remove(row.id.as_str(), None, FORCE).unwrap();
    let (repo, kept) = only_rescue(&world);
    let again = world.sibling("again");
    rescue::restore(&repo, &kept.id, RestoreInto::NewWorktree(&again), RestoreOptions::default()).unwrap();
    rescue::forget(&repo, &kept.id).unwrap();
    disk.cut_power();
    assert_eq!(fs::read_to_string(again.join("new-7")).unwrap(), "work 7\n".repeat(100));
}
