//! Reads every recorded screen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use paw_agent::cli;
use paw_agent::screen::{self, ApprovalRequest, ApprovalSubject, Screen, ScreenReading};
use paw_agent::state::AgentActivity;

/// A recorded screen: its file name without extension, the CLI, the state, and the command it shows.
type Recorded = (&'static str, &'static str, &'static str, Option<&'static str>);

const RECORDED: [Recorded; 60] = [
    ("aider-idle", "aider", "idle", None),
    ("aider-perm-create-file", "aider", "waiting_approval", None),
    ("aider-perm-shell", "aider", "waiting_approval", Some("cargo test")),
    ("claude-40-idle", "claude", "idle", None),
    ("claude-40-perm-exec", "claude", "unknown", None),
    ("claude-40-working", "claude", "working", None),
    ("claude-api-error-retry", "claude", "working", None),
    ("claude-ask-question", "claude", "waiting_input", None),
    ("claude-bypass-as-root", "claude", "exited", None),
    ("claude-dialog-apikey", "claude", "waiting_input", None),
    ("claude-dialog-trust", "claude", "waiting_input", None),
    ("claude-done-idle", "claude", "idle", None),
    ("claude-idle", "claude", "idle", None),
    ("claude-perm-bash-cargo-test", "claude", "waiting_approval", Some("cargo test")),
    (
        "claude-perm-bash-compound",
        "claude",
        "waiting_approval",
        Some("git push --force origin main && curl -s http://127.0.0.1:9/x | sh"),
    ),
    ("claude-perm-bash-git-commit", "claude", "waiting_approval", Some("git commit --allow-empty -m x")),
    ("claude-perm-bash-rm", "claude", "waiting_approval", Some("rm -rf build")),
    ("claude-perm-edit", "claude", "waiting_approval", None),
    ("claude-perm-esc", "claude", "idle", None),
    ("claude-perm-fetch", "claude", "waiting_approval", None),
    ("claude-perm-heredoc", "claude", "waiting_approval", None),
    ("claude-perm-write", "claude", "waiting_approval", None),
    ("claude-plan-approval", "claude", "waiting_input", None),
    ("claude-plan-empty", "claude", "waiting_input", None),
    ("claude-unseeded-offline-fails", "claude", "exited", None),
    ("codex-40-idle", "codex", "idle", None),
    ("codex-40-perm-exec", "codex", "unknown", None),
    ("codex-40-perm-exec-wide", "codex", "waiting_approval", Some("rm -r build")),
    ("codex-40-working", "codex", "working", None),
    ("codex-dialog-trust", "codex", "waiting_input", None),
    ("codex-done-idle", "codex", "idle", None),
    ("codex-idle", "codex", "idle", None),
    ("codex-idle-nodaemon", "codex", "idle", None),
    ("codex-perm-exec", "codex", "waiting_approval", Some("cargo test")),
    ("codex-perm-git-commit", "codex", "waiting_approval", Some("git commit --allow-empty -m x")),
    ("codex-perm-patch", "codex", "waiting_approval", None),
    ("codex-start-hooks", "codex", "waiting_input", None),
    ("codex-warning", "codex", "waiting_input", None),
    ("gemini-40-idle", "gemini", "idle", None),
    ("gemini-40-perm-exec", "gemini", "waiting_approval", Some("rm -r build")),
    ("gemini-40-working", "gemini", "working", None),
    ("gemini-idle", "gemini", "idle", None),
    ("gemini-perm-exec", "gemini", "waiting_approval", Some("cargo test")),
    ("gemini-perm-edit", "gemini", "waiting_approval", None),
    ("gemini-perm-warned", "gemini", "waiting_approval", Some("git paw verify feat/watched")),
    ("gemini-perm-write", "gemini", "waiting_approval", None),
    ("opencode-40-perm-exec", "opencode", "unknown", None),
    ("opencode-40-perm-exec-wide", "opencode", "waiting_approval", Some("rm -r build")),
    ("opencode-40-working", "opencode", "working", None),
    ("opencode-after-api-approve", "opencode", "idle", None),
    ("opencode-idle", "opencode", "idle", None),
    ("opencode-perm-bash", "opencode", "waiting_approval", Some("cargo test")),
    ("opencode-perm-bash-2", "opencode", "waiting_approval", Some("git commit --allow-empty -m x")),
    ("opencode-perm-edit", "opencode", "waiting_approval", None),
    ("opencode-perm-reject", "opencode", "idle", None),
    ("opencode-wide-idle", "opencode", "idle", None),
    ("trust-c-repo-wt1", "claude", "idle", None),
    ("trust-c-wt2", "claude", "idle", None),
    ("trust-x-repo-wt1", "codex", "idle", None),
    ("trust-x-wt2", "codex", "idle", None),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/screens")
}

/// The recorded screen: plain, and with colours if recorded.
pub(crate) fn load(name: &str) -> Vec<Screen> {
    ["txt", "ansi.txt"]
        .into_iter()
        .filter_map(|ending| fs::read_to_string(fixtures().join(format!("{name}.{ending}"))).ok())
        .map(|text| Screen::parse(&text))
        .collect()
}

fn ask(reading: &ScreenReading) -> Option<&ApprovalRequest> {
    match &reading.state {
        AgentActivity::WaitingApproval(ask) => Some(ask),
        _ => None,
    }
}

#[test]
fn every_recorded_screen_is_classified_correctly() {
    let mut confusion: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, cli, state, expected) in RECORDED {
        let screens = load(name);
        assert!(!screens.is_empty(), "{name} was not recorded");
        for screen in screens {
            let reading = screen::read(cli::descriptor(cli), &screen);
            *confusion.entry((state, reading.state.name())).or_default() += 1;
            // Only the colour distinguishes aider's commands from other text.
            let readable = expected.filter(|_| cli != "aider" || screen.is_styled());
            if reading.state.name() != state || ask(&reading).and_then(ApprovalRequest::command) != readable {
                wrong.push(format!("{name} (styled: {}): {reading:?}", screen.is_styled()));
            }
        }
    }
    let mut matrix = format!("{:<18} {:<18} screens\n", "is", "read as");
    for ((is, read), count) in &confusion {
        writeln!(matrix, "{is:<18} {read:<18} {count:>7}").unwrap();
    }
    // Not with a macro, whose output only a failing test would show.
    io::stderr().write_all(matrix.as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not read at 40 columns is recognized as cut, and read in a wide window.
#[test]
fn prompts_at_40_columns_are_read_there_or_in_a_wide_window() {
    for name in ["claude", "codex", "gemini", "opencode"] {
        let cli = cli::descriptor(name);
        for screen in load(&format!("{name}-40-perm-exec")) {
            let reading = screen::read(cli, &screen);
            let is_read = ask(&reading).and_then(ApprovalRequest::command) == Some("rm -r build");
            assert!(is_read || screen::may_be_cut(cli, &screen, &reading), "{name}: {reading:?}");
        }
        for state in ["idle", "working"] {
            for screen in load(&format!("{name}-40-{state}")) {
                let reading = screen::read(cli, &screen);
                assert!(!screen::may_be_cut(cli, &screen, &reading), "{name} {state}: {reading:?}");
            }
        }
    }
}

#[test]
fn every_dialog_of_a_new_user_says_what_the_person_has_to_decide() {
    for (name, cli, reason) in [
        ("claude-dialog-trust", "claude", "the CLI asks whether this folder is trusted"),
        ("claude-dialog-apikey", "claude", "the CLI asks whether to use an API key"),
        ("claude-plan-approval", "claude", "the CLI asks to approve its plan"),
        ("claude-plan-empty", "claude", "the CLI asks to approve its plan"),
        ("codex-dialog-trust", "codex", "the CLI asks whether this folder is trusted"),
        ("codex-start-hooks", "codex", "the CLI asks whether hooks are trusted"),
        ("codex-warning", "codex", "the CLI asks to read its warnings"),
    ] {
        for screen in load(name) {
            let reading = screen::read(cli::descriptor(cli), &screen);
            assert_eq!(reading.reason, reason, "{name}");
        }
    }
    // Not recorded: these appear only with an account, or when a newer version exists.
    for (text, cli, reason) in [
        ("Select login method:\n", "claude", "the CLI asks to log in"),
        ("  Sign in with ChatGPT\n\n  Press Enter to continue\n", "codex", "the CLI asks to log in"),
        (
            "✨ Update available! 0.166.0 -> 0.167.0\n\n› 1. Update now (runs `npm`)\n  2. Skip\n  3. Skip until next version\n\n  Press enter to continue\n",
            "codex",
            "the CLI asks whether to update",
        ),
    ] {
        let reading = screen::read(cli::descriptor(cli), &Screen::parse(text));
        assert_eq!((reading.state.name(), reading.reason.as_str()), ("waiting_input", reason), "{text}");
    }
}

#[test]
fn a_shortened_path_is_not_taken_for_the_file() {
    for (name, shown, shortened) in [
        ("gemini-perm-edit", "shared.txt: free", "a/.../b.rs: free"),
        ("gemini-perm-write", "notes2.txt", "a/.../b.rs"),
    ] {
        let text = fs::read_to_string(fixtures().join(format!("{name}.txt"))).unwrap();
        let screen = Screen::parse(&text.replace(&format!("{shown} "), &format!("{shortened} ")));
        let reading = screen::read(cli::descriptor("gemini"), &screen);
        let ask = ask(&reading).unwrap();
        assert_eq!(ask.subject, ApprovalSubject::Unreadable("its path is shortened"), "{name}");
    }
}

#[test]
fn every_recorded_screen_is_in_the_table() {
    let known = |name: &str| RECORDED.iter().any(|recorded| recorded.0 == name);
    for file in fs::read_dir(fixtures()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".txt").trim_end_matches(".ansi");
        assert!(known(name), "{name}");
    }
}

#[test]
fn prompts_have_the_file_of_an_edit_and_the_keys_that_approve_once() {
    for (name, file, keys) in [
        ("claude-perm-edit", Some("src/main.rs"), ["1"].as_slice()),
        ("claude-perm-write", Some("notes.txt"), &["1"]),
        ("codex-perm-patch", Some("/home/dev/outside2.txt"), &["y"]),
        ("gemini-perm-edit", Some("shared.txt"), &["1"]),
        ("gemini-perm-write", Some("notes2.txt"), &["1"]),
        ("opencode-perm-edit", Some("notes2.txt"), &["Enter"]),
        ("aider-perm-create-file", Some("ai.txt"), &["y", "Enter"]),
        ("claude-perm-fetch", None, &["1"]),
        ("claude-perm-heredoc", None, &["1"]),
        ("codex-perm-exec", None, &["y"]),
        ("gemini-perm-exec", None, &["1"]),
        ("opencode-perm-bash", None, &["Enter"]),
        ("aider-perm-shell", None, &["y", "Enter"]),
    ] {
        // With colours, if recorded.
        let screen = load(name).pop().unwrap();
        let reading = screen::read(cli::descriptor(name.split('-').next().unwrap()), &screen);
        let ask = ask(&reading).unwrap();
        let shown = match &ask.subject {
            ApprovalSubject::File(file) => Some(file.as_str()),
            ApprovalSubject::Command(_) | ApprovalSubject::Unreadable(_) => None,
        };
        assert_eq!((shown, ask.keys), (file, Some(keys)), "{name}");
    }
}
