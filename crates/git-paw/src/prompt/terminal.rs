//! Questions on the real terminal: pickers that filter while typing, and yes or no.

use std::io::{self, IsTerminal as _};

use inquire::validator::Validation;
use inquire::{Confirm, InquireError, MultiSelect, Select, Text};
use paw_core::PawError;

use super::{LineCheck, PromptQuestion, Prompter};

/// Rows shown at once.
const PAGE: usize = 12;

/// Asks on this process's terminal. Questions go to stderr; stdout is only for results.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TerminalPrompter;

impl Prompter for TerminalPrompter {
    fn is_interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    fn pick_one(
        &self,
        question: &PromptQuestion<'_>,
        rows: &[String],
        start: usize,
    ) -> Result<usize, PawError> {
        self.require_terminal(question)?;
        let select = Select::new(question.text, rows.to_vec())
            .with_starting_cursor(start)
            .with_page_size(PAGE)
            .with_help_message("↑↓ to move, enter to choose, type to filter")
            .raw_prompt();
        select.map(|picked| picked.index).map_err(|error| prompt_error(error, question))
    }

    fn pick_many(&self, question: &PromptQuestion<'_>, rows: &[String]) -> Result<Vec<usize>, PawError> {
        self.require_terminal(question)?;
        let select = MultiSelect::new(question.text, rows.to_vec())
            .with_page_size(PAGE)
            .with_keep_filter(false)
            .with_help_message("↑↓ to move, space to select, → all, ← none, enter when done, type to filter")
            .raw_prompt();
        let picked = select.map_err(|error| prompt_error(error, question))?;
        Ok(picked.into_iter().map(|picked| picked.index).collect())
    }

    fn confirm(&self, question: &PromptQuestion<'_>, default: bool) -> Result<bool, PawError> {
        self.require_terminal(question)?;
        let confirm = Confirm::new(question.text).with_default(default);
        confirm.prompt().map_err(|error| prompt_error(error, question))
    }

    fn edit(&self, question: &PromptQuestion<'_>, text: &str) -> Result<String, PawError> {
        self.require_terminal(question)?;
        let line = Text::new(question.text).with_initial_value(text).prompt();
        line.map(|line| line.trim().to_owned()).map_err(|error| prompt_error(error, question))
    }

    fn write(&self, question: &PromptQuestion<'_>, check: LineCheck) -> Result<String, PawError> {
        self.require_terminal(question)?;
        let judge = move |line: &str| {
            Ok(check(line).map_or_else(|why| Validation::Invalid(why.into()), |()| Validation::Valid))
        };
        let text = Text::new(question.text).with_validator(judge);
        let text = text.with_help_message("separated by spaces, such as feat/login fix/logout");
        text.prompt().map_err(|error| prompt_error(error, question))
    }
}

impl TerminalPrompter {
    fn require_terminal(self, question: &PromptQuestion<'_>) -> Result<(), PawError> {
        if self.is_interactive() { Ok(()) } else { Err(not_a_terminal(question)) }
    }
}

fn not_a_terminal(question: &PromptQuestion<'_>) -> PawError {
    let PromptQuestion { text, instead } = question;
    PawError::SessionError(format!("cannot ask \"{text}\": stdin is not a terminal")).hint(*instead)
}

fn prompt_error(error: InquireError, question: &PromptQuestion<'_>) -> PawError {
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => PawError::UserCancelled,
        InquireError::NotTTY => not_a_terminal(question),
        InquireError::IO(error) => PawError::internal(format!("cannot ask \"{}\": {error}", question.text)),
        other => PawError::internal(format!("cannot ask \"{}\": {other}", question.text)),
    }
}

#[cfg(test)]
mod tests;
