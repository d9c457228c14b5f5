//! `git paw remove-cli`

use std::fs;

use paw_testkit::Sandbox;

use crate::paw::paw;

#[test]
fn remove_existing_cli() {
    let sandbox = Sandbox::new();
    let keep = "# kept\n[clis.keep-me]\ncommand = \"/bin/a\" # why\n";
    sandbox.write(
        "home/.config/git-paw/config.toml",
        &format!("{keep}\n[clis.remove-me]\ncommand = \"/bin/b\"\n"),
    );
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["remove-cli", "remove-me"]), @"
    exit 0
    --- stdout
    removed 'remove-me' from [SANDBOX]/home/.config/git-paw/config.toml
    ");
    let after = fs::read_to_string(sandbox.user_config()).unwrap();
    assert!(after.starts_with(keep) && !after.contains("remove-me"), "{after:?}");
}

#[test]
fn remove_cli_from_empty_or_missing_config_returns_error() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["remove-cli", "nobody"]), @"
    exit 1
    --- stderr
    error: CLI 'nobody' not found in config
    hint: run `git paw list-clis` to list the known CLIs
    ");
    sandbox.write("home/.config/git-paw/config.toml", "");
    assert_eq!(paw(&sandbox, &sandbox.root(), &["remove-cli", "nobody"]).code, 1);
}

#[test]
fn a_detected_cli_cannot_be_removed_and_the_error_says_why() {
    let sandbox = Sandbox::new();
    sandbox.install_program("claude", "#!/bin/sh\n");
    insta::assert_snapshot!(paw(&sandbox, &sandbox.root(), &["remove-cli", "claude"]), @"
    exit 1
    --- stderr
    error: 'claude' is not a custom CLI: it was found on PATH ([SANDBOX]/bin/claude)
    ");
}
