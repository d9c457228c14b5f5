//! Debian's nats-server 2.9, the real one.

use std::fs;
use std::path::PathBuf;

use paw_testkit::wait_until;
use serde_json::Value;

use super::{OwnServers, TwoMachines, audit};
use crate::paw::document;

/// `None`, with a note in the test's output, where it cannot be had.
#[expect(
    clippy::disallowed_macros,
    clippy::print_stderr,
    reason = "a skipped test reports that in its output"
)]
fn find_old_server() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|dir| dir.join("nats-server-2.9")).find(|file| file.is_file());
    if found.is_none() {
        eprintln!(
            "skipped: Debian's nats-server 2.9 is not installed (scripts/install-runners does it on Debian)"
        );
    }
    found
}

#[test]
fn an_old_server_is_refused_as_the_sessions_own_and_works_as_one_of_the_user() {
    let (Some(old), Some(world)) = (find_old_server(), TwoMachines::new()) else { return };
    let program = world.machine.sandbox.root().join("tools/nats-server");
    fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(old, &program).unwrap();
    let start =
        || world.paw(&["start", "--no-supervisor", "--cli", "claude", "--branches", "feat/a,feat/b@big"]);

    // It cannot sync every message, so a session does not start it.
    let refused = start();
    assert_eq!(refused.code, 1, "{refused}");
    for said in ["nats-server: v2.9.10 is too old; 2.10 or newer is needed", "sync_interval: always"] {
        assert!(refused.stderr.contains(said), "{refused}");
    }
    assert_eq!(document(&world.run(&["status", "--json"]))["session"], Value::Null);
    let doctor = world.paw(&["doctor"]);
    assert!(doctor.stdout.contains("nats-server: v2.9.10 is too old"), "{doctor}");

    // The user's own servers are the user's choice.
    let servers = OwnServers::start(&world);
    let started = start();
    assert_eq!(started.code, 0, "{started}\n{}", world.logs());
    world.wait_until_reachable(true);
    let clone = world.clone();
    world.run(&["tell", "feat-b", "go on", "--inbox"]);
    wait_until("the message arrives there", || audit(&clone).contains("go on").then_some(()));
    world.ask();
    wait_until("the question arrives here", || {
        audit(&world.repo.root).contains("may I rename it?").then_some(())
    });
    let status = document(&world.run(&["cluster", "status", "--json"]));
    assert_eq!(status["replication"]["connected"], true, "{status}");
    world.run(&["purge", "--force"]);
    wait_until("the stream is deleted", || (servers.streams() == 0).then_some(()));
}
