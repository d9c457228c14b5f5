//! `git paw tasks expand`

use clap::Args;
use paw_autopilot::expand::propose;
use paw_autopilot::tasks::ItemId;
use paw_autopilot::work::ProjectContext;
use paw_core::text::plural;
use paw_core::{ErrorCode, PawError};
use serde_json::json;

use super::{TaskArgs, find_project};
use crate::approval::Consent;
use crate::approval::autopilot::executor;
use crate::context::Context;
use crate::prompt::subtasks::confirm_and_write;
use crate::prompt::{Prompter as _, TerminalPrompter};

/// Let an executor divide a task into subtasks
///
/// Asks an AI CLI or your own program for subtasks; it changes no file. git paw shows the proposal, asks, and writes it to
/// tasks.json.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw tasks expand 42
  git paw tasks expand 42 --executor codex --yes")]
pub(crate) struct ExpandArgs {
    #[arg(value_name = "TASK")]
    id: String,
    /// Executor: claude, codex, gemini, aider, opencode, or one from the configuration
    #[arg(long, value_name = "CLI")]
    executor: Option<String>,
    /// Write the proposal without asking
    #[arg(long)]
    yes: bool,
    /// Approve this repository's own commands without asking
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    pub(super) common: TaskArgs,
}

pub(super) fn run(args: &ExpandArgs, context: &Context) -> Result<(), PawError> {
    let can_ask = TerminalPrompter.is_interactive() && !context.output.wants_json();
    if !args.yes && !can_ask {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            "cannot ask for confirmation: stdin is not a terminal",
        )
        .hint("use --yes to write the subtasks without asking"));
    }
    let ItemId::Task(id) = args.id.parse::<ItemId>()? else {
        return Err(PawError::new(
            ErrorCode::FailedPrecondition,
            format!("{} is a subtask; only tasks can be expanded", args.id),
        ));
    };
    let (_, tag) = find_project(&args.common, context)?;
    let site = ProjectContext::find(context.require_repo()?, &context.cwd, &context.search_path)?;
    let consent = Consent::of_flag(args.trust);
    let executor = executor(args.executor.as_deref(), &site, consent, context)?;
    context.output.progress(&format!("asking {} for subtasks of task {id}", executor.name));
    let proposed = propose(&site, &executor, &tag, &id, &mut |_| ())?;
    let added = confirm_and_write(&site, &tag, &id, &proposed, !args.yes, context)?;
    if context.output.wants_json() {
        return context.output.document(&json!({"tag": tag, "id": id, "added": added, "subtasks": proposed}));
    }
    context.output.say(&format!("added {} to task {id}", plural(added.len(), "subtask")))
}
