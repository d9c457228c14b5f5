//! `git paw daemon`

use std::path::Path;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_daemon::DaemonOptions;
use serde_json::json;

use crate::context::Context;

/// Serve worktrees and conversations to other programs over gRPC
///
/// The socket is daemon.sock in $XDG_RUNTIME_DIR/git-paw, or in the data directory; only you can connect. The services
/// are paw.v1.WorktreeService, paw.v1.ConversationService and paw.v1.DaemonService, with reflection and health.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw daemon run &
  git paw daemon status
  grpcurl -plaintext -unix \"$XDG_RUNTIME_DIR/git-paw/daemon.sock\" list
  git paw daemon stop")]
pub(crate) struct DaemonArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run in the foreground until SIGTERM or Ctrl+C
    #[command(after_help = "Examples:\n  git paw daemon run")]
    Run,
    /// Show the status of the daemon; exits with 1 if none is running
    #[command(after_help = "Examples:\n  git paw daemon status --json")]
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Stop the daemon and wait until it has exited
    #[command(after_help = "Examples:\n  git paw daemon stop")]
    Stop,
}

impl DaemonArgs {
    pub(crate) fn wants_json(&self) -> bool {
        matches!(self.action, Action::Status { json: true })
    }

    /// Whether this process is the daemon, which writes its own log.
    pub(crate) fn runs_the_daemon(&self) -> bool {
        matches!(self.action, Action::Run)
    }
}

pub(crate) fn run(args: &DaemonArgs, context: &Context) -> Result<(), PawError> {
    let options = DaemonOptions::new(&context.dirs, &context.search_path);
    match args.action {
        Action::Run => {
            paw_daemon::log::init(&options.data_dir)?;
            let ready = |socket: &Path| {
                context.output.note(&format!("listening on {} (Ctrl+C to stop)", socket.display()));
            };
            Ok(paw_daemon::run(options, ready)?)
        }
        Action::Status { .. } => status(&options, context),
        Action::Stop => match paw_daemon::stop(&options)? {
            Some(pid) => context.output.say(&format!("stopped the daemon (pid {pid})")),
            None => context.output.say("no daemon is running"),
        },
    }
}

fn status(options: &DaemonOptions, context: &Context) -> Result<(), PawError> {
    let Some(status) = paw_daemon::status(options)? else {
        return Err(PawError::internal("no daemon is running").hint("start one with 'git paw daemon run'"));
    };
    if context.output.wants_json() {
        return context.output.document(&json!({"daemon": status}));
    }
    context.output.say(&format!("running (pid {}, version {})", status.pid, status.version))?;
    context.output.say(&format!("socket     {}", status.socket.display()))?;
    context.output.say(&format!("since      {}", status.started_at))?;
    if let Some(worktrees) = status.worktrees {
        context.output.say(&format!("worktrees  {worktrees}"))?;
    }
    context.output.say(&format!("turns      {} running", status.running_turns))
}
