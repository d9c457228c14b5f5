//! `git paw replay`

use paw_testkit::{RunOutput, Sandbox, Terminal, TestRepo};
use serde_json::json;

use crate::paw::{PROGRAM, document, paw};

const LOG: &str = "\x1b]0;owned\x07\x1b[32mgreen\x1b[0m \x1b[1Cgap\r\n10%\r20%\x1b[K\r\n";

fn project() -> (Sandbox, TestRepo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git-paw/logs/paw-app/feat--add-auth.log", LOG);
    (sandbox, repo)
}

fn replay(args: &[&str]) -> RunOutput {
    let (sandbox, repo) = project();
    paw(&sandbox, &repo.root, &[&["replay"], args].concat())
}

#[test]
fn replay_with_branch_prints_the_log_without_escape_sequences() {
    for wanted in ["feat/add-auth", "feat--add-auth", "feat--add-auth.log"] {
        let ran = replay(&[wanted]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "green  gap\n20%\n"), "{ran}");
    }
}

#[test]
fn replay_with_color_keeps_colors_and_nothing_else() {
    let ran = replay(&["feat/add-auth", "--color"]);
    assert_eq!(ran.stdout, "\x1b[0m\x1b[32mgreen\x1b[0m  gap\n20%\n");
}

#[test]
fn replay_list_shows_all_logs() {
    let ran = replay(&["--list"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("SESSION"), "{ran}");
    let row: Vec<_> = ran.stdout.lines().nth(1).unwrap().split_whitespace().take(4).collect();
    assert_eq!(row, ["paw-app", "feat/add-auth", "1", "KiB"]);
    let logs = document(&replay(&["--list", "--json"]));
    assert_eq!(
        (&logs["logs"][0]["branch"], &logs["logs"][0]["session"]),
        (&json!("feat/add-auth"), &json!("paw-app"))
    );
}

#[test]
fn replay_with_session_reads_the_log_of_that_session() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/logs/paw-other/feat--add-auth.log", "other\n");
    let ran = paw(&sandbox, &repo.root, &["replay", "feat/add-auth", "--session", "paw-other"]);
    assert_eq!(ran.stdout, "other\n", "{ran}");
    let ran = paw(&sandbox, &repo.root, &["replay", "feat/add-auth", "--session", "nope"]);
    assert!(ran.code == 1 && ran.stderr.contains("paw-other"), "{ran}");
}

#[test]
fn replay_with_no_arguments_and_no_list_is_refused() {
    let ran = replay(&[]);
    assert!(ran.code == 2 && ran.stderr.contains("BRANCH") && ran.stderr.contains("--list"), "{ran}");
}

#[test]
fn replay_help_lists_options_and_examples() {
    let help = replay(&["--help"]).stdout;
    for words in ["--list", "--color", "--session", "Examples:", "git paw replay feat/add-auth --color"] {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn replay_of_a_missing_log_names_the_existing_logs() {
    let ran = replay(&["feat/nope"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("no log of 'feat/nope'") && ran.stderr.contains("feat/add-auth"),
        "{ran}"
    );
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let ran = paw(&sandbox, &repo.root, &["replay", "x"]);
    assert!(ran.code == 1 && ran.stderr.contains("[logging] enabled"), "{ran}");
    assert_eq!(paw(&sandbox, &repo.root, &["replay", "--list"]).stdout, "No logs.\n");
}

#[test]
fn replay_reads_the_configured_log_directory() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/config.toml", "[logging]\nlog_dir = \"elsewhere\"\n");
    repo.write("elsewhere/paw-app/main.log", "there\n");
    assert_eq!(paw(&sandbox, &repo.root, &["replay", "main"]).stdout, "there\n");
}

#[test]
fn replay_uses_less_on_a_terminal() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/logs/paw-app/long.log", &"a line\r\n".repeat(500));
    for args in [&["replay", "long"][..], &["replay", "long", "--color"]] {
        let mut terminal = Terminal::run(&sandbox, &repo.root, PROGRAM, args);
        terminal.wait_for("line");
        terminal.send("G");
        terminal.wait_for("END");
        terminal.send("q");
        assert_eq!(terminal.finish(), 0);
    }
}

#[test]
fn replay_prints_without_less() {
    let (sandbox, repo) = project();
    sandbox.uninstall_tool("less");
    let terminal = Terminal::run(&sandbox, &repo.root, PROGRAM, &["replay", "feat/add-auth"]);
    terminal.wait_for("20%");
    assert!(!terminal.shown().contains("owned"));
    assert_eq!(terminal.finish(), 0);
}

#[test]
fn replay_succeeds_if_the_reader_closes_the_pipe() {
    let (sandbox, repo) = project();
    repo.write(".git-paw/logs/paw-app/long.log", &"a line\r\n".repeat(50_000));
    let script = format!("{PROGRAM} replay long | head -n 1; echo ${{PIPESTATUS[0]}}");
    let ran = sandbox.run(&repo.root, "bash", ["-c", &script]);
    assert_eq!(ran.stdout, "a line\n0\n", "{ran}");
}
