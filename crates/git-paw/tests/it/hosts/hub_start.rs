//! A hub whose NATS server does not start.

use std::fs;

use paw_testkit::wait_until;

use super::TwoMachines;
use crate::paw::document;

#[test]
fn a_hub_that_cannot_start_says_why_and_connects_as_soon_as_it_can() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let script = "#!/bin/sh\necho 'no room for a server' >&2\nexit 1\n";
    let program = world.machine.sandbox.install_program("nats-server", script);
    world.kill(world.process_here());
    world.paw(&["start"]);
    wait_until("the reason is shown", || {
        let shown = world.run(&["status"]).stdout;
        (shown.contains("unreachable since") && shown.contains("no room for a server")).then_some(())
    });
    let status = document(&world.run(&["cluster", "status", "--json"]));
    let problem = status["replication"]["problem"].as_str().unwrap_or_else(|| panic!("{status}"));
    assert!(problem.contains("no room for a server"), "{status}");

    // Without another command.
    fs::remove_file(&program).unwrap();
    world.wait_until_reachable(true);
}
