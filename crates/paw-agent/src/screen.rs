//! Reading the screens of interactive CLIs.
//!
//! [`Screen::parse`] turns a capture, plain or with escapes, into rows; [`read`] says what they show by the rules of the
//! CLI. The rules are data, one file for each CLI, with the versions they were made for.

mod aider;
mod cells;
mod claude;
mod codex;
mod gemini;
mod generic;
mod input;
mod opencode;
mod pattern;
mod prompt;
mod read;
mod rules;
mod subject;

pub use cells::{Colour, Row, Screen, Style};
pub use prompt::{Ask, AskSubject};
pub use read::Reading;
pub use rules::{AskKind, DialogKind, Keys, Rules};

const RULES: [&Rules; 5] = [&aider::RULES, &claude::RULES, &codex::RULES, &gemini::RULES, &opencode::RULES];

/// The rules of a CLI, if we know its screen.
pub fn find_rules(cli: &str) -> Option<&'static Rules> {
    RULES.into_iter().find(|rules| rules.cli == cli)
}

/// What a screen of `cli` shows. One whose screen we do not know is read by what most of them have in common.
pub fn read(cli: &str, screen: &Screen) -> Reading {
    let left = (cli == opencode::RULES.cli).then(|| screen.left_of(opencode::SIDEBAR)).flatten();
    let screen = left.as_ref().unwrap_or(screen);
    match find_rules(cli) {
        Some(rules) => read::read(rules, screen),
        None => generic::read(screen),
    }
}
