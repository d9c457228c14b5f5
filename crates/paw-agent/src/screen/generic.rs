//! Screens of CLIs that we have no rules for. Nothing here ever reads a command.

use super::cells::{Screen, ScreenRow};
use super::prompt::ApprovalRequest;
use super::read::{ScreenReading, lists_choices, looks_like_shell};
use super::rules::ApprovalKind;
use crate::state::AgentActivity;

/// What ends a question in most CLIs.
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
/// How far from the end of a screen something under way is drawn.
const NEAR: usize = 6;

pub(super) fn read(screen: &Screen) -> ScreenReading {
    let Some(last) = screen.rows().last() else {
        return ScreenReading::new(AgentActivity::Starting, "the screen is empty");
    };
    let tail: Vec<&ScreenRow> = screen.rows().iter().rev().filter(|row| !row.is_blank()).take(NEAR).collect();
    let says = |words: &&str| tail.iter().any(|row| row.text().to_lowercase().contains(*words));
    if let Some(words) = QUESTIONS.iter().find(|words| says(words)) {
        let ask = ApprovalRequest::unreadable(ApprovalKind::Other, "the screens of this CLI are not known");
        return ScreenReading::new(AgentActivity::WaitingApproval(ask), format!("the screen says '{words}'"));
    }
    if lists_choices(screen) {
        return ScreenReading::new(AgentActivity::WaitingInput, "the screen shows a list of choices");
    }
    if let Some(words) = WORK.iter().find(|words| says(words)) {
        return ScreenReading::new(AgentActivity::Working, format!("the screen says '{words}'"));
    }
    if looks_like_shell(last.text()) {
        return ScreenReading::new(AgentActivity::Exited, "the last row looks like a shell's prompt");
    }
    match tail.iter().find_map(|row| typed(row.text())) {
        Some(typed) => {
            let reading = ScreenReading::new(AgentActivity::Idle, "a row near the end begins like an input");
            ScreenReading { typed: Some(typed), ..reading }
        }
        None => ScreenReading::new(AgentActivity::Unknown, "nothing on this screen is known"),
    }
}

/// What follows the cursor of a row that begins like an input, in a frame or not.
fn typed(text: &str) -> Option<String> {
    let inner = text.trim().trim_start_matches(['│', '┃', '|']).trim_end_matches(['│', '┃', '|']).trim();
    let rest = inner.strip_prefix(CURSORS)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim().to_owned())
}
