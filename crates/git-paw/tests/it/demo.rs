//! `git paw demo`

use std::fs;

use paw_testkit::{Sandbox, Terminal};

use crate::paw::{PROGRAM, paw};

/// The names of demos' sockets whose servers still run.
fn sockets(sandbox: &Sandbox) -> Vec<String> {
    let sockets = sandbox.tmux_sockets().into_iter();
    let names = sockets.map(|socket| socket.file_name().unwrap().to_string_lossy().into_owned());
    let is_demo = |name: &String| name.starts_with("git-paw-demo-");
    names.filter(is_demo).filter(|name| sandbox.tmux(["-L", name, "has-session"]).code == 0).collect()
}

#[test]
fn without_a_terminal_it_tells_what_happened_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    for line in [
        "git paw start --supervisor: 3 agents, each with a worktree and a pane, a supervisor and a dashboard",
        "two agents changed the same line and were warned before they committed:",
        "feat-farewell: [conflict-detector] in-flight conflict: file README.md",
        "your line 1 and their line 1 do not merge",
        "approved: git status --short",
        "docs-guide: approve or deny: git push --force origin main",
        "git paw approve docs/guide: approved for docs-guide: make words",
        "keys n, d, d in the dashboard: shows the whole command, denies it: git push --force origin main",
        "key Enter in the dashboard, or git paw attach ",
        "feat/greeting: verified at ",
        "feat/farewell: failed its gates (src/leave.sh does not greet Ada), fixed, verified at ",
        "docs/guide: verified at ",
        "git paw merge --rebase: feat/greeting, feat/farewell, docs/guide, each tested on top of main",
        "the agents kept running, and no message was lost",
        "git paw undo restore: idea.txt contains \"half a thought\" again",
        "master/task-4-shout: ",
        "feat(shout): greet in capitals (task 4.1)",
        "you have seen (9 checked facts):",
        "git paw start --unattended --merge",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    assert_eq!(sockets(&sandbox), Vec::<String>::new());
    assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn kept_it_stays_for_whoever_wants_to_look_at_it() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["demo", "--keep"]);
    assert_eq!(ran.code, 0, "{ran}");
    let kept = sockets(&sandbox);
    let [socket] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(ran.stdout.contains(&format!("attach: tmux -L {socket} attach")), "{ran}");
    let titles = sandbox.tmux(["-L", socket, "list-panes", "-a", "-F", "#{pane_title}"]).stdout;
    assert!(titles.contains("feat/greeting → paw-demo") && titles.contains("dashboard"), "{titles}");
}

#[test]
fn without_tmux_the_error_says_how_to_install_it() {
    let sandbox = Sandbox::new();
    sandbox.uninstall_tool("tmux");
    let ran = paw(&sandbox, &sandbox.root(), &["demo"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("brew install tmux") && ran.stderr.contains("apt install tmux"),
        "{ran}"
    );
}

#[test]
fn a_tmux_that_is_too_old_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.install_program("tmux", "#!/bin/sh\necho tmux 3.1c\n");
    let ran = paw(&sandbox, &sandbox.root(), &["demo"]);
    assert!(ran.code == 1 && ran.stderr.contains("tmux 3.1 is too old: git-paw needs 3.2 or newer"), "{ran}");
}

#[test]
fn on_a_terminal_it_ends_attached_and_cleans_up_after_detaching() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::run(&sandbox, &sandbox.root(), PROGRAM, &["demo"]);
    terminal.wait_for("docs/guide");
    terminal.wait_for("done:");
    terminal.send("\x02d");
    terminal.wait_for("never");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(sockets(&sandbox), Vec::<String>::new());
}

#[test]
fn on_several_machines_it_tells_what_happened_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for tool in ["ssh", "ssh-keygen", "nats-server"] {
        let found = std::env::split_paths(&path).map(|dir| dir.join(tool)).find(|file| file.is_file());
        let Some(found) = found.filter(|_| std::path::Path::new("/usr/sbin/sshd").exists()) else {
            let without = paw(&sandbox, &sandbox.root(), &["demo", "--hosts"]);
            assert!(without.code == 1 && without.stderr.contains("is not installed"), "{without}");
            return;
        };
        std::os::unix::fs::symlink(found, sandbox.root().join("tools").join(tool)).unwrap();
    }
    let ran = paw(&sandbox, &sandbox.root(), &["demo", "--hosts"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    for line in [
        "three machines on this computer, on ",
        "unreachable since 20",
        "the question arrives here, once",
        "feat/big was fetched, tested here and merged",
        "you have seen (6 checked facts):",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    assert_eq!(sockets(&sandbox), Vec::<String>::new());
    assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}
