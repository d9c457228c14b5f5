//! The verbs of `git paw autopilot` for an agent that writes tests and code itself: it asks what to do, does it, and says so;
//! the tests are run here. Each verb has one answer, for programs and for MCP, and a few lines for people.
//!
//! - `run_at`: the run of this directory
//! - `view`: what every answer says; `lines`: the same for people

mod abort;
mod commit;
mod complete;
mod finalize;
mod lines;
mod next;
mod resume;
mod run_at;
mod start;
mod status;
mod view;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use serde_json::Value;

use super::tui::{self, TuiArgs};
use crate::context::Context;

pub(crate) use abort::abort;
pub(crate) use commit::{Commit, commit};
pub(crate) use complete::complete;
pub(crate) use finalize::finalize;
pub(crate) use next::next;
pub(crate) use resume::resume;
pub(crate) use start::{Start, start};
pub(crate) use status::status;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Start(start::StartArgs),
    Next(next::NextArgs),
    Complete(complete::CompleteArgs),
    Commit(commit::CommitArgs),
    Status(status::StatusArgs),
    Resume(resume::ResumeArgs),
    Finalize(finalize::FinalizeArgs),
    Abort(abort::AbortArgs),
    Tui(TuiArgs),
}

/// What every verb understands.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Start(args) => args.common.json,
            Self::Next(args) => args.common.json,
            Self::Complete(args) => args.common.json,
            Self::Commit(args) => args.common.json,
            Self::Status(args) => args.common.json,
            Self::Resume(args) => args.common.json,
            Self::Finalize(args) => args.common.json,
            Self::Abort(args) => args.common.json,
            Self::Tui(_) => false,
        }
    }
}

/// Answers one verb. The exit code is 1 where the answer is "not yet".
pub(crate) fn run(verb: &Verb, context: &Context) -> Result<ExitCode, PawError> {
    let answer = match verb {
        Verb::Start(args) => start(&args.wanted(), args.consent(), context)?,
        Verb::Next(_) => next(context)?,
        Verb::Complete(_) => complete(context)?,
        Verb::Commit(args) => commit(&args.wanted(), context)?,
        Verb::Status(_) => status(context)?,
        Verb::Resume(args) => resume(args.consent(), context)?,
        Verb::Finalize(args) => finalize(args.consent(), context)?,
        Verb::Abort(_) => abort(context)?,
        Verb::Tui(args) => return tui::run(args, context).map(|()| ExitCode::SUCCESS),
    };
    if context.output.wants_json() {
        context.output.document(&answer)?;
    } else {
        lines::lines(&answer).iter().try_for_each(|line| context.output.say(line))?;
    }
    let refused = answer.get("accepted").and_then(Value::as_bool) == Some(false);
    Ok(if refused { ExitCode::from(EXIT_FAILURE) } else { ExitCode::SUCCESS })
}
