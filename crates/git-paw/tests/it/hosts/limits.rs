//! Machines that answer with more than a command can use.

use std::fs;

use super::TwoMachines;

#[test]
fn a_machine_that_prints_without_end_is_an_error_and_not_the_end_of_the_memory() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    let program = world.machine.bin().join("git-paw");
    fs::remove_file(&program).unwrap();
    let endless = world.machine.sandbox.install_program("endless", "#!/bin/sh\nexec yes\n");
    fs::rename(endless, &program).unwrap();
    let refused = world.paw(&["remove", "feat-b"]);
    assert!(refused.code == 1 && refused.stderr.contains("error: big printed more than 64 MB"), "{refused}");
    assert_eq!(world.agent("feat/b")["host"]["name"], "big");
    // Brings the program back for the removal of the sandbox.
    fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(world.machine.program(), &program).unwrap();
}
