//! Reading the screens of interactive CLIs.
//!
//! [`Screen::parse`] turns a capture, plain or with escapes, into rows; [`read`] says what they show by the rules of the
//! CLI. The rules are data, part of each CLI's descriptor, with the versions they were made for.

mod cells;
mod generic;
mod input;
mod pattern;
mod prompt;
mod read;
pub mod rules;
mod subject;

use crate::cli::Cli;

pub use cells::{CellStyle, Colour, Screen, ScreenRow};
pub use prompt::{ApprovalRequest, ApprovalSubject};
pub use read::ScreenReading;
pub use rules::{ApprovalKeys, ApprovalKind, DialogKind, ScreenRules};

/// What a screen of `cli` shows. One whose screen we do not know is read by what most of them have in common.
pub fn read(cli: &Cli, screen: &Screen) -> ScreenReading {
    let Some(rules) = cli.screen else { return generic::read(screen) };
    let left = rules.sidebar.and_then(|sidebar| screen.left_of(sidebar));
    read::read(rules, left.as_ref().unwrap_or(screen))
}
