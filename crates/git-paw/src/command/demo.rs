//! `git paw demo`: what git-paw does, on a scratch repository, with scripted agents in the place of paid ones.
//!
//! Everything happens through the commands a person would type, and is checked afterwards: the demo is a test, too.

pub(crate) mod agent;
mod facts;
mod scene;
mod story;

use std::io::{self, IsTerminal as _};

use clap::Args;
use paw_core::PawError;
use paw_host::tmux::Tmux;

use crate::context::Context;
use scene::Scene;

/// Watch git-paw at work in a scratch repository
///
/// Starts a session of three scripted agents and a scripted supervisor. Two agents touch the same line and are warned
/// before they commit. A harmless command is approved, another one is held back. Gates check all work; one agent fails,
/// mends it and passes. Everything is merged in the order of who waited for whom. Autopilot does a fourth task test-first.
/// Then the session is paused and resumed, and purged with unsaved work that comes back. On a terminal you are taken into the session; detach (prefix, then d) to
/// come back. Everything is removed at the end. Ends with 1, and says so, if anything of this was not seen.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw demo\n  git paw demo --keep")]
pub(crate) struct DemoArgs {
    /// Leave the scratch repository and the session in place
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: &DemoArgs, context: &Context) -> Result<(), PawError> {
    Tmux::default().require_minimum()?;
    let scratch = tempfile::Builder::new()
        .prefix("git-paw-demo-")
        .tempdir()
        .map_err(|error| PawError::internal(format!("cannot make a scratch directory: {error}")))?;
    let watched = io::stdin().is_terminal() && io::stdout().is_terminal();
    let scene = Scene::prepare(scratch.path(), watched)?;
    context.output.say(&format!("made a scratch repository: {}", scene.root().display()))?;
    let told = story::session(&scene, watched, context);
    if args.keep {
        let kept = scratch.keep();
        context.output.say(&format!("kept {} and its session", kept.display()))?;
        context.output.say(&format!("attach: {}", scene.how_to_attach()))?;
        return told.map(drop);
    }
    let told = told.and_then(|seen| story::afterwards(&scene, seen, context));
    scene.end();
    let seen = told?;
    context.output.say("removed the session and the scratch repository (--keep leaves them)")?;
    story::sum_up(&seen, context)
}
