//! `git paw autopilot commit`

use std::path::Path;

use clap::Args;
use paw_autopilot::engine::RunStage;
use paw_autopilot::work::ActiveRun;
use paw_core::paths::TaskmasterDir;
use paw_core::{ErrorCode, PawError};
use serde_json::{Value, json};

use super::{JsonArgs, answer, current_run};
use crate::approval::autopilot::approved_final_commands;
use crate::context::Context;

/// Commit the proven changes, with the subtask's status in the same commit
///
/// Runs the tests once more. Your git hooks run as usual. Nothing is ever committed to the default branch.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot commit
  git paw autopilot commit --message \"feat(metrics): count what users do\"")]
pub(crate) struct CommitArgs {
    /// Commit message; git paw adds the trailers
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

/// The options of a commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommitOptions {
    pub(crate) message: Option<String>,
    /// The files the caller expects in the commit; empty means all proven changes.
    pub(crate) files: Vec<String>,
}

impl CommitArgs {
    pub(super) fn wanted(&self) -> CommitOptions {
        CommitOptions { message: self.message.clone(), files: Vec::new() }
    }
}

pub(crate) fn commit(wanted: &CommitOptions, context: &Context) -> Result<Value, PawError> {
    let mut work = current_run::load(context)?;
    work.set_coverage_command(&approved_final_commands(&work.context.repo, context)?);
    require_expected(&wanted.files, &work)?;
    let made = work.commit(wanted.message.as_deref())?;
    match made {
        Ok(made) => {
            let short: String = made.sha.chars().take(7).collect();
            let mut answer = answer::answer(&work, &format!("committed {short} {}", made.subject))?;
            let more = json!({
                "accepted": true,
                "subtask": made.subtask,
                "commitSha": made.sha,
                "commitMessage": made.subject,
                "isComplete": matches!(work.run.stage, RunStage::Finalize | RunStage::Done { .. }),
            });
            answer::add(&mut answer, more);
            Ok(answer)
        }
        Err(refused) => {
            let mut answer = answer::answer(&work, "nothing was committed:")?;
            answer::add(&mut answer, json!({"accepted": false, "objections": [refused.why]}));
            Ok(answer)
        }
    }
}

/// All proven changes are committed together. Fails if the caller expects fewer files.
fn require_expected(expected: &[String], work: &ActiveRun) -> Result<(), PawError> {
    if expected.is_empty() || expected.iter().any(|path| path == ".") {
        return Ok(());
    }
    let is_expected = |path: &Path| {
        let shown = work.context.shown(path);
        path.starts_with(TaskmasterDir::NAME)
            || expected.iter().any(|one| one.trim_start_matches("./") == shown || Path::new(one) == path)
    };
    let others: Vec<String> = work
        .paths_to_commit()?
        .iter()
        .filter(|path| !is_expected(path))
        .map(|path| work.context.shown(path))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let problem = format!("the proof also covers other files: {}", others.join(", "));
    Err(PawError::new(ErrorCode::FailedPrecondition, problem)
        .hint("name them, too, or omit `files`: all proven changes are committed together"))
}
