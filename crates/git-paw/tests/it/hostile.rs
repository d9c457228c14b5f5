//! What a broken machine or a hostile file does to us: a clear error, never a panic, nothing lost.

use std::fs;
use std::os::unix::fs::symlink;

use paw_testkit::{RunOutput, Sandbox};
use serde_json::json;

use crate::paw::{PROGRAM, paw};

#[test]
fn a_home_that_cannot_be_written_is_a_clear_error() {
    let mut sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    let file = sandbox.write("not-a-directory", "");
    sandbox.set("HOME", file.clone());
    let ran = paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "agent"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("[SANDBOX]/not-a-directory/.config"), "{ran}");
    let ran = paw(&sandbox, &sandbox.root(), &["doctor"]);
    assert!(ran.code == 1 && ran.stdout.contains("XDG_DATA_HOME"), "{ran}");
}

#[test]
fn a_disk_that_fills_up_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    let before = format!("# {}\n", "x".repeat(4096));
    sandbox.write("home/.config/git-paw/config.toml", &before);
    // No file may grow beyond 1 KiB; a process that tries gets an error instead of a signal.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {PROGRAM} add-cli mine agent");
    let ran = sandbox.run(&sandbox.root(), "bash", ["-c", &script]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("cannot write [SANDBOX]/home/.config/git-paw/config.toml"), "{ran}");
    assert_eq!(fs::read_to_string(sandbox.user_config()).unwrap(), before);
    let left: Vec<_> = fs::read_dir(sandbox.user_config().parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn unreadable_files_are_named() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    fs::create_dir_all(repo.root.join(".git-paw/config.toml")).unwrap();
    let ran = paw(&sandbox, &repo.root, &["list-clis"]);
    assert!(ran.code == 1 && ran.stderr.contains("cannot read [SANDBOX]/app/.git-paw/config.toml"), "{ran}");
    fs::remove_dir(repo.root.join(".git-paw/config.toml")).unwrap();
    fs::write(repo.root.join(".git-paw/config.toml"), b"mouse = \xff\n").unwrap();
    let ran = paw(&sandbox, &repo.root, &["init"]);
    assert!(ran.code == 1 && ran.stderr.contains("UTF-8"), "{ran}");
    assert_eq!(fs::read(repo.root.join(".git-paw/config.toml")).unwrap(), b"mouse = \xff\n");
}

#[test]
fn a_configuration_that_leads_in_a_circle_is_an_error() {
    let sandbox = Sandbox::new();
    let config = sandbox.user_config();
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    symlink(&config, &config).unwrap();
    let ran = paw(&sandbox, &sandbox.root(), &["list-clis"]);
    assert!(ran.code == 1 && ran.stderr.contains("cannot read"), "{ran}");
}

#[test]
fn path_entries_that_do_not_exist_or_are_files_do_no_harm() {
    let mut sandbox = Sandbox::new();
    let program = sandbox.install_program("claude", "#!/bin/sh\n");
    let root = sandbox.root();
    let path =
        format!("/no/such/dir:{}:::{}/bin:{}/tools", program.display(), root.display(), root.display());
    sandbox.set("PATH", path);
    let ran = paw(&sandbox, &root, &["list-clis"]);
    assert!(ran.code == 0 && ran.stdout.contains("[SANDBOX]/bin/claude"), "{ran}");
}

#[test]
fn a_current_directory_that_is_gone_is_a_clear_error() {
    let sandbox = Sandbox::new();
    let script = format!("mkdir gone && cd gone && rm -r ../gone && exec {PROGRAM} doctor");
    let ran = sandbox.run(&sandbox.root(), "bash", ["-c", &script]);
    assert!(ran.code == 1 && ran.stderr.contains("cannot find the current directory"), "{ran}");
}

#[test]
fn a_config_of_a_newer_version_warns_and_survives_an_edit() {
    let sandbox = Sandbox::new();
    sandbox.install_program("agent", "#!/bin/sh\n");
    let before = "[holodeck]\nsafety = \"off\" # keep\n\n[broker]\nport = 9119\nwarp = 9\n";
    sandbox.write("home/.config/git-paw/config.toml", before);
    let ran = paw(&sandbox, &sandbox.root(), &["list-clis"]);
    assert!(ran.code == 0 && ran.stderr.contains("holodeck") && ran.stderr.contains("broker.warp"), "{ran}");
    assert_eq!(paw(&sandbox, &sandbox.root(), &["add-cli", "mine", "agent"]).code, 0);
    assert!(fs::read_to_string(sandbox.user_config()).unwrap().starts_with(before));
}

/// Sets the clipboard, reverses the text, and moves the cursor.
const EVIL: &str = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{202e}c\u{9b}2Jd";

fn require_harmless(ran: &RunOutput, what: &str) {
    for unsafe_char in ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'] {
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains(unsafe_char), "{what} prints {unsafe_char:?}: {shown:?}");
    }
}

#[test]
fn names_of_strangers_are_printed_without_unsafe_characters() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    sandbox.install_program("agent", "#!/bin/sh\n");
    let quoted = serde_json::to_string(EVIL).unwrap();
    let config = format!(
        "default_cli = {quoted}\n[clis.{quoted}]\ncommand = \"agent\"\ndisplay_name = {quoted}\n\
         [clis.gone]\ncommand = {quoted}\n[{quoted}]\nx = 1\n[presets.{quoted}]\nbranches = [{quoted}]\ncli = {quoted}\n"
    );
    repo.write(".git-paw/config.toml", &config);
    let receipts = sandbox.home().join(".local/share/git-paw/sessions");
    fs::create_dir_all(&receipts).unwrap();
    fs::write(receipts.join(format!("{EVIL}.json")), "{").unwrap();
    fs::write(receipts.join("paw-odd.json"), json!({"session_name": EVIL, "repo_path": EVIL}).to_string())
        .unwrap();
    for args in [
        &["list-clis"][..],
        &["doctor"],
        &["status"],
        &["start", "--dry-run", "--branches", "x"],
        &["start", "--dry-run", "--preset", EVIL],
        &["purge", "--stale"],
        &["trust"],
        &["trust", "--yes"],
        &["trust", "--list"],
        &["worktree", "list"],
        &["approvals"],
        &["remove-cli", EVIL],
        &["say", EVIL],
        &["attach"],
        &["tasks", "list"],
    ] {
        require_harmless(&paw(&sandbox, &repo.root, args), &args.join(" "));
        let json: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        require_harmless(&paw(&sandbox, &repo.root, &json), &json.join(" "));
    }
}
