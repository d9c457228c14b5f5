//! `git paw purge`

use clap::Args;
use paw_core::PawError;
use paw_core::text::plural;
use paw_session::lifecycle::purge::{self, PurgeProgress};
use paw_session::lifecycle::unmerged::UnmergedBranch;
use paw_worktree::Worktrees;

use crate::context::Context;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};
use crate::rescue::print_rescue;
use crate::session::own_pane;

/// Remove the session: tmux, worktrees and state
///
/// Uncommitted work is saved first; `git paw undo` restores it. Branches with unmerged commits are kept. Without --force,
/// worktrees with uncommitted changes are kept, too.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw purge
  git paw purge --force
  git paw purge --stale     (sessions whose repository or worktrees are gone)
  git paw undo              (lists the saved work)")]
pub(crate) struct PurgeArgs {
    /// Do not ask; remove worktrees with uncommitted changes, too (saved for `git paw undo`)
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove all sessions whose repository or worktrees no longer exist
    #[arg(long)]
    stale: bool,
}

const USE_FORCE: &str = "use 'git paw purge --force' to purge without asking";

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
    if !args.force && !TerminalPrompter.confirm(&PromptQuestion { text, instead: USE_FORCE }, false)? {
        return context.output.say("Purge cancelled.");
    }
    let _lock = context.lock_session(&session.repo)?;
    let Some(session) = session.reload()? else {
        return context.output.say("No session to purge for this repo.");
    };
    let is_hub = context.purge_remote(&session, args.force)?;
    let worktrees = Worktrees::open(context.dirs.data_dir())?;
    let mut say = |progress: PurgeProgress<'_>| print_progress(&progress, context);
    let purged = session.purge(&worktrees, args.force, own_pane().as_deref(), &mut say)?;
    let name = &session.receipt.session_name;
    if purged.kept.is_empty() {
        if is_hub {
            context.purge_stream(&session.receipt);
        }
        return context.output.say(&format!("Purged session '{name}'."));
    }
    let kept = plural(purged.kept.len(), "worktree");
    context.output.say(&format!("Purged session '{name}', except for {kept}."))?;
    context.output.note(
        "hint: commit the changes, or use 'git paw purge --force' (changes are saved for 'git paw undo')",
    );
    Ok(())
}

/// Written at once and unbuffered, so that it appears before the question.
fn warn_of(unmerged: &[UnmergedBranch], context: &Context) {
    if unmerged.is_empty() {
        return;
    }
    let line = |one: &UnmergedBranch| format!("\n  {} ({})", one.branch, plural(one.commits, "commit"));
    let lines: Vec<_> = unmerged.iter().map(line).collect();
    let number = unmerged.len();
    context.output.note(&format!("Warning: {number} branch(es) have unmerged commits:{}", lines.concat()));
}

fn print_progress(progress: &PurgeProgress<'_>, context: &Context) {
    let output = context.output;
    match progress {
        PurgeProgress::Removing(path) => output.note(&format!("Removing worktree {}...", path.display())),
        PurgeProgress::Removed { took, removed } => {
            output.note(&format!("  ...done ({:.1}s)", took.as_secs_f64()));
            if let Some(rescue) = &removed.rescue {
                print_rescue(rescue, context);
            }
        }
        PurgeProgress::Kept { path, problem } => {
            output.warn(&format!("failed to remove worktree '{}': {problem}", path.display()));
        }
        PurgeProgress::Gone(path) => output.note(&format!("Worktree {} is already gone", path.display())),
        PurgeProgress::BranchDeleted(branch) => output.note(&format!("deleted branch {branch}")),
        PurgeProgress::BranchKept { branch, why } => output.note(&format!("kept branch {branch}: {why}")),
        PurgeProgress::Warning(problem) => output.warn(problem),
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
    let text = format!("Remove {}?", plural(stale.len(), "stale session"));
    if !args.force && !TerminalPrompter.confirm(&PromptQuestion { text: &text, instead: USE_FORCE }, false)? {
        return context.output.say("Purge cancelled.");
    }
    for receipt in &stale {
        receipts.delete(&receipt.session_name, &receipts.lock()?)?;
        context.output.say(&format!("Purged session '{}'.", receipt.session_name))?;
    }
    Ok(())
}
