//! Pane logs, and paths that a repository cannot use for them.

use std::fs;
use std::os::unix::fs::symlink;

use paw_testkit::wait_until;

use super::World;

#[test]
fn start_does_not_log_through_a_link_in_the_repository() {
    let world = World::new();
    let target = world.sandbox.write("home/.bashrc", "mine\n");
    let logs = world.repo.root.join(".git-paw/logs/paw-app");
    fs::create_dir_all(&logs).unwrap();
    symlink("../../../../home/.bashrc", logs.join("feat--a.log")).unwrap();
    world.repo.write(".git-paw/config.toml", "[logging]\nenabled = true\n");
    world.repo.git(["add", "-f", ".git-paw"]);
    world.repo.git(["commit", "-qm", "evil"]);

    let ran = world.start(&["--cli", "agent", "--branches", "feat/a,feat/b"]);
    assert!(ran.stderr.contains("feat--a.log: it is a symbolic link"), "{ran}");
    for agent in ["feat-a", "feat-b"] {
        world.wait_for("paw-app", agent, &format!("agent {agent} in"));
    }
    wait_until("the other log is kept", || {
        fs::read_to_string(logs.join("feat--b.log"))
            .is_ok_and(|log| log.contains("agent feat-b"))
            .then_some(())
    });
    assert_eq!(fs::read_to_string(target).unwrap(), "mine\n");
}

#[test]
fn add_does_not_log_through_a_link_in_the_repository() {
    let world = World::new();
    let target = world.sandbox.write("home/.bashrc", "mine\n");
    world.configure("[logging]\nenabled = true\n");
    world.start(&["--cli", "agent", "--branches", "feat/a"]);
    symlink(&target, world.repo.root.join(".git-paw/logs/paw-app/feat--b.log")).unwrap();
    let ran = world.paw(&["add", "feat/b"]);
    assert!(ran.code == 0 && ran.stderr.contains("feat--b.log: it is a symbolic link"), "{ran}");
    world.wait_for("paw-app", "feat-b", "agent feat-b in");
    assert_eq!(fs::read_to_string(target).unwrap(), "mine\n");
}

#[test]
fn repository_cannot_set_a_log_dir_outside_of_itself() {
    let world = World::new();
    world.repo.write(".git-paw/config.toml", "[logging]\nenabled = true\nlog_dir = \"../elsewhere\"\n");
    let ran = world.start(&["--cli", "agent", "--branches", "feat/a"]);
    assert!(ran.stderr.contains("ignoring this repository's logging.log_dir"), "{ran}");
    assert!(!world.sandbox.root().join("elsewhere").exists());
    wait_until("the log is where logs are", || {
        world.repo.root.join(".git-paw/logs/paw-app/feat--a.log").exists().then_some(())
    });
    let replayed = world.paw(&["replay", "--list"]);
    assert!(replayed.stdout.contains("feat/a"), "it is looked for there as well: {replayed}");
}

#[test]
fn user_can_set_any_log_dir() {
    let world = World::new();
    let dir = world.sandbox.root().join("elsewhere");
    world.configure(&format!("[logging]\nenabled = true\nlog_dir = {dir:?}\n"));
    let ran = world.start(&["--cli", "agent", "--branches", "feat/a"]);
    assert!(!ran.stderr.contains("ignored"), "{ran}");
    wait_until("the log is there", || dir.join("paw-app/feat--a.log").exists().then_some(()));
}
