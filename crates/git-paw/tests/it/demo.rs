//! `git paw demo`

use std::fs;

use paw_testkit::{Sandbox, Terminal};

use crate::paw::{PROGRAM, paw};

#[test]
fn without_a_terminal_it_tells_what_happened_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    for line in [
        "made a worktree for feat/greeting: ../demo-feat-greeting",
        "opened the session paw-demo with 3 panes",
        "src/leave.sh | 2 ++",
        "three agents worked at once",
        "two more agents changed the same line, and were warned before they committed",
        "feat-rename: [conflict-detector]",
        "and got it back (git paw undo): idea.txt says \"half a thought\"",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{ran}");
    }
    assert_eq!(sandbox.tmux(["has-session", "-t", "=paw-demo:"]).code, 1);
    assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn kept_it_stays_and_a_second_one_takes_another_name() {
    let sandbox = Sandbox::new();
    assert_eq!(paw(&sandbox, &sandbox.root(), &["demo", "--keep"]).code, 0);
    assert_eq!(sandbox.tmux(["has-session", "-t", "=paw-demo:"]).code, 0);
    let second = paw(&sandbox, &sandbox.root(), &["demo"]);
    assert!(second.stdout.contains("opened the session paw-demo-2"), "{second}");
    let titles = sandbox.tmux(["list-panes", "-t", "=paw-demo:", "-F", "#{pane_title}"]).stdout;
    assert!(titles.contains("feat/greeting → demo agent"), "{titles}");
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
    terminal.wait_for("three agents worked at once");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(sandbox.tmux(["has-session", "-t", "=paw-demo:"]).code, 1);
}
