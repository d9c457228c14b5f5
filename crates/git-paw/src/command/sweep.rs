//! `git paw sweep`

mod actions;
mod elsewhere;
mod remote;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_supervisor::pane_request::SweepAction;

use crate::context::Context;
use crate::session_run::RequesterArgs;

/// Supervise the agents of a session: inspect, approve, give feedback
///
/// These commands are built for the supervisor and work by hand, too. Name an agent by its id or its branch; git paw finds
/// its pane.
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
    verb: SweepVerb,
}

#[derive(Debug, Subcommand)]
enum SweepVerb {
    /// Show the last lines of every agent's pane
    #[command(after_help = "Examples:\n  git paw sweep snapshot --lines 10")]
    Snapshot {
        #[arg(long, default_value_t = 20)]
        lines: usize,
    },
    /// Show the last lines of one agent's pane
    #[command(after_help = "Examples:\n  git paw sweep capture feat-api")]
    Capture {
        agent: String,
        #[arg(long, default_value_t = 50)]
        lines: usize,
        #[command(flatten)]
        requester: RequesterArgs,
    },
    /// Approve an agent's pending prompt, once
    ///
    /// Answers only a known prompt that is completely visible, and reads the pane again before it presses the key.
    #[command(after_help = "Examples:\n  git paw sweep approve feat-api")]
    Approve {
        agent: String,
        #[command(flatten)]
        requester: RequesterArgs,
    },
    /// Start an agent's CLI again after it exited
    ///
    /// The CLI resumes its conversation. One that cannot gets its first prompt again.
    #[command(after_help = "Examples:\n  git paw sweep restart feat-api")]
    Restart {
        agent: String,
        #[command(flatten)]
        requester: RequesterArgs,
    },
    /// Show every agent's state and its source
    #[command(after_help = "Examples:\n  git paw sweep status --json")]
    Status,
    /// Show every agent's uncommitted changes and last commit
    #[command(alias = "worktrees-status", after_help = "Examples:\n  git paw sweep worktrees")]
    Worktrees,
    /// Show questions, problems and commits that wait for the supervisor
    #[command(after_help = "Examples:\n  git paw sweep inbox --since 42")]
    Inbox {
        /// Show only messages after this number
        #[arg(long, default_value_t = 0)]
        since: u64,
    },
    /// Send an agent the findings of a gate
    #[command(
        alias = "feedback-gate",
        after_help = "Examples:\n  git paw sweep feedback feat-api testing \"lex::numbers fails\""
    )]
    Feedback { agent: String, gate: String, text: String },
    /// Declare the last commit of an agent verified, by hand
    #[command(after_help = "Examples:\n  git paw sweep verified feat-api \"all gates pass\"")]
    Verified { agent: String, text: Option<String> },
    /// List the agents that need attention, and why
    #[command(after_help = "Examples:\n  git paw sweep detect-stuck")]
    DetectStuck,
}

pub(crate) fn run(args: &SweepArgs, context: &Context) -> Result<ExitCode, PawError> {
    if let Some((action, agent, requester)) = args.verb.find_remote_action()
        && let Some(code) = remote::find(action, agent, requester, context)?
    {
        return Ok(code);
    }
    if let Some(action) = args.verb.find_listing()
        && let Some(code) = remote::list(action, context)?
    {
        return Ok(code);
    }
    match &args.verb {
        SweepVerb::Snapshot { lines } => show::snapshot(*lines, context),
        SweepVerb::Capture { agent, lines, .. } => show::capture(agent, *lines, context),
        SweepVerb::Approve { agent, .. } => actions::approve(agent, context),
        SweepVerb::Restart { agent, .. } => actions::restart(agent, context),
        SweepVerb::Status => show::status(context, false),
        SweepVerb::Worktrees => show::worktrees(context),
        SweepVerb::Inbox { since } => show::inbox(*since, context),
        SweepVerb::Feedback { agent, gate, text } => actions::feedback(agent, gate, text, context),
        SweepVerb::Verified { agent, text } => actions::verified(agent, text.as_deref(), context),
        SweepVerb::DetectStuck => show::status(context, true),
    }
    .map(|()| ExitCode::SUCCESS)
}

impl SweepVerb {
    /// What lists the agents of all machines.
    fn find_listing(&self) -> Option<SweepAction> {
        match self {
            Self::Snapshot { lines } => Some(SweepAction::Snapshot { lines: *lines }),
            Self::Status => Some(SweepAction::Status),
            Self::Worktrees => Some(SweepAction::Worktrees),
            Self::DetectStuck => Some(SweepAction::DetectStuck),
            Self::Capture { .. }
            | Self::Approve { .. }
            | Self::Restart { .. }
            | Self::Inbox { .. }
            | Self::Feedback { .. }
            | Self::Verified { .. } => None,
        }
    }

    /// What has to happen where the agent is, its name, and who wants it.
    fn find_remote_action(&self) -> Option<(SweepAction, &str, &RequesterArgs)> {
        match self {
            Self::Capture { agent, lines, requester } => {
                Some((SweepAction::Capture { lines: *lines }, agent, requester))
            }
            Self::Approve { agent, requester } => Some((SweepAction::Approve, agent, requester)),
            Self::Restart { agent, requester } => Some((SweepAction::Restart, agent, requester)),
            Self::Snapshot { .. }
            | Self::Status
            | Self::Worktrees
            | Self::Inbox { .. }
            | Self::Feedback { .. }
            | Self::Verified { .. }
            | Self::DetectStuck => None,
        }
    }
}
