//! `git paw undo show`

use clap::Args;
use paw_core::PawError;
use paw_host::git::Repo;
use paw_worktree::rescue;

use crate::context::Context;

/// Show kept work
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw undo show 2026")]
pub(super) struct ShowArgs {
    /// The id, or a prefix of it
    id: String,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &ShowArgs, repo: &Repo, context: &Context) -> Result<(), PawError> {
    let shown = rescue::show(repo, &args.id)?;
    if context.output.wants_json() {
        return context.output.document(&shown);
    }
    context.output.say(shown.summary.trim_end())
}
