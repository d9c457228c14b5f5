//! Uncommitted work on another machine: too much of it, and work that changed while the machine could not be reached.

use std::fs;
use std::fs::File;
use std::io::{self, Read as _};

use paw_testkit::wait_until;

use super::{TwoMachines, audit};

#[test]
fn uncommitted_work_that_is_too_large_to_copy_is_named_on_the_hub() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    // Random bytes, so that they stay as large when they are compressed; each file is below the limit of one file.
    for number in 0..5 {
        let mut part = File::create(world.worktree().join(format!("large-{number}"))).unwrap();
        io::copy(&mut File::open("/dev/urandom").unwrap().take(15 << 20), &mut part).unwrap();
    }
    wait_until("the hub is told", || {
        let told = audit(&world.repo.root);
        (told.contains("uncommitted work of 7")
            && told.contains("MB is not copied to the hub; the limit is 64 MB"))
        .then_some(())
    });
    // What was copied before, while the files were written, is within the limit.
    let list = ["ls-tree", "-r", "--format=%(objectsize)", "refs/paw/snapshots/big/feat-b"];
    let copied = world.machine.sandbox.run(&world.repo.root, "git", list).stdout;
    let copied: u64 = copied.lines().map(|size| size.trim().parse::<u64>().unwrap()).sum();
    assert!(copied <= 64 << 20, "{copied}");
}

#[test]
fn a_conflict_that_was_resolved_during_a_partition_is_not_reported_after_it() {
    let Some(mut world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let (clone, here, there) = (world.clone(), world.here("feat-a"), world.worktree());
    world.machine.stop();
    world.machine.end_connections();
    world.wait_until_reachable(false);
    fs::write(here.join("resolved.txt"), "a\n").unwrap();
    fs::write(there.join("resolved.txt"), "b\n").unwrap();
    let own_snapshot = |path: &str| {
        let show = ["show", &format!("refs/paw/snapshots/feat-b:{path}")];
        world.machine.sandbox.run(&clone, "git", show).code == 0
    };
    wait_until("the machine has stored the conflict", || own_snapshot("resolved.txt").then_some(()));
    fs::remove_file(there.join("resolved.txt")).unwrap();
    fs::write(there.join("lasting.txt"), "b\n").unwrap();
    fs::write(here.join("lasting.txt"), "a\n").unwrap();
    wait_until("and that it is resolved", || {
        (own_snapshot("lasting.txt") && !own_snapshot("resolved.txt")).then_some(())
    });
    world.machine.run();
    for side in [&world.repo.root, &clone] {
        wait_until("the conflict that is left is reported", || {
            audit(side).contains("file lasting.txt is being modified by both you and").then_some(())
        });
        assert!(!audit(side).contains("file resolved.txt is being modified by both"), "{}", audit(side));
    }
}
