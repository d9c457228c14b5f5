//! Subtasks that an executor proposes: print them, ask, and write them.

use paw_autopilot::expand::{ProposedSubtask, add_subtasks};
use paw_autopilot::tasks::{ItemId, TagName, TaskId};
use paw_autopilot::work::ProjectContext;
use paw_core::PawError;
use paw_screen::text::Text;

use super::{PromptQuestion, Prompter as _, TerminalPrompter};
use crate::context::Context;

/// Prints the proposed subtasks, asks for confirmation if `ask` is set, and writes them.
pub(crate) fn confirm_and_write(
    site: &ProjectContext,
    tag: &TagName,
    id: &TaskId,
    proposed: &[ProposedSubtask],
    ask: bool,
    context: &Context,
) -> Result<Vec<ItemId>, PawError> {
    for (subtask, number) in proposed.iter().zip(1..) {
        let needs: Vec<String> = subtask.dependencies.iter().map(|other| format!("{id}.{other}")).collect();
        let needs =
            if needs.is_empty() { String::new() } else { format!(" [depends on {}]", needs.join(", ")) };
        let row = format!("  {id}.{number} {}{needs}", Text::line(&subtask.title));
        if context.output.wants_json() { context.output.note(&row) } else { context.output.say(&row)? }
    }
    if ask {
        let text = format!("Write these subtasks of task {id} to tasks.json?");
        if !TerminalPrompter.confirm(&PromptQuestion { text: &text, instead: "--yes" }, true)? {
            return Err(PawError::UserCancelled);
        }
    }
    Ok(add_subtasks(site, tag, id, proposed)?)
}
