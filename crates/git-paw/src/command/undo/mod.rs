//! `git paw undo`: lists, shows and restores work that was kept before a removal.

mod restore;
mod show;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_worktree::rescue::{self, Rescue};
use serde_json::json;

use crate::context::Context;

/// List and restore work that was kept before a removal or a rebase
///
/// Removals and rebases store work that is committed nowhere else under refs/paw/rescue/. git paw never deletes it
/// automatically.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  git paw undo
  git paw undo 2026          (restores it, like git paw undo restore 2026)
  git paw undo show 2026
  git paw undo restore 2026 --path src/main.rs"
)]
pub(crate) struct UndoArgs {
    /// Restore this one: its id, or a prefix of it
    id: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(show::ShowArgs),
    Restore(restore::RestoreArgs),
}

impl UndoArgs {
    pub(crate) fn wants_json(&self) -> bool {
        match &self.action {
            None => self.json,
            Some(Action::Show(args)) => args.json,
            Some(Action::Restore(args)) => args.json,
        }
    }
}

pub(crate) fn run(args: &UndoArgs, context: &Context) -> Result<(), PawError> {
    let repo = context.require_repo()?;
    match &args.action {
        None => match &args.id {
            Some(id) => restore::run(&restore::RestoreArgs::whole(id), &repo, context),
            None => list(&rescue::list(&repo)?, context),
        },
        Some(Action::Show(args)) => show::run(args, &repo, context),
        Some(Action::Restore(args)) => restore::run(args, &repo, context),
    }
}

fn list(rescues: &[Rescue], context: &Context) -> Result<(), PawError> {
    if context.output.wants_json() {
        return context.output.document(&json!({"rescues": rescues}));
    }
    if rescues.is_empty() {
        return context.output.say("nothing to restore");
    }
    let row = |rescue: &Rescue| {
        let branch = rescue.branch.as_ref().map_or("(no branch)", paw_core::BranchName::as_str);
        let when = rescue.created_at.strftime("%Y-%m-%d %H:%M UTC").to_string();
        [rescue.id.clone(), branch.to_owned(), rescue.reason.clone(), when]
    };
    context.output.table(["ID", "BRANCH", "WHY", "WHEN"], rescues.iter().map(row).collect())?;
    context.output.note("restore one with 'git paw undo <id>', or show it with 'git paw undo show <id>'");
    Ok(())
}
