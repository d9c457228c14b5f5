//! Every question on a pseudo-terminal. The program on it is this test program, started with `GIT_PAW_TEST_ASK`.

use paw_core::BranchName;
use paw_session::specs::{SpecEntry, SpecFormat};
use paw_testkit::{Sandbox, Terminal, wait_until};

use super::*;
use crate::prompt::select::tests::cli;

const ASK: &str = "GIT_PAW_TEST_ASK";

/// Not a test: the program on the terminal. The answer goes to stderr, and the exit code is the command's.
#[test]
#[expect(clippy::disallowed_methods, reason = "the exit code is a part of the answer")]
fn ask() {
    let Ok(what) = std::env::var(ASK) else { return };
    let prompter = TerminalPrompter;
    let branches: Vec<_> = ["feat/auth", "feat/\u{9b}31mapi", "fix/login", "main"]
        .map(|name| BranchName::new(name).unwrap())
        .into();
    let clis = [cli("aider", "Aider"), cli("claude", "Claude"), cli("my-cli", "\u{1b}]0;owned\u{7}Mine")];
    let answer = match what.as_str() {
        "mode" => prompter.select_mode().map(|mode| mode.to_string()),
        "branches" => prompter.select_branches(&branches).map(|names| format!("{names:?}")),
        "names" => prompter.select_branches(&[]).map(|names| format!("{names:?}")),
        "cli" => prompter.select_cli(&clis, None),
        "default" => prompter.select_cli(&clis, Some("claude")),
        "branch" => prompter.select_cli_for_branch(&branches[0], &clis, None),
        "specs" => prompter.select_specs(&specs()).map(|specs| format!("{} specs", specs.len())),
        "supervisor" => prompter.select_supervisor().map(|yes| yes.to_string()),
        other => panic!("unknown question {other}"),
    };
    let (text, code) = match answer {
        Ok(answer) => (format!("answer={answer}="), 0),
        Err(error) => (format!("error={error}="), error.exit_code()),
    };
    std::io::Write::write_all(&mut io::stderr(), text.as_bytes()).unwrap();
    std::process::exit(code.into());
}

/// A change, and a feature with two parts.
fn specs() -> Vec<SpecEntry> {
    let spec = |id: &str, unit: &str, kind| SpecEntry {
        id: id.to_owned(),
        unit: unit.to_owned(),
        branch: BranchName::new(format!("spec/{id}")).unwrap(),
        cli: None,
        prompt: String::new(),
        owned_files: Vec::new(),
        path: unit.into(),
        kind,
    };
    let (change, part) = (SpecFormat::Openspec, SpecFormat::Speckit);
    vec![
        spec("add-auth", "add-auth", change),
        spec("003-list-T009", "003-list", part),
        spec("003-list-T010", "003-list", part),
    ]
}

fn test_program() -> (String, [&'static str; 3]) {
    let program = std::env::current_exe().unwrap().display().to_string();
    (program, ["--exact", "--nocapture", "prompt::terminal::tests::ask"])
}

fn asking(what: &str) -> (Sandbox, Terminal) {
    let mut sandbox = Sandbox::new();
    sandbox.set(ASK, what);
    let (program, args) = test_program();
    let terminal = Terminal::run(&sandbox, &sandbox.root(), &program, &args);
    (sandbox, terminal)
}

/// Types the keys once the word is shown. Returns the screen and the exit code.
fn answered(what: &str, word: &str, keys: &[&str]) -> (String, u32) {
    let (_sandbox, mut terminal) = asking(what);
    terminal.wait_for(word);
    for key in keys {
        terminal.send(key);
    }
    let shown = wait_until("an answer", || {
        Some(terminal.shown()).filter(|shown| {
            ["answer=", "error="].iter().any(|said| shown.contains(said)) && shown.ends_with('=')
        })
    });
    (shown, terminal.finish())
}

#[test]
fn the_mode_picker_starts_with_one_cli_for_all() {
    let (shown, code) = answered("mode", "Different", &["\r"]);
    assert!(shown.contains("answer=Same CLI for all branches=") && code == 0, "{shown}");
    let (shown, _) = answered("mode", "Different", &["\x1b[B", "\r"]);
    assert!(shown.contains("answer=Different CLI per branch="), "{shown}");
}

#[test]
fn branches_are_toggled_and_filtered_by_typing() {
    let (shown, code) = answered("branches", "login", &["auth", " ", "log", " ", "\r"]);
    assert!(shown.contains(r#"answer=[BranchName("feat/auth"), BranchName("fix/login")]="#), "{shown}");
    assert_eq!(code, 0);
}

#[test]
fn new_branches_are_typed_and_a_bad_name_is_asked_for_again() {
    let (shown, code) = answered("names", "Names", &["feat/a b..c", "\r", "\x7f\x7f\x7f\x7f", "fix/d", "\r"]);
    assert!(shown.contains(r#"answer=[BranchName("feat/a"), BranchName("fix/d")]="#) && code == 0, "{shown}");
}

#[test]
fn control_u_and_control_w_edit_a_line_and_a_filter() {
    let keys = ["feat/a wrong", "\x17", "feat/b", "\x15", "fix/c typo", "\x17", "\r"];
    let (shown, code) = answered("names", "Names", &keys);
    assert!(shown.contains(r#"answer=[BranchName("fix/c")]="#) && code == 0, "{shown}");
    let (shown, _) = answered("cli", "my-cli", &["aider", "\x15", "clau", "\r"]);
    assert!(shown.contains("answer=claude="), "{shown}");
}

#[test]
fn enter_without_a_branch_and_ctrl_c_cancel() {
    for keys in [&["\r"][..], &["\x03"], &[" ", "\x03"]] {
        let (shown, code) = answered("branches", "login", keys);
        assert!(shown.contains("error=Cancelled.=") && code == 2, "{shown}");
    }
}

#[test]
fn ctrl_c_cancels_every_question() {
    for (what, word) in
        [("mode", "Different"), ("cli", "claude"), ("branch", "claude"), ("supervisor", "y/N")]
    {
        let (shown, code) = answered(what, word, &["\x03"]);
        assert!(shown.contains("error=Cancelled.=") && code == 2, "{what}: {shown}");
    }
}

#[test]
fn picker_with_default_pre_selected_and_without() {
    for (what, chosen) in [("default", "claude"), ("cli", "aider")] {
        let (shown, _) = answered(what, "my-cli", &["\r"]);
        assert!(shown.contains(&format!("answer={chosen}=")), "{shown}");
    }
}

#[test]
fn the_cli_picker_of_a_branch_shows_its_name_and_filters_while_typing() {
    let (shown, _) = answered("branch", "my-cli", &["clau", "\r"]);
    assert!(shown.contains("feat/auth") && shown.contains("answer=claude="), "{shown}");
}

#[test]
fn the_spec_picker_shows_one_row_per_feature_and_takes_all_of_it() {
    let (shown, code) = answered("specs", "add-auth", &["003", " ", "\r"]);
    assert!(shown.contains("worktrees:") && shown.contains("answer=2 specs="), "{shown}");
    assert_eq!(code, 0);
    for keys in [&["\r"][..], &["\x03"]] {
        let (shown, code) = answered("specs", "add-auth", keys);
        assert!(shown.contains("error=Cancelled.=") && code == 2, "{shown}");
    }
}

#[test]
fn the_supervisor_question_defaults_to_no() {
    for (keys, answer) in [(&["\r"][..], "false"), (&["y", "\r"], "true"), (&["n", "\r"], "false")] {
        let (shown, _) = answered("supervisor", "y/N", keys);
        assert!(shown.contains(&format!("answer={answer}=")), "{shown}");
    }
}

#[test]
fn prompts_escape_hostile_names() {
    let (shown, _) = answered("branches", "login", &["\x03"]);
    assert!(shown.contains(r"feat/\u{9b}31mapi") && !shown.contains('\u{9b}'), "{shown:?}");
    let (shown, _) = answered("cli", "my-cli", &["\x03"]);
    assert!(!shown.contains("\x1b]0;"), "{shown:?}");
}

#[test]
fn prompts_without_a_terminal_fail_with_a_hint() {
    let (program, args) = test_program();
    for (what, hint) in [
        ("branches", "--branches"),
        ("names", "--branches"),
        ("mode", "--cli"),
        ("cli", "--cli"),
        ("specs", "--from-all-specs"),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.set(ASK, what);
        let ran = sandbox.run(&sandbox.root(), &program, args);
        assert!(ran.code == 1 && ran.stderr.contains(hint), "{ran}");
        assert!(!ran.stderr.contains('\x1b') && ran.stderr.contains("not a terminal"), "{ran}");
    }
    let mut sandbox = Sandbox::new();
    sandbox.set(ASK, "supervisor");
    let ran = sandbox.run(&sandbox.root(), &program, args);
    assert!(ran.code == 0 && ran.stderr.contains("answer=false="), "{ran}");
}
