//! A power cut after `git paw purge`.

use std::fs;

use paw_testkit::{Sandbox, TestDisk};

use crate::lifecycle::World;
use crate::paw::document;

#[test]
fn purged_work_survives_a_power_cut_and_the_session_does_not_return() {
    let Some(disk) = TestDisk::new(96) else { return };
    let world = World::empty_in(Sandbox::new_in(&disk.path())).started();
    let work = world.worktree("feat/a");
    for n in 0..50 {
        fs::write(work.join(format!("new-{n}")), format!("work {n}\n").repeat(100)).unwrap();
    }
    disk.sync();
    assert!(world.receipt_path().exists());
    let ran = world.paw(&["purge", "--force"]);
    assert_eq!(ran.code, 0, "{ran}");
    world.kill_tmux();
    disk.cut_power();
    assert!(!work.exists() && !world.receipt_path().exists());
    world.repo.git(["fsck", "--no-dangling", "--no-progress"]);
    let kept = document(&world.paw(&["undo", "--json"]));
    let id = kept["rescues"][0]["id"].as_str().unwrap().to_owned();
    let ran = world.paw(&["undo", "restore", &id]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(work.join("new-49")).unwrap(), "work 49\n".repeat(100));
}
