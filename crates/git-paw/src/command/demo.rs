//! `git paw demo`: a session in a scratch repository, with scripted agents instead of paid ones.
//!
//! The demo runs the public commands and checks their results: it is a test, too.

pub(crate) mod agent;
mod chapters;
mod facts;
mod hosts;
mod machines;
mod message_log;
mod scratch_repo;

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;
use paw_host::tmux::Tmux;

use crate::context::Context;
use scratch_repo::ScratchRepo;

/// Watch a scripted session in a scratch repository
///
/// Starts a session with three scripted agents and a scripted supervisor. A harmless command is approved automatically; of
/// two others, one is approved with `git paw approve` and one is denied with a key of the dashboard, from which Enter also
/// leads to an agent's pane. Two agents change the same line and are warned before they commit. Gates check all work; one agent fails,
/// fixes its work and passes. All branches are merged in dependency order. Autopilot does a fourth task test-first. Then the
/// session is paused and resumed, and purged with unsaved work, which is restored. On a terminal the demo attaches you to
/// the session; detach (prefix, then d) to continue. Everything is removed at the end. The exit code is 1 if a step did not
/// work.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw demo\n  git paw demo --keep\n  git paw demo --hosts")]
pub(crate) struct DemoArgs {
    /// Keep the scratch repository and the session
    #[arg(long)]
    keep: bool,
    /// Show a session on three machines instead: ssh servers on this computer, in network namespaces if you are root
    #[arg(long, conflicts_with = "keep")]
    hosts: bool,
}

pub(crate) fn run(args: &DemoArgs, context: &Context) -> Result<(), PawError> {
    Tmux::default().require_minimum()?;
    let dir = tempfile::Builder::new()
        .prefix("git-paw-demo-")
        .tempdir()
        .map_err(|error| PawError::internal(format!("cannot create a scratch directory: {error}")))?;
    if args.hosts {
        hosts::run(dir.path(), context)?;
        return context.output.say("removed the session, the machines and the scratch repository");
    }
    let watched = io::stdin().is_terminal() && io::stdout().is_terminal();
    let scratch = ScratchRepo::prepare(dir.path(), watched)?;
    context.output.say(&format!("created a scratch repository: {}", scratch.root().display()))?;
    let shown = chapters::session(&scratch, watched, context);
    if args.keep {
        let kept = dir.keep();
        context.output.say(&format!("kept {} and its session", kept.display()))?;
        context.output.say(&format!("attach: {}", scratch.how_to_attach()))?;
        return shown.map(drop);
    }
    let shown = shown.and_then(|seen| chapters::afterwards(&scratch, seen, context));
    scratch.end();
    let seen = shown?;
    context.output.say("removed the session and the scratch repository (use --keep to keep them)")?;
    chapters::sum_up(&seen, context)
}
