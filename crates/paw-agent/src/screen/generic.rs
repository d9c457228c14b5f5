//! Reads screens of CLIs without rules. Never reads a command.

use super::cells::{Screen, ScreenRow};
use super::prompt::ApprovalRequest;
use super::read::{ScreenReading, lists_choices, looks_like_shell};
use super::rules::ApprovalKind;
use crate::state::AgentActivity;

/// Text that marks a question in most CLIs.
const QUESTIONS: [&str; 10] = [
    "(y/n)",
    "[y/n]",
    "(yes/no)",
    "(y)es/(n)o",
    "press enter",
    "enter to confirm",
    "enter to select",
    "enter to continue",
    "do you want to",
    "do you trust",
];
const WORK: [&str; 4] = ["esc to interrupt", "esc to cancel", "esc interrupt", "ctrl+c to interrupt"];
const CURSORS: [char; 5] = ['>', '❯', '›', '»', '▌'];
/// Activity is shown in this many rows at the end of the screen.
const NEAR: usize = 6;

pub(super) fn read(screen: &Screen) -> ScreenReading {
    let Some(last) = screen.rows().last() else {
        return ScreenReading::new(AgentActivity::Starting, "the screen is empty");
    };
    let tail: Vec<&ScreenRow> = screen.rows().iter().rev().filter(|row| !row.is_blank()).take(NEAR).collect();
    let shows = |words: &&str| tail.iter().any(|row| row.text().to_lowercase().contains(*words));
    if let Some(words) = QUESTIONS.iter().find(|words| shows(words)) {
        let ask =
            ApprovalRequest::unreadable(ApprovalKind::Other, "git paw has no rules for this CLI's screen");
        return ScreenReading::new(
            AgentActivity::WaitingApproval(ask),
            format!("the screen shows '{words}'"),
        );
    }
    if lists_choices(screen) {
        return ScreenReading::new(AgentActivity::WaitingInput, "the screen shows a list of choices");
    }
    if let Some(words) = WORK.iter().find(|words| shows(words)) {
        return ScreenReading::new(AgentActivity::Working, format!("the screen shows '{words}'"));
    }
    if looks_like_shell(last.text()) {
        return ScreenReading::new(AgentActivity::Exited, "the last row looks like a shell prompt");
    }
    match tail.iter().find_map(|row| typed(row.text())) {
        Some(typed) => {
            let reading = ScreenReading::new(AgentActivity::Idle, "a row near the end looks like an input");
            ScreenReading { typed: Some(typed), ..reading }
        }
        None => ScreenReading::new(AgentActivity::Unknown, "the screen is not recognized"),
    }
}

/// The text after the cursor of a row that looks like an input, framed or not.
fn typed(text: &str) -> Option<String> {
    let inner = text.trim().trim_start_matches(['│', '┃', '|']).trim_end_matches(['│', '┃', '|']).trim();
    let rest = inner.strip_prefix(CURSORS)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim().to_owned())
}
