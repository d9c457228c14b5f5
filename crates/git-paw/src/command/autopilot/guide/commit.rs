//! `git paw autopilot commit`

use std::path::Path;

use clap::Args;
use paw_autopilot::engine::Stage;
use paw_autopilot::work::Work;
use paw_core::paths::TaskmasterDir;
use paw_core::{ErrorCode, PawError};
use serde_json::{Value, json};

use super::{CommonArgs, run_at, view};
use crate::approval::autopilot::known_commands;
use crate::context::Context;

/// Commit what was proven, with the subtask's status in the same commit
///
/// The tests are run once more. Nothing is ever committed to the default branch, and your hooks have their say.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  git paw autopilot commit
  git paw autopilot commit --message \"feat(metrics): count what users do\"")]
pub(crate) struct CommitArgs {
    /// Your own message; the trailers are added
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// What is committed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commit {
    pub(crate) message: Option<String>,
    /// The files somebody expects in it; empty means whatever was proven.
    pub(crate) files: Vec<String>,
}

impl CommitArgs {
    pub(super) fn wanted(&self) -> Commit {
        Commit { message: self.message.clone(), files: Vec::new() }
    }
}

pub(crate) fn commit(wanted: &Commit, context: &Context) -> Result<Value, PawError> {
    let mut work = run_at::load(context)?;
    work.measure_by(&known_commands(&work.site.repo, context)?);
    require_expected(&wanted.files, &work)?;
    let made = work.commit(wanted.message.as_deref())?;
    match made {
        Ok(made) => {
            let short: String = made.sha.chars().take(7).collect();
            let mut answer = view::answer(&work, &format!("committed {short} {}", made.subject))?;
            let more = json!({
                "accepted": true,
                "subtask": made.subtask,
                "commitSha": made.sha,
                "commitMessage": made.subject,
                "isComplete": matches!(work.run.stage, Stage::Finalize | Stage::Done { .. }),
            });
            view::add(&mut answer, more);
            Ok(answer)
        }
        Err(refused) => {
            let mut answer = view::answer(&work, "nothing was committed:")?;
            view::add(&mut answer, json!({"accepted": false, "objections": [refused.why]}));
            Ok(answer)
        }
    }
}

/// What was proven is committed whole. Whoever expects less is told, before anything happens.
fn require_expected(expected: &[String], work: &Work) -> Result<(), PawError> {
    if expected.is_empty() || expected.iter().any(|path| path == ".") {
        return Ok(());
    }
    let is_expected = |path: &Path| {
        let shown = work.site.shown(path);
        path.starts_with(TaskmasterDir::NAME)
            || expected.iter().any(|one| one.trim_start_matches("./") == shown || Path::new(one) == path)
    };
    let others: Vec<String> = work
        .to_commit()?
        .iter()
        .filter(|path| !is_expected(path))
        .map(|path| work.site.shown(path))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let problem = format!("the proof covers other files too: {}", others.join(", "));
    Err(PawError::new(ErrorCode::FailedPrecondition, problem)
        .hint("name them as well, or omit `files`: what was proven is committed whole"))
}
