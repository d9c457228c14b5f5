//! The questions of a start, asked on a real terminal.

use paw_testkit::{Sandbox, Terminal, TestRepo, wait_until};

use crate::paw::{PROGRAM, paw};

/// A repository with two branches besides `main`, a spec of each kind that a picker shows, and two CLIs.
fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    for cli in ["aider", "claude"] {
        sandbox.install_program(cli, "#!/bin/sh\necho hello from $PWD\nexec sleep 1000\n");
    }
    sandbox.write("home/.tmux.conf", "set -g default-command sh\n");
    let repo = sandbox.repo("app");
    repo.git(["branch", "feat/one"]);
    repo.git(["branch", "fix/two"]);
    for name in ["add-auth", "add-logging"] {
        repo.write(&format!("specs/{name}/tasks.md"), "- [ ] Do it\n");
    }
    repo.git(["add", "specs"]);
    repo.git(["commit", "--quiet", "--message", "specs"]);
    (sandbox, repo)
}

fn typed(sandbox: &Sandbox, repo: &TestRepo, args: &[&str]) -> Terminal {
    Terminal::run(sandbox, &repo.root, PROGRAM, args)
}

/// The titles of the session's panes, once it has some.
fn titles(sandbox: &Sandbox) -> Vec<String> {
    wait_until("the session runs", || {
        let listing = sandbox.tmux(["list-panes", "-s", "-t", "=paw-app:", "-F", "#{pane_title}"]);
        (listing.code == 0).then(|| listing.stdout.lines().map(str::to_owned).collect())
    })
}

#[test]
fn a_bare_start_asks_for_branches_mode_and_cli_and_attaches() {
    let (sandbox, repo) = project();
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor"]);
    terminal.wait_for("Branches");
    for keys in ["one", " ", "two", " ", "\r"] {
        terminal.send(keys);
    }
    terminal.wait_for("Different");
    terminal.send("\r");
    terminal.wait_for("Aider");
    terminal.send("claude");
    terminal.send("\r");
    terminal.wait_for("hello");
    assert_eq!(titles(&sandbox), ["feat/one → claude", "fix/two → claude"]);
}

#[test]
fn where_there_is_only_the_checkouts_own_branch_new_ones_are_asked_for() {
    let (sandbox, repo) = project();
    repo.git(["branch", "-D", "feat/one", "fix/two"]);
    std::fs::remove_dir_all(repo.root.join("specs")).unwrap();
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--cli", "claude"]);
    terminal.wait_for("Names of new branches");
    terminal.send("feat/a, feat/b");
    terminal.send("\r");
    assert_eq!(titles(&sandbox), ["feat/a → claude", "feat/b → claude"]);
}

#[test]
fn each_branch_gets_its_own_cli_where_that_is_asked_for() {
    let (sandbox, repo) = project();
    let args = ["start", "--no-supervisor", "--branches", "feat/one,fix/two"];
    let mut terminal = typed(&sandbox, &repo, &args);
    terminal.wait_for("Different");
    terminal.send("\x1b[B");
    terminal.send("\r");
    terminal.wait_for("feat/one");
    terminal.send("\r");
    terminal.wait_for("fix/two");
    terminal.send("claude");
    terminal.send("\r");
    assert_eq!(titles(&sandbox), ["feat/one → aider", "fix/two → claude"]);
}

#[test]
fn ctrl_c_and_an_empty_selection_cancel_and_nothing_was_made() {
    let (sandbox, repo) = project();
    for keys in ["\x03", "\r"] {
        let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--cli", "claude"]);
        terminal.wait_for("Branches");
        terminal.send(keys);
        terminal.wait_for("Cancelled.");
        assert_eq!(terminal.finish(), 2);
    }
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--branches", "feat/one"]);
    terminal.wait_for("Aider");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), 2);
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 1);
    assert_ne!(sandbox.tmux(["list-sessions"]).code, 0);
}

#[test]
fn bare_specs_on_tty_proceeds_to_picker() {
    let (sandbox, repo) = project();
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--specs", "--cli", "claude"]);
    terminal.wait_for("add-logging");
    assert!(!terminal.shown().contains("no terminal"));
    terminal.send("logging");
    terminal.send(" ");
    terminal.send("\r");
    assert_eq!(titles(&sandbox), ["spec/add-logging → claude"]);
}

#[test]
fn a_bare_start_offers_pending_specs_next_to_the_branches() {
    let (sandbox, repo) = project();
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--cli", "claude"]);
    terminal.wait_for("+ specs (2 pending in specs)");
    terminal.send("pending");
    terminal.send(" ");
    terminal.send("\r");
    terminal.wait_for("add-logging");
    terminal.send("auth");
    terminal.send(" ");
    terminal.send("\r");
    assert_eq!(titles(&sandbox), ["spec/add-auth → claude"]);
}

#[test]
fn bare_specs_in_non_tty_environment_exits_with_guidance() {
    let (sandbox, repo) = project();
    let ran = paw(&sandbox, &repo.root, &["start", "--no-supervisor", "--specs", "--cli", "claude"]);
    assert_ne!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr.contains("--specs NAME[,NAME...]") && ran.stderr.contains("--from-all-specs"),
        "{ran}"
    );
    assert!(!ran.stderr.contains('\x1b'), "nothing is drawn: {ran}");
}

#[test]
fn the_supervisor_is_asked_for_only_on_a_terminal() {
    let (sandbox, repo) = project();
    let mut terminal = typed(&sandbox, &repo, &["start", "--branches", "feat/one"]);
    terminal.wait_for("supervisor");
    terminal.wait_for("y/N");
    terminal.send("\r");
    terminal.wait_for("AI CLI");
    terminal.send("\r");
    assert_eq!(titles(&sandbox), ["feat/one → aider"]);
}

#[test]
fn branches_that_speak_to_the_terminal_are_spelled_out() {
    let (sandbox, repo) = project();
    repo.git(["branch", "feat/\u{9b}31mred"]);
    let mut terminal = typed(&sandbox, &repo, &["start", "--no-supervisor", "--cli", "claude"]);
    terminal.wait_for("two");
    let shown = terminal.shown();
    assert!(shown.contains(r"feat/\u{9b}31mred") && !shown.contains('\u{9b}'), "{shown:?}");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), 2);
}
