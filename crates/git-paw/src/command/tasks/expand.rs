//! `git paw tasks expand`

use clap::Args;
use paw_autopilot::expand::{Proposed, propose, write};
use paw_autopilot::tasks::{ItemId, TagName, TaskId};
use paw_autopilot::work::Site;
use paw_core::PawError;
use paw_core::text::{self, plural};
use serde_json::json;

use super::{CommonArgs, find_project};
use crate::approval::Consent;
use crate::command::autopilot::executor;
use crate::context::Context;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};

/// Divide a task into subtasks, by an executor, shown before they are written
///
/// An AI CLI, or a program of yours, is asked for subtasks; it changes no file. What it proposes is shown, and written to
/// tasks.json when you agree.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks expand 42
  git paw tasks expand 42 --executor codex --yes")]
pub(crate) struct ExpandArgs {
    #[arg(value_name = "ID")]
    id: String,
    /// Who is asked: claude, codex, gemini, aider, opencode, or the name of one you have configured
    #[arg(long, value_name = "NAME")]
    executor: Option<String>,
    /// Write what is proposed without asking
    #[arg(long)]
    yes: bool,
    /// Approve what this repository's files want to run
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

pub(super) fn run(args: &ExpandArgs, context: &Context) -> Result<(), PawError> {
    let can_ask = TerminalPrompter.is_interactive() && !context.output.wants_json();
    if !args.yes && !can_ask {
        return Err(PawError::TaskError(
            "subtasks are shown before they are written, and nobody is here to look\nhint: --yes writes them unseen".into(),
        ));
    }
    let ItemId::Task(id) = args.id.parse::<ItemId>()? else {
        return Err(PawError::TaskError(format!("{} is a subtask, and a subtask has no subtasks", args.id)));
    };
    let (_, tag) = find_project(&args.common, context)?;
    let site = Site::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    let consent = if args.trust { Consent::Given } else { Consent::Ask };
    let executor = executor(args.executor.as_deref(), &site, consent, context)?;
    context.output.progress(&format!("{} is asked for subtasks of task {id}", executor.name));
    let proposed = propose(&site, &executor, &tag, &id, &mut |_| ())?;
    let added = agree_and_write(&site, &tag, &id, &proposed, !args.yes, context)?;
    if context.output.wants_json() {
        return context.output.document(&json!({"tag": tag, "id": id, "added": added, "subtasks": proposed}));
    }
    context.output.say(&format!("added {} to task {id}", plural(added.len(), "subtask")))
}

/// Shows what is proposed, asks where somebody is to be asked, and writes it.
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
        let row = format!("  {id}.{number} {}{needs}", text::line(&subtask.title));
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
