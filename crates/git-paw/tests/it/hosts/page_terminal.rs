//! The connection of a page to a pane on another machine ends with the page, whatever else ends first.

use std::fs;
use std::process::Command;

use paw_testkit::wait_until;

use super::TwoMachines;
use crate::paw::document;
use crate::web::client::Client;
use crate::web::terminal::Shown;

/// Prints without an end, so that some of its output is always on its way.
const FLOOD: &str = "#!/bin/sh\nwhile :; do date; done\n";

/// A session whose agent `feat/b` on the machine floods its pane.
fn start() -> Option<TwoMachines> {
    let world = TwoMachines::new()?;
    let flood = world.machine.sandbox.install_program("flood", FLOOD);
    fs::rename(flood, world.machine.bin().join("claude")).unwrap();
    world
        .machine
        .sandbox
        .write("home/.config/git-paw/config.toml", "[hosts.big]\nssh = \"big\"\n[web]\nport = 0\n");
    world.start();
    world.wait_until_reachable(true);
    Some(world)
}

fn open(world: &TwoMachines) -> Shown {
    let link = document(&world.run(&["web", "--json"]));
    let browser = Client::of_link(link["link"].as_str().unwrap()).log_in(link["code"].as_str().unwrap());
    let mut shown = Shown::open(&browser, "feat-b");
    shown.wait_for(":");
    shown
}

/// The processes of the sandbox whose command line has this text.
fn processes(world: &TwoMachines, text: &str) -> Vec<u32> {
    let root = world.machine.sandbox.root().display().to_string();
    let is_ours = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        command.contains(text) && (command.contains(&root) || cwd.starts_with(&root))
    };
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_ours).collect()
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok()).unwrap()
}

fn wait_until_gone(world: &TwoMachines, what: &str) {
    wait_until(&format!("no terminal is left after {what}"), || {
        (processes(world, "__terminal").is_empty() && processes(world, "-C attach-session").is_empty())
            .then_some(())
    });
}

fn signal(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// The process of a terminal with this parent's name: on the hub that is the session's process, on the machine an ssh server.
fn terminal_below(world: &TwoMachines, name: &str) -> u32 {
    let is_below = |pid: &u32| {
        let above = fs::read_to_string(format!("/proc/{}/comm", parent(*pid))).unwrap_or_default();
        above.trim().starts_with(name)
    };
    let own = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "git-paw")
    };
    wait_until("the terminal runs", || processes(world, "__terminal").into_iter().filter(own).find(is_below))
}

#[test]
fn a_terminal_on_another_machine_ends_when_any_part_of_its_connection_is_killed() {
    let Some(world) = start() else { return };
    let shown = open(&world);
    world.kill(world.process_here());
    drop(shown);
    wait_until_gone(&world, "the end of the page's server");
    world.run(&["start"]);
    world.wait_until_reachable(true);

    let shown = open(&world);
    signal("-KILL", terminal_below(&world, "git-paw"));
    wait_until_gone(&world, "the end of the hub's side");
    drop(shown);
    let shown = open(&world);
    signal("-KILL", terminal_below(&world, "sshd"));
    wait_until_gone(&world, "the end of the machine's side");
    drop(shown);
    let shown = open(&world);
    let there = terminal_below(&world, "sshd");
    signal("-KILL", parent(there));
    wait_until_gone(&world, "the end of the ssh server");
    drop(shown);
}

#[test]
fn a_terminal_on_another_machine_ends_when_the_connection_is_silent() {
    let Some(world) = start() else { return };
    let shown = open(&world);
    // As with a cable that is pulled: nothing arrives, and nothing is closed.
    let server = parent(terminal_below(&world, "sshd"));
    signal("-STOP", server);
    wait_until_gone(&world, "15 seconds of silence");
    signal("-KILL", server);
    drop(shown);
}
