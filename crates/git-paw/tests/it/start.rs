//! `git paw start`, as far as it goes.

use paw_testkit::Sandbox;

use crate::paw::paw;

#[test]
fn no_args_produces_same_error_as_start() {
    let sandbox = Sandbox::new();
    let bare = paw(&sandbox, &sandbox.root(), &[]);
    assert_eq!(bare, paw(&sandbox, &sandbox.root(), &["start"]));
    assert_eq!(bare.code, 1);
    assert!(bare.stderr.starts_with("error: Not a git repository"), "{bare}");
}

#[test]
fn start_from_non_git_directory() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["start"]);
    insta::assert_snapshot!(ran, @"
    exit 1
    --- stderr
    error: Not a git repository: git-paw works inside one (cd into a project, or run `git init` first)
    ");
}

#[test]
fn start_says_that_it_is_not_there_yet() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["start"]), @"
    exit 1
    --- stderr
    error: Session error: this version cannot start sessions yet
    hint: `git paw demo` shows worktrees and panes at work
    ");
}

#[test]
fn without_git_the_error_says_how_to_install_it() {
    let sandbox = Sandbox::new();
    sandbox.uninstall_tool("git");
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["start"]), @"
    exit 1
    --- stderr
    error: git is not installed or not on PATH
    hint: brew install git   (macOS)
    hint: sudo apt install git   (Debian, Ubuntu)
    ");
}
