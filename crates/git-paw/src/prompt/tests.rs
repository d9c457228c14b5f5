use super::select::tests::{ScriptedAnswer, ScriptedPrompter, cli};
use super::*;
use paw_session::specs::SpecFormat;

/// A spec, or with `part` one part of a Spec Kit feature.
fn spec(unit: &str, part: Option<&str>) -> SpecEntry {
    let id = part.map_or_else(|| unit.to_owned(), |part| format!("{unit}-{part}"));
    SpecEntry {
        branch: BranchName::new(format!("spec/{id}")).unwrap(),
        id,
        unit: unit.to_owned(),
        cli: None,
        prompt: String::new(),
        owned_files: Vec::new(),
        path: unit.into(),
        kind: if part.is_some() { SpecFormat::Speckit } else { SpecFormat::Openspec },
    }
}

/// The ids of the specs behind the chosen rows, and all rows.
fn chosen(entries: &[SpecEntry], rows: Vec<usize>) -> (Vec<String>, Vec<String>) {
    let script = ScriptedPrompter::new([ScriptedAnswer::Many(rows)]);
    let chosen = script.select_specs(entries).unwrap().into_iter().map(|entry| entry.id).collect();
    let asked = script.asked.borrow();
    (chosen, asked[0].rows.clone())
}

fn features() -> [SpecEntry; 4] {
    let part = |unit, part| spec(unit, Some(part));
    [
        part("003-user-list", "T009"),
        part("003-user-list", "T010"),
        part("003-user-list", "phase-2"),
        part("004-error-handling", "phase-1"),
    ]
}

#[test]
fn select_specs_returns_the_chosen_subset() {
    let entries = ["add-auth", "fix-session", "add-logging"].map(|name| spec(name, None));
    assert_eq!(chosen(&entries, vec![2, 0]).0, ["add-auth", "add-logging"]);
}

#[test]
fn select_specs_groups_spec_kit_entries_by_feature() {
    let (_, rows) = chosen(&features(), vec![0]);
    assert_eq!(rows, ["003-user-list — 3 worktrees: 2 [P] + 1 phase/", "004-error-handling"]);
}

#[test]
fn selecting_a_spec_kit_feature_row_pulls_in_all_its_entries() {
    let (ids, _) = chosen(&features(), vec![0]);
    assert_eq!(ids, ["003-user-list-T009", "003-user-list-T010", "003-user-list-phase-2"]);
}

#[test]
fn user_cancels_spec_picker_via_ctrl_c_or_confirms_with_zero_rows_selected() {
    for answer in [ScriptedAnswer::CtrlC, ScriptedAnswer::Many(vec![])] {
        let error = ScriptedPrompter::new([answer]).select_specs(&features()).unwrap_err();
        assert!(matches!(error, PawError::UserCancelled), "{error}");
    }
}

fn clis() -> Vec<CliInfo> {
    vec![cli("aider", "Aider"), cli("claude", "claude"), cli("codex", "Codex CLI")]
}

fn picked(default: Option<&str>) -> usize {
    let script = ScriptedPrompter::new([ScriptedAnswer::One(0)]);
    script.select_cli(&clis(), default).unwrap();
    let asked = script.asked.borrow();
    asked[0].start
}

#[test]
fn picker_with_default_pre_selected() {
    assert_eq!(picked(Some("claude")), 1);
}

#[test]
fn picker_without_default() {
    assert_eq!(picked(None), 0);
}

#[test]
fn default_cli_not_in_available_list() {
    assert_eq!(picked(Some("nonexistent")), 0);
}

#[test]
fn cli_picker_rows_show_the_program_if_its_name_differs() {
    let script = ScriptedPrompter::new([ScriptedAnswer::One(2)]);
    assert_eq!(script.select_cli(&clis(), None).unwrap(), "codex");
    assert_eq!(script.asked.borrow()[0].rows, ["Aider (aider)", "claude", "Codex CLI (codex)"]);
}

#[test]
fn cli_mode_display_strings() {
    assert_eq!(CliMode::Uniform.to_string(), "Same CLI for all branches");
    assert_eq!(CliMode::PerBranch.to_string(), "Different CLI per branch");
}

#[test]
fn select_supervisor_returns_the_answer() {
    assert!(ScriptedPrompter::new([ScriptedAnswer::One(1)]).select_supervisor().unwrap());
    assert!(!ScriptedPrompter::new([ScriptedAnswer::One(0)]).select_supervisor().unwrap());
}

#[test]
fn row_escapes_hidden_characters_and_look_alikes_differ() {
    for hostile in ["feat/\u{9b}31mred", "feat/\u{202e}txt", "feat/a\u{200b}b", "x\u{1b}]0;owned\u{7}"] {
        let row = row(hostile);
        assert!(row.chars().all(|c| !c.is_control() && (' '..='~').contains(&c)), "{row:?}");
        assert!(row.contains("\\u{"), "{row}");
    }
    assert_eq!(row("feat/ünï-日本"), "feat/ünï-日本");
    assert_ne!(row("feat/a\u{200b}b"), row("feat/ab"));
}
