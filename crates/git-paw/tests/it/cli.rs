//! Arguments, help and version.

use paw_testkit::Sandbox;

use crate::paw::{document, paw};

fn run(args: &[&str]) -> paw_testkit::RunOutput {
    let sandbox = Sandbox::new();
    paw(&sandbox, &sandbox.root(), args)
}

#[test]
fn version_output() {
    let ran = run(&["--version"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, concat!("git-paw ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn help_contains_all_subcommands_and_quick_start() {
    let ran = run(&["--help"]);
    assert_eq!(ran.code, 0);
    for word in [
        "start",
        "init",
        "list-clis",
        "add-cli",
        "remove-cli",
        "doctor",
        "completions",
        "demo",
        "Quick start",
    ] {
        assert!(ran.stdout.contains(word), "{word} is missing:\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("__"), "hidden commands show:\n{}", ran.stdout);
}

#[test]
fn the_help_of_every_command_ends_with_examples() {
    for command in [
        "init",
        "list-clis",
        "add-cli",
        "remove-cli",
        "worktree",
        "worktree create",
        "worktree list",
        "worktree switch",
        "worktree remove",
        "worktree prune",
        "worktree adopt",
        "undo",
        "undo show",
        "undo restore",
        "trust",
        "daemon",
        "daemon run",
        "daemon status",
        "daemon stop",
        "say",
        "say status",
        "say artifact",
        "say blocked",
        "say question",
        "say intent",
        "say verified",
        "say feedback",
        "say answer",
        "inbox",
        "serve",
        "dashboard",
        "doctor",
        "completions",
        "shell-init",
        "demo",
    ] {
        let args: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let help = run(&args).stdout;
        let examples = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{command}:\n{help}")).1;
        assert!(examples.contains(&format!("git paw {command}")), "{help}");
    }
}

#[test]
fn unknown_subcommand_fails() {
    let ran = run(&["strat"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error") && ran.stderr.contains("'start'"), "{ran}");
}

#[test]
fn add_cli_requires_arguments() {
    let ran = run(&["add-cli"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("required"), "{ran}");
}

#[test]
fn remove_cli_requires_argument() {
    let ran = run(&["remove-cli"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("required"), "{ran}");
}

#[test]
fn with_json_even_a_mistake_in_the_arguments_is_one_document() {
    let ran = run(&["list-clis", "--json", "--nonsense"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""));
    assert_eq!(document(&ran)["error"]["code"], "INVALID_ARGUMENT");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    let script = format!("{} completions bash | true", crate::paw::PROGRAM);
    let ran = sandbox.run(&sandbox.root(), "bash", ["-o", "pipefail", "-c", &script]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn standard_output_on_a_full_disk_is_an_error() {
    let sandbox = Sandbox::new();
    let script = format!("{} completions bash > /dev/full", crate::paw::PROGRAM);
    let ran = sandbox.run(&sandbox.root(), "bash", ["-c", &script]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: cannot write to standard output"), "{ran}");
}

#[test]
fn verbose_shows_every_program_that_is_run() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["-v", "list-clis"]);
    assert!(ran.stderr.contains("git rev-parse"), "{ran}");
    assert_eq!(paw(&sandbox, &sandbox.root(), &["list-clis"]).stderr, "");
}

#[test]
fn the_log_variable_does_the_same() {
    let mut sandbox = Sandbox::new();
    sandbox.set("GIT_PAW_LOG", "debug");
    assert!(paw(&sandbox, &sandbox.root(), &["list-clis"]).stderr.contains("git rev-parse"));
}
