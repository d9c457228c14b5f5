//! `git paw tasks expand`

use clap::Args;
use paw_autopilot::expand::propose;
use paw_autopilot::tasks::ItemId;
use paw_autopilot::work::Site;
use paw_core::text::plural;
use paw_core::{ErrorCode, PawError};
use serde_json::json;

use super::{CommonArgs, find_project};
use crate::approval::Consent;
use crate::approval::autopilot::executor;
use crate::context::Context;
use crate::prompt::subtasks::agree_and_write;
use crate::prompt::{Prompter as _, TerminalPrompter};

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
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            "subtasks are shown before they are written, and there is no terminal to show them on",
        )
        .hint("--yes writes them unseen"));
    }
    let ItemId::Task(id) = args.id.parse::<ItemId>()? else {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            format!("{} is a subtask, and a subtask has no subtasks", args.id),
        ));
    };
    let (_, tag) = find_project(&args.common, context)?;
    let site = Site::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    let consent = Consent::of_flag(args.trust);
    let executor = executor(args.executor.as_deref(), &site, consent, context)?;
    context.output.progress(&format!("{} is asked for subtasks of task {id}", executor.name));
    let proposed = propose(&site, &executor, &tag, &id, &mut |_| ())?;
    let added = agree_and_write(&site, &tag, &id, &proposed, !args.yes, context)?;
    if context.output.wants_json() {
        return context.output.document(&json!({"tag": tag, "id": id, "added": added, "subtasks": proposed}));
    }
    context.output.say(&format!("added {} to task {id}", plural(added.len(), "subtask")))
}
