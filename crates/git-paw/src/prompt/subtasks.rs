//! Subtasks that an executor proposes: shown, agreed to, and written.

use paw_autopilot::expand::{Proposed, write};
use paw_autopilot::tasks::{ItemId, TagName, TaskId};
use paw_autopilot::work::Site;
use paw_core::PawError;
use paw_screen::text::Text;

use super::{Prompter as _, Question, TerminalPrompter};
use crate::context::Context;

/// Shows what is proposed, asks first with `ask`, and writes it.
pub(crate) fn agree_and_write(
    site: &Site,
    tag: &TagName,
    id: &TaskId,
    proposed: &[Proposed],
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
        if !TerminalPrompter.confirm(&Question { text: &text, instead: "--yes" }, true)? {
            return Err(PawError::UserCancelled);
        }
    }
    Ok(write(site, tag, id, proposed)?)
}
