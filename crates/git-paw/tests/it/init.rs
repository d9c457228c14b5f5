//! `git paw init`

use std::fs;
use std::os::unix::fs::symlink;

use paw_testkit::{Sandbox, Terminal, TestRepo};

use crate::paw::{PROGRAM, document, paw};

fn config(repo: &TestRepo) -> String {
    fs::read_to_string(repo.root.join(".git-paw/config.toml")).unwrap()
}

#[test]
fn first_init_writes_a_complete_commented_default_config() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["init"]), @"
    exit 0
    --- stdout
    created .git-paw/config.toml (all keys, commented out, with their defaults)
    created .git-paw/.gitignore (only config.toml and scripts/ are tracked)
    next: git paw doctor
    ");
    let text = config(&repo);
    assert_eq!(toml::from_str::<toml::Table>(&text).unwrap(), toml::Table::new());
    for section in ["specs", "logging", "broker", "dashboard", "supervisor", "governance", "worktree"] {
        assert!(text.contains(&format!("# [{section}]")), "{section}\n{text}");
    }
}

#[test]
fn second_init_on_the_just_written_file_is_a_no_op() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    paw(&sandbox, &repo.root, &["init"]);
    let first = config(&repo);
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["init"]), @"
    exit 0
    --- stdout
    config.toml already has all default keys; no changes
    ");
    assert_eq!(config(&repo), first);
}

#[test]
fn init_preserves_a_user_authored_supervisor_block() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let before = "[supervisor]\nenabled = true\ncli = \"claude-oss\"\n";
    repo.write(".git-paw/config.toml", before);
    assert_eq!(paw(&sandbox, &repo.root, &["init"]).code, 0);
    let after = config(&repo);
    assert!(after.contains(before), "{after}");
    assert_eq!(after.matches("[supervisor]").count(), 1, "{after}");
    assert!(toml::from_str::<toml::Table>(&after).is_ok());
}

#[test]
fn init_appends_missing_top_level_sections() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/config.toml", "branch_prefix = \"feat/\"\n");
    paw(&sandbox, &repo.root, &["init"]);
    let after = config(&repo);
    assert!(after.contains("branch_prefix = \"feat/\"\n"));
    for section in ["[broker]", "[dashboard]", "[supervisor]"] {
        assert!(after.contains(&format!("# {section}")), "{section}\n{after}");
    }
    assert_eq!(toml::from_str::<toml::Table>(&after).unwrap().len(), 1);
}

#[test]
fn init_never_modifies_existing_user_values() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/config.toml", "[broker]\nport = 9200\n");
    paw(&sandbox, &repo.root, &["init"]);
    let after = config(&repo);
    assert!(after.contains("port = 9200") && !after.contains("port = 9119"), "{after}");
}

#[test]
fn init_detects_spec_kit() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".specify/specs/001-x/tasks.md", "");
    let ran = paw(&sandbox, &repo.root, &["init"]);
    assert!(ran.stdout.contains("found .specify: specs are read from .specify/specs"), "{ran}");
    let table: toml::Table = toml::from_str(&config(&repo)).unwrap();
    assert_eq!(table["specs"]["type"].as_str(), Some("speckit"));
}

#[test]
fn init_finds_spec_kit_features_at_the_top_of_the_repository() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".specify/memory/constitution.md", "x\n");
    repo.write("specs/001-x/tasks.md", "- [ ] T001 do it\n");
    let ran = paw(&sandbox, &repo.root, &["init"]);
    assert!(ran.stdout.contains("found .specify: specs are read from specs\n"), "{ran}");
    let table: toml::Table = toml::from_str(&config(&repo)).unwrap();
    assert_eq!(table["specs"]["dir"].as_str(), Some("specs"));
}

#[test]
fn first_init_on_a_terminal_asks_for_cli_test_command_and_messages() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write("Cargo.toml", "[package]\n");
    for cli in ["claude", "codex"] {
        sandbox.install_program(cli, "#!/bin/sh\n");
    }
    let mut terminal = Terminal::run(&sandbox, &repo.root, PROGRAM, &["init"]);
    terminal.wait_for("AI CLI");
    terminal.send("codex\r");
    terminal.wait_for("Test command that branches must pass before a merge");
    terminal.wait_for("cargo test");
    terminal.send(" --all\r");
    terminal.wait_for("Let agents send messages");
    terminal.send("\r");
    terminal.wait_for("next: git paw doctor");
    assert_eq!(terminal.finish(), 0);
    let table: toml::Table = toml::from_str(&config(&repo)).unwrap();
    assert_eq!(table["default_cli"].as_str(), Some("codex"));
    assert_eq!(table["supervisor"]["test_command"].as_str(), Some("cargo test --all"));
    assert_eq!(table["broker"]["enabled"].as_bool(), Some(true));
    let trusted = document(&paw(&sandbox, &repo.root, &["trust", "--json"]));
    assert!(
        !trusted.to_string().contains("\"approved\":false"),
        "a gate the user typed is trusted: {trusted}"
    );
    let again = Terminal::run(&sandbox, &repo.root, PROGRAM, &["init"]);
    again.wait_for("no changes");
    assert_eq!(again.finish(), 0, "only the first one asks");
}

#[test]
fn init_yes_takes_what_was_detected() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write("package.json", r#"{"scripts": {"test": "vitest run"}}"#);
    sandbox.install_program("claude", "#!/bin/sh\n");
    insta::assert_snapshot!(paw(&sandbox, &repo.root, &["init", "--yes"]), @"
    exit 0
    --- stdout
    created .git-paw/config.toml (your answers are set; all other keys are commented out)
      AI CLI: claude
      test command: npm test
      messages between agents: on
    created .git-paw/.gitignore (only config.toml and scripts/ are tracked)
    next: git paw doctor
    ");
    let empty = sandbox.repo("empty");
    sandbox.install_program("claude", "#!/bin/sh\n");
    let ran = paw(&sandbox, &empty.root, &["init", "--yes"]);
    assert!(ran.stdout.contains("test command: none"), "{ran}");
}

#[test]
fn init_in_a_linked_worktree_prepares_the_main_checkout() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let linked = sandbox.root().join("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
    paw(&sandbox, &linked, &["init"]);
    assert!(repo.root.join(".git-paw/config.toml").exists() && !linked.join(".git-paw").exists());
}

#[test]
fn init_gitignore_tracks_only_config_and_scripts() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    paw(&sandbox, &repo.root, &["init"]);
    for file in
        ["broker.log", "logs/x/y.log", "worktrees/a/file", "session-learnings.md", "scripts/deep/sweep.sh"]
    {
        repo.write(&format!(".git-paw/{file}"), "x");
    }
    repo.git(["add", "--all"]);
    assert_eq!(
        repo.git(["diff", "--cached", "--name-only"]).lines().collect::<Vec<_>>(),
        [
            ".git-paw/.gitignore",
            ".git-paw/config.toml",
            ".git-paw/scripts/deep/sweep.sh",
            ".git-paw/scripts/sweep.sh"
        ]
    );
}

#[test]
fn init_refuses_a_bare_repository_and_a_directory_outside_one() {
    let sandbox = Sandbox::new();
    let ran = paw(&sandbox, &sandbox.root(), &["init"]);
    assert!(ran.code == 1 && ran.stderr.contains("Not a git repository"), "{ran}");
    let bare = sandbox.root().join("bare.git");
    sandbox.repo("app").git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let ran = paw(&sandbox, &bare, &["init"]);
    assert!(ran.code == 1 && ran.stderr.contains("is a bare repository"), "{ran}");
    assert!(!bare.join(".git-paw").exists());
}

#[test]
fn malformed_config_is_reported_with_its_line_and_left_unchanged() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let broken = "mouse = true\n[broker\nport = 1\n";
    repo.write(".git-paw/config.toml", broken);
    for command in ["init", "list-clis"] {
        let ran = paw(&sandbox, &repo.root, &[command]);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.contains(".git-paw/config.toml:2:") && ran.stderr.contains("[broker"), "{ran}");
    }
    assert_eq!(config(&repo), broken);
    let ran = paw(&sandbox, &repo.root, &["list-clis", "--json"]);
    assert!(ran.code == 1 && document(&ran)["error"]["message"].as_str().unwrap().contains(":2:"), "{ran}");
}

#[test]
fn init_does_not_write_through_links_of_the_repository() {
    for linked in
        [".git-paw", ".git-paw/config.toml", ".git-paw/.gitignore", ".git-paw/scripts", ".git-paw/logs"]
    {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        let own = sandbox.write("home/.config/git-paw/config.toml", "mouse = false\n");
        let link = repo.root.join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let target =
            if linked.contains('.') && linked != ".git-paw" { own.as_path() } else { own.parent().unwrap() };
        symlink(target, &link).unwrap();
        let before: Vec<_> =
            fs::read_dir(own.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let ran = paw(&sandbox, &repo.root, &["init"]);
        assert!(
            ran.code == 1 && ran.stderr.contains(&format!("{linked}: it is a symbolic link")),
            "{linked}\n{ran}"
        );
        assert_eq!(fs::read_to_string(&own).unwrap(), "mouse = false\n", "{linked}");
        let after: Vec<_> =
            fs::read_dir(own.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(after, before, "{linked}");
    }
}
