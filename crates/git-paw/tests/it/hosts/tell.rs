//! What the user tells agents on another machine.

use std::fs;

use paw_testkit::wait_until;

use super::{TwoMachines, audit};

#[test]
fn what_the_user_tells_an_agent_is_not_part_of_a_command_line_there() {
    let Some(world) = TwoMachines::new() else { return };
    world.start();
    world.wait_until_reachable(true);
    let (program, log) = (world.machine.bin().join("git-paw"), world.machine.there().join("commands"));
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{}\nexec {} \"$@\"\n",
        log.display(),
        world.machine.program().display()
    );
    let logging = world.machine.sandbox.install_program("logging", &script);
    fs::rename(logging, &program).unwrap();

    let text = "the password is\n'swordfish' -- $HOME";
    let told = world.run(&["tell", "feat-b", text]);
    assert!(told.stdout.contains("sent to feat-b on big"), "{told}");
    wait_until("the message is there", || audit(&world.clone()).contains("swordfish").then_some(()));
    let commands = fs::read_to_string(&log).unwrap();
    assert!(commands.contains("tell feat-b") && !commands.contains("swordfish"), "{commands}");

    let all = format!("printf 'read the\\nnews' | {} tell --all --stdin", world.machine.program().display());
    let told = world.machine.sandbox.run(&world.repo.root, "sh", ["-c", &all]);
    assert_eq!(told.code, 0, "{told}");
    wait_until("it is there, too", || audit(&world.clone()).contains("read the\\nnews").then_some(()));
    let empty = world.paw(&["tell", "feat-b", "--stdin"]);
    assert!(empty.code == 1 && empty.stderr.contains("the text is empty"), "{empty}");
    let both = world.paw(&["tell", "feat-b", "text", "--stdin"]);
    assert!(both.code == 2 && both.stderr.contains("--stdin"), "{both}");
}
