//! `git paw purge`

use clap::Args;
use paw_core::PawError;
use paw_core::text::plural;
use paw_session::launch;
use paw_session::lifecycle::purge::{self, Progress};
use paw_session::lifecycle::unmerged::Unmerged;
use paw_worktree::Worktrees;

use crate::context::Context;
use crate::prompt::{Prompter as _, Question, TerminalPrompter};
use crate::rescue::tell_rescue;
use crate::session::own_pane;

/// Remove the session: tmux, worktrees and state
///
/// Uncommitted work is kept for `git paw undo`, branches with commits of their own stay, and without --force a
/// worktree with uncommitted changes stays as well.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw purge
  git paw purge --force
  git paw purge --stale     (sessions of repositories and worktrees that are gone)
  git paw undo              (what was kept)")]
pub(crate) struct PurgeArgs {
    /// Do not ask, and remove worktrees with uncommitted changes too (they are kept for `git paw undo`)
    #[arg(long)]
    pub(crate) force: bool,
    /// Forget every session that cannot be brought back: its repository or all of its worktrees are gone
    #[arg(long)]
    stale: bool,
}

const AGAIN: &str = "git paw purge --force does not ask";

pub(crate) fn run(args: &PurgeArgs, context: &Context) -> Result<(), PawError> {
    if args.stale {
        return forget_stale(args, context);
    }
    let Some(session) = context.find_session()? else {
        return context.output.say("No session to purge for this repo.");
    };
    let unmerged = session.find_unmerged()?;
    warn_of(&unmerged, context);
    let text = if unmerged.is_empty() {
        "This will remove the tmux session, all worktrees, and session state. Continue?"
    } else {
        "Purge is irreversible. Continue?"
    };
    if !args.force && !TerminalPrompter.confirm(&Question { text, instead: AGAIN }, false)? {
        return context.output.say("Purge cancelled.");
    }
    let _lock = launch::lock(&session.repo)?;
    let Some(session) = session.reload()? else {
        return context.output.say("No session to purge for this repo.");
    };
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let mut say = |progress: Progress<'_>| tell(&progress, context);
    let purged = session.purge(&worktrees, args.force, own_pane().as_deref(), &mut say)?;
    let name = &session.receipt.session_name;
    if purged.kept.is_empty() {
        return context.output.say(&format!("Purged session '{name}'."));
    }
    let kept = plural(purged.kept.len(), "worktree");
    context.output.say(&format!("Purged session '{name}', except for {kept}."))?;
    context
        .output
        .note("hint: commit what is in it, or git paw purge --force (changes are kept for git paw undo)");
    Ok(())
}

/// Written in one piece and not buffered, so that nothing of it can arrive after the question.
fn warn_of(unmerged: &[Unmerged], context: &Context) {
    if unmerged.is_empty() {
        return;
    }
    let line = |one: &Unmerged| format!("\n  {} ({})", one.branch, plural(one.commits, "commit"));
    let lines: Vec<_> = unmerged.iter().map(line).collect();
    let number = unmerged.len();
    context.output.note(&format!("Warning: {number} branch(es) have unmerged commits:{}", lines.concat()));
}

fn tell(progress: &Progress<'_>, context: &Context) {
    let output = context.output;
    match progress {
        Progress::Removing(path) => output.note(&format!("Removing worktree {}...", path.display())),
        Progress::Removed { took, removed } => {
            output.note(&format!("  ...done ({:.1}s)", took.as_secs_f64()));
            if let Some(rescue) = &removed.rescue {
                tell_rescue(rescue, context);
            }
        }
        Progress::Kept { path, problem } => {
            output.warn(&format!("failed to remove worktree '{}': {problem}", path.display()));
        }
        Progress::Gone(path) => output.note(&format!("Worktree {} is gone already", path.display())),
        Progress::BranchDeleted(branch) => output.note(&format!("deleted branch {branch}")),
        Progress::BranchKept { branch, why } => output.note(&format!("branch {branch} stays: {why}")),
        Progress::Warning(problem) => output.warn(problem),
    }
}

fn forget_stale(args: &PurgeArgs, context: &Context) -> Result<(), PawError> {
    let receipts = context.receipts();
    let stale = purge::find_stale(&receipts)?;
    if stale.is_empty() {
        return context.output.say("No stale sessions.");
    }
    for receipt in &stale {
        context.output.note(&format!("  {} ({})", receipt.session_name, receipt.repo_path.display()));
    }
    let text = format!("Forget {}?", plural(stale.len(), "stale session"));
    if !args.force && !TerminalPrompter.confirm(&Question { text: &text, instead: AGAIN }, false)? {
        return context.output.say("Purge cancelled.");
    }
    for receipt in &stale {
        receipts.delete(&receipt.session_name, &receipts.lock()?)?;
        context.output.say(&format!("Purged session '{}'.", receipt.session_name))?;
    }
    Ok(())
}
