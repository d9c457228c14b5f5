//! A copy of the hub, for example from a backup, on a machine of its own.

use std::fs;
use std::process::{Child, Command};

use paw_testkit::{RunOutput, git, wait_until};

use super::{OwnServers, TwoMachines, audit};
use crate::paw::document;

/// What a hub consists of.
const PARTS: [&str; 4] = ["app", "app-feat-a", "home", "tmux"];

/// The same paths with another content, on a machine with another name: in namespaces of its own.
struct CopiedHub<'a> {
    world: &'a TwoMachines,
    machine: Child,
    /// The first process in the namespaces.
    first: u32,
}

impl<'a> CopiedHub<'a> {
    /// `None` where namespaces are not allowed; the test is then left out.
    fn new(world: &'a TwoMachines) -> Option<Self> {
        let root = world.machine.sandbox.root();
        let is_allowed =
            Command::new("unshare").args(["--mount", "--uts", "--pid", "--fork", "true"]).status();
        if !is_allowed.is_ok_and(|status| status.success()) {
            return None;
        }
        fs::create_dir_all(root.join("copy/tmux")).unwrap();
        for part in &PARTS[..3] {
            let copied = Command::new("cp").arg("-a").arg(root.join(part)).arg(root.join("copy")).status();
            assert!(copied.unwrap().success(), "{part}");
        }
        // The machines share their loopback, so the broker of the hub would answer.
        fs::remove_file(root.join("copy/app/.git/paw/endpoint.json")).unwrap();
        let mounts = PARTS.map(|part| format!("mount --bind {0}/copy/{part} {0}/{part}", root.display()));
        let script = format!(
            "echo backup >/proc/sys/kernel/hostname && {} && touch {}/copy/ready && exec sleep 1000",
            mounts.join(" && "),
            root.display()
        );
        let machine = Command::new("unshare")
            .args([
                "--mount",
                "--uts",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child",
                "sh",
                "-c",
                &script,
            ])
            .spawn()
            .unwrap();
        wait_until("the copy is there", || root.join("copy/ready").exists().then_some(()));
        let children = format!("/proc/{0}/task/{0}/children", machine.id());
        let first = fs::read_to_string(children).unwrap().trim().parse().unwrap();
        Some(Self { world, machine, first })
    }

    fn paw(&self, args: &[&str]) -> RunOutput {
        let (sandbox, program) = (&self.world.machine.sandbox, self.world.machine.program());
        let (root, first) = (sandbox.root(), self.first.to_string());
        let script = format!("cd {}/app && exec \"$@\"", root.display());
        let enter = ["--target", &first, "--mount", "--uts", "--pid", "sh", "-c", &script, "sh"];
        let enter = enter.into_iter().chain([program.to_str().unwrap()]);
        sandbox.run(&root, "/usr/bin/nsenter", enter.chain(args.iter().copied()))
    }
}

impl Drop for CopiedHub<'_> {
    fn drop(&mut self) {
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}

/// A machine obeys its hub alone, and a copy of the hub says so and can be removed without harm.
fn check_copy(world: &TwoMachines, streams: impl Fn() -> usize) {
    world.start();
    world.wait_until_reachable(true);
    git(&world.worktree(), ["commit", "--allow-empty", "--quiet", "--message", "done"]);
    fs::write(world.worktree().join("idea.txt"), "half a thought\n").unwrap();
    // A copy of a repository into which git fetches has refs without their objects.
    wait_until("its work is copied", || {
        let show = ["show", "refs/paw/snapshots/big/feat-b:idea.txt"];
        (world.machine.sandbox.run(&world.repo.root, "git", show).code == 0).then_some(())
    });
    let Some(copy) = CopiedHub::new(world) else { return };
    let refusal = "the hub of this session is ";
    let started = copy.paw(&["start"]);
    assert!(started.stderr.contains(refusal), "{started}");
    wait_until("the copy says why it does not reach the machine", || {
        let status = document(&copy.paw(&["cluster", "status", "--json"]));
        let host = status["hosts"].as_array()?.iter().find(|host| host["name"] == "big")?.clone();
        host["problem"].as_str()?.contains(refusal).then_some(())
    });
    let shown = copy.paw(&["status"]);
    assert!(shown.stdout.contains("unreachable since") && shown.stdout.contains(refusal), "{shown}");
    for args in [
        &["add", "feat/c@big"][..],
        &["move", "feat-b", "--to", "local"],
        &["remove", "feat-b", "--force"],
        &["approve", "feat-b", "--yes"],
    ] {
        let ran = copy.paw(args);
        let other =
            ran.stderr.contains(refusal) || ran.stderr.contains("another machine is the hub of this session");
        assert!(ran.code != 0 && other, "{args:?}: {ran}");
        assert!(ran.stderr.contains("hint: this is a copy of that hub"), "{args:?}: {ran}");
    }
    let (clone, main) = (world.clone(), git(&world.clone(), ["rev-parse", "main"]));
    let merged = copy.paw(&["merge", "--only", "feat-b"]).to_string();
    assert!(merged.contains("big does not have the merged commits") && merged.contains(refusal), "{merged}");
    assert_eq!(git(&clone, ["rev-parse", "main"]), main, "{merged}");
    let told = copy.paw(&["tell", "feat-b", "from the copy", "--inbox"]);
    let before = streams();
    let purged = copy.paw(&["purge", "--force"]);
    assert!(purged.code == 0 && purged.stderr.contains("left as it is on big"), "{purged}");

    // The session has lost nothing, and got nothing from the copy.
    assert_eq!(streams(), before);
    assert_eq!(fs::read_to_string(world.worktree().join("idea.txt")).unwrap(), "half a thought\n");
    world.run(&["tell", "feat-b", "from the hub", "--inbox"]);
    wait_until("the message arrives", || audit(&clone).contains("from the hub").then_some(()));
    world.ask();
    wait_until("the answer arrives", || audit(&world.repo.root).contains("may I rename it?").then_some(()));
    for log in [audit(&clone), audit(&world.repo.root)] {
        assert!(!log.contains("from the copy"), "{told}");
    }
    assert_eq!(git(&clone, ["branch", "--list", "feat/c"]), "");
    world.wait_until_reachable(true);
}

#[test]
fn a_copy_of_the_hub_is_refused_by_a_machine_that_is_connected_to_the_hub() {
    let Some(world) = TwoMachines::new() else { return };
    check_copy(&world, || 0);
}

#[test]
fn a_copy_of_the_hub_is_refused_on_the_users_own_servers() {
    let Some(world) = TwoMachines::new() else { return };
    let servers = OwnServers::start(&world);
    check_copy(&world, || servers.streams());
}
