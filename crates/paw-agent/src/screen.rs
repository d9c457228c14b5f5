//! Reads the screens of interactive CLIs.
//!
//! [`Screen::parse`] turns a capture, plain or with escape sequences, into rows; [`read`] interprets them by the rules of
//! the CLI. The rules are data in each CLI's descriptor, with the versions they were made for.

mod cells;
mod generic;
mod input;
mod pattern;
mod prompt;
mod read;
pub mod rules;
mod subject;

use crate::cli::Cli;
use crate::state::AgentActivity;

pub use cells::{CellStyle, Colour, Screen, ScreenRow};
pub use prompt::{ApprovalRequest, ApprovalSubject};
pub use read::ScreenReading;
pub use rules::{ApprovalKeys, ApprovalKind, DialogKind, ScreenRules};

/// Whether a screen that was not read completely may show an approval prompt that was wrapped or cut.
pub fn may_be_cut(cli: &Cli, screen: &Screen, reading: &ScreenReading) -> bool {
    match (&reading.state, cli.screen) {
        (_, None) => false,
        (AgentActivity::WaitingApproval(ask), _) => matches!(ask.subject, ApprovalSubject::Unreadable(_)),
        (AgentActivity::Unknown, Some(rules)) => read::may_show_prompt(rules, screen),
        _ => false,
    }
}

/// What a screen of `cli` shows. A CLI without rules is read by generic patterns.
pub fn read(cli: &Cli, screen: &Screen) -> ScreenReading {
    let Some(rules) = cli.screen else { return generic::read(screen) };
    let left = rules.sidebar.and_then(|sidebar| screen.left_of(sidebar));
    read::read(rules, left.as_ref().unwrap_or(screen))
}
