//! `git paw stop`

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::{PawError, SessionStatus};

use crate::context::Context;
use crate::prompt::{PromptQuestion, Prompter as _, TerminalPrompter};
use crate::session::own_pane;

/// Stop the session: end its CLIs, keep its worktrees
///
/// Three ways to leave a session:
///
///   pause   the soft one: detaches you and stops the broker; CLIs stay running
///
///   stop    kills the CLI processes and the tmux session; preserves worktrees, branches and the state needed to resume
///
///   purge   the full reset: stops, and removes worktrees and session state, too
///
/// On a terminal this command asks first, unless --force is given. `git paw start` rebuilds a stopped session.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, after_help = "Examples:\n  git paw stop\n  git paw stop --force")]
pub(crate) struct StopArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) force: bool,
}

pub(crate) fn run(args: &StopArgs, context: &Context) -> Result<(), PawError> {
    let Some(session) = context.find_session()? else {
        return context.output.say("No active session for this repo.");
    };
    if session.receipt.status == SessionStatus::Stopped && session.find_window()?.is_none() {
        return context.output.say("No active session for this repo.");
    }
    if !args.force && io::stdin().is_terminal() {
        context.output.note(&format!(
            "Stopping session '{}' kills all its CLIs; what they have not saved is lost. Worktrees are kept.\n  \
             git paw pause   detach and leave the CLIs running\n  \
             git paw purge   remove worktrees and session state, too",
            session.receipt.session_name
        ));
        let question = PromptQuestion { text: "Stop the session?", instead: "git paw stop --force" };
        if !TerminalPrompter.confirm(&question, false)? {
            return context.output.say("Stop cancelled.");
        }
    }
    let _lock = context.lock_session(&session.repo)?;
    let Some(session) = session.reload()? else {
        return context.output.say("No active session for this repo.");
    };
    context.on_all_hosts(&session.receipt, &["stop", "--force"])?;
    for warning in session.stop(own_pane().as_deref())? {
        context.output.warn(&warning);
    }
    context.output.say("Session stopped. Worktrees and state preserved.")
}
