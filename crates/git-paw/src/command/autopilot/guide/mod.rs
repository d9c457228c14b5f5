//! The verbs of `git paw autopilot` for an agent that writes tests and code itself. The agent asks for work and reports it;
//! git paw runs the tests. Each verb returns one JSON answer, for `--json` and MCP, which is printed as text otherwise.
//!
//! - `current_run`: the run of this directory
//! - `answer`: the fields of every answer; `answer_lines`: the same as text

mod abort;
mod answer;
mod answer_lines;
mod commit;
mod complete;
mod current_run;
mod finalize;
mod next;
mod resume;
mod start;
mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use paw_core::PawError;
use paw_core::error::EXIT_FAILURE;
use serde_json::Value;

use super::tui::{self, TuiArgs};
use crate::context::Context;

pub(crate) use abort::abort;
pub(crate) use commit::{CommitOptions, commit};
pub(crate) use complete::complete;
pub(crate) use finalize::finalize;
pub(crate) use next::next;
pub(crate) use resume::resume;
pub(crate) use start::{StartOptions, start};
pub(crate) use status::status;

#[derive(Debug, Subcommand)]
pub(crate) enum GuideVerb {
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

/// The flags of every verb.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl GuideVerb {
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

/// Runs one verb. The exit code is 1 if the answer is not `accepted`.
pub(crate) fn run(verb: &GuideVerb, context: &Context) -> Result<ExitCode, PawError> {
    let answer = match verb {
        GuideVerb::Start(args) => start(&args.wanted(), args.consent(), context)?,
        GuideVerb::Next(_) => next(context)?,
        GuideVerb::Complete(_) => complete(context)?,
        GuideVerb::Commit(args) => commit(&args.wanted(), context)?,
        GuideVerb::Status(_) => status(context)?,
        GuideVerb::Resume(args) => resume(&args.force, args.consent(), context)?,
        GuideVerb::Finalize(args) => finalize(args.consent(), context)?,
        GuideVerb::Abort(_) => abort(context)?,
        GuideVerb::Tui(args) => return tui::run(args, context).map(|()| ExitCode::SUCCESS),
    };
    if context.output.wants_json() {
        context.output.document(&answer)?;
    } else {
        answer_lines::lines(&answer).iter().try_for_each(|line| context.output.say(line))?;
    }
    let refused = answer.get("accepted").and_then(Value::as_bool) == Some(false);
    Ok(if refused { ExitCode::from(EXIT_FAILURE) } else { ExitCode::SUCCESS })
}
