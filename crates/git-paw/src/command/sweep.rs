//! `git paw sweep`

mod act;
mod show;

use clap::{Args, Subcommand};
use paw_core::PawError;

use crate::context::Context;

/// Look after the agents of a session: what they show, what they wait for, what was found
///
/// Made for the supervisor, and as good for a person. Agents are named by their id or their branch; their panes are found
/// by whose they are, never by a number.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw sweep snapshot
  git paw sweep capture feat-api --lines 80
  git paw sweep approve feat-api
  git paw sweep detect-stuck --json")]
pub(crate) struct SweepArgs {
    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// The last rows of every agent's pane
    #[command(after_help = "Examples:\n  git paw sweep snapshot --lines 10")]
    Snapshot {
        #[arg(long, default_value_t = 20)]
        lines: usize,
    },
    /// The last rows of one agent's pane
    #[command(after_help = "Examples:\n  git paw sweep capture feat-api")]
    Capture {
        agent: String,
        #[arg(long, default_value_t = 50)]
        lines: usize,
    },
    /// Say yes, once, to what an agent asks in its pane
    ///
    /// Only a prompt that is wholly visible and known is answered, after a second look.
    #[command(after_help = "Examples:\n  git paw sweep approve feat-api")]
    Approve { agent: String },
    /// What every agent is doing, and how we know
    #[command(after_help = "Examples:\n  git paw sweep status --json")]
    Status,
    /// What every agent has changed and committed
    #[command(alias = "worktrees-status", after_help = "Examples:\n  git paw sweep worktrees")]
    Worktrees,
    /// Questions, troubles and commits that wait for the supervisor
    #[command(after_help = "Examples:\n  git paw sweep inbox --since 42")]
    Inbox {
        /// Only what came after this number
        #[arg(long, default_value_t = 0)]
        since: u64,
    },
    /// Tell an agent what a gate has found
    #[command(
        alias = "feedback-gate",
        after_help = "Examples:\n  git paw sweep feedback feat-api testing \"lex::numbers fails\""
    )]
    Feedback { agent: String, gate: String, text: String },
    /// Say that the last commit of an agent was checked
    #[command(after_help = "Examples:\n  git paw sweep verified feat-api \"all gates pass\"")]
    Verified { agent: String, text: Option<String> },
    /// The agents that need somebody, and why
    #[command(after_help = "Examples:\n  git paw sweep detect-stuck")]
    DetectStuck,
}

pub(crate) fn run(args: &SweepArgs, context: &Context) -> Result<(), PawError> {
    match &args.verb {
        Verb::Snapshot { lines } => show::snapshot(*lines, context),
        Verb::Capture { agent, lines } => show::capture(agent, *lines, context),
        Verb::Approve { agent } => act::approve(agent, context),
        Verb::Status => show::status(context, false),
        Verb::Worktrees => show::worktrees(context),
        Verb::Inbox { since } => show::inbox(*since, context),
        Verb::Feedback { agent, gate, text } => act::feedback(agent, gate, text, context),
        Verb::Verified { agent, text } => act::verified(agent, text.as_deref(), context),
        Verb::DetectStuck => show::status(context, true),
    }
}
