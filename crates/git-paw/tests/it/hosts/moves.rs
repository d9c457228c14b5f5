//! Agents that move: what they have read, other machines on both sides, and moves that fail.

use std::fs;
use std::path::{Path, PathBuf};

use paw_testkit::{git, wait_until};
use serde_json::Value;

use super::faults::mount_small_disk;
use super::{TwoMachines, audit};
use crate::machine::SecondMachine;

/// A CLI that reads its inbox whenever a file asks for it, and counts its starts.
fn install_reader(world: &TwoMachines) -> PathBuf {
    let asked = world.machine.sandbox.root().join("asked");
    fs::create_dir_all(&asked).unwrap();
    let script = format!(
        "#!/bin/sh\nme={}/$(git branch --show-current | tr / -)\nmkdir -p $me\necho $PWD >>$me/starts\n\
         while :; do\n  if [ -e $me/read ]; then\n    {} inbox >$me/new 2>&1\n    rm $me/read\n    mv $me/new $me/inbox\n  fi\n  \
         sleep 0.1\ndone\n",
        asked.display(),
        world.machine.program().display()
    );
    let cli = world.machine.sandbox.install_program("claude", &script);
    fs::copy(cli, world.machine.bin().join("claude")).unwrap();
    asked
}

/// What the agent sees when it reads its inbox now.
fn inbox(asked: &Path, agent: &str) -> String {
    let (read, inbox) = (asked.join(agent).join("read"), asked.join(agent).join("inbox"));
    wait_until("the agent runs", || asked.join(agent).join("starts").exists().then_some(()));
    let _ = fs::remove_file(&inbox);
    fs::write(read, "").unwrap();
    wait_until("the agent reads its inbox", || fs::read_to_string(&inbox).ok())
}

fn starts(asked: &Path, agent: &str) -> Vec<String> {
    let text = fs::read_to_string(asked.join(agent).join("starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_moved_agent_continues_its_inbox_after_the_last_message_that_it_has_read() {
    let Some(world) = TwoMachines::new() else { return };
    let asked = install_reader(&world);
    world.start();
    world.wait_until_reachable(true);
    let clone = world.clone();
    let tell = |text: &str| {
        world.run(&["tell", "feat-b", text, "--inbox"]);
    };
    tell("message one");
    wait_until("the message arrives there", || audit(&clone).contains("message one").then_some(()));
    assert!(inbox(&asked, "feat-b").contains("message one"));
    tell("message two");
    wait_until("the next one arrives there", || audit(&clone).contains("message two").then_some(()));

    world.run(&["move", "feat-b", "--to", "local"]);
    wait_until("it runs here", || (starts(&asked, "feat-b").len() == 2).then_some(()));
    tell("message three");
    let read = inbox(&asked, "feat-b");
    assert!(!read.contains("message one"), "it has read this one: {read}");
    assert!(read.contains("message two") && read.contains("message three"), "{read}");

    // Back again: nothing is new there, until something is.
    world.run(&["move", "feat-b", "--to", "big"]);
    wait_until("it runs there", || (starts(&asked, "feat-b").len() == 3).then_some(()));
    world.wait_until_reachable(true);
    tell("message four");
    wait_until("the last one arrives there", || audit(&world.clone()).contains("message four").then_some(()));
    let read = inbox(&asked, "feat-b");
    assert!(read.contains("message four"), "{read}");
    assert!(!["one", "two", "three"].iter().any(|word| read.contains(&format!("message {word}"))), "{read}");
}

#[test]
fn an_agent_moves_from_one_machine_to_another_one_and_its_inbox_with_it() {
    let Some(world) = TwoMachines::new() else { return };
    let asked = install_reader(&world);
    let gpu = SecondMachine::start(&world.machine);
    let sandbox = &world.machine.sandbox;
    sandbox.write(
        "home/.config/git-paw/config.toml",
        "[hosts.big]\nssh = \"big\"\n[hosts.gpu]\nssh = \"gpu\"\n",
    );
    world.start();
    world.wait_until_reachable(true);
    world.run(&["tell", "feat-b", "message one", "--inbox"]);
    wait_until("the message arrives there", || audit(&world.clone()).contains("message one").then_some(()));
    assert!(inbox(&asked, "feat-b").contains("message one"));
    let left = world.worktree();
    fs::write(left.join("idea.txt"), "half a thought\n").unwrap();

    let moved = world.run(&["move", "feat-b", "--to", "gpu"]);
    assert!(moved.stdout.contains("moved feat/b from big to gpu"), "{moved}");
    assert_eq!(world.agent("feat/b")["host"]["name"], "gpu");
    assert!(!left.exists(), "{moved}");
    wait_until("it runs there", || (starts(&asked, "feat-b").len() == 2).then_some(()));
    let there = PathBuf::from(&starts(&asked, "feat-b")[1]);
    assert!(there.starts_with(gpu.home()), "{}", there.display());
    assert_eq!(fs::read_to_string(there.join("idea.txt")).unwrap(), "half a thought\n");
    world.run(&["tell", "feat-b", "message two", "--inbox"]);
    let read = wait_until("the next message arrives there", || {
        Some(inbox(&asked, "feat-b")).filter(|read| read.contains("message two"))
    });
    assert!(!read.contains("message one"), "it has read this one: {read}");
    world.run(&["purge", "--force"]);
    wait_until("no process is left", || sandbox.session_processes().is_empty().then_some(()));
}

#[test]
fn an_agent_that_cannot_move_continues_where_it_was_with_its_work() {
    let Some(mut world) = TwoMachines::new() else { return };
    let asked = install_reader(&world);
    world.start_alone();
    let here = world.here("feat-a");
    fs::write(here.join("idea.txt"), "half a thought\n").unwrap();
    wait_until("the agent runs", || (starts(&asked, "feat-a").len() == 1).then_some(()));
    let fails = |world: &TwoMachines, agent: &str, to: &str, expected: &str| {
        let failed = world.paw(&["move", agent, "--to", to]);
        assert!(
            failed.code == 1 && failed.stderr.contains(expected),
            "{expected}: {failed}\n{}",
            world.logs()
        );
        failed
    };

    // The target cannot be reached: the agent is not even stopped.
    world.machine.stop();
    fails(&world, "feat-a", "big", "cannot reach big");
    world.machine.run();
    assert_eq!(starts(&asked, "feat-a").len(), 1);

    // It has no such CLI: the agent was stopped, and starts again.
    let cli = world.machine.bin().join("claude");
    let away = world.machine.sandbox.root().join("claude-away");
    fs::rename(&cli, &away).unwrap();
    let failed = fails(&world, "feat-a", "big", "claude");
    assert!(failed.stderr.contains("feat-a stays where it was"), "{failed}");
    wait_until("it runs again", || (starts(&asked, "feat-a").len() == 2).then_some(()));
    assert_eq!(world.agent("feat/a")["host"], Value::Null);
    assert_eq!(fs::read_to_string(here.join("idea.txt")).unwrap(), "half a thought\n");
    fs::rename(&away, &cli).unwrap();

    // It has no space.
    if let Some(disk) = mount_small_disk(&world, "64k") {
        fails(&world, "feat-a", "big", "No space left on device");
        assert_eq!(world.agent("feat/a")["host"], Value::Null);
        assert_eq!(fs::read_to_string(here.join("idea.txt")).unwrap(), "half a thought\n");
        drop(disk);
    }
    let runs = starts(&asked, "feat-a").len();

    // With all of that, it moves; and back it cannot, because this machine has no such CLI.
    world.run(&["move", "feat-a", "--to", "big"]);
    wait_until("it runs there", || (starts(&asked, "feat-a").len() > runs).then_some(()));
    let there = PathBuf::from(starts(&asked, "feat-a").last().unwrap());
    assert_eq!(fs::read_to_string(there.join("idea.txt")).unwrap(), "half a thought\n");
    let own = world.machine.sandbox.root().join("bin/claude");
    fs::rename(&own, &away).unwrap();
    let runs = starts(&asked, "feat-a").len();
    fails(&world, "feat-a", "local", "claude");
    wait_until("it runs there again", || (starts(&asked, "feat-a").len() > runs).then_some(()));
    assert_eq!(world.agent("feat/a")["host"]["name"], "big");
    assert_eq!(fs::read_to_string(there.join("idea.txt")).unwrap(), "half a thought\n");
    assert!(!here.exists());
    assert_eq!(git(&there, ["branch", "--show-current"]), "feat/a");
}
