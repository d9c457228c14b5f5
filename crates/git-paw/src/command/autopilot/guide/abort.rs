//! `git paw autopilot abort`

use clap::Args;
use paw_autopilot::work::{ActiveRun, WorkError};
use paw_core::PawError;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use super::{JsonArgs, current_run};
use crate::approval::Consent;
use crate::context::Context;

/// Abandon a run; its branch, its commits and your files are kept
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot abort")]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

pub(crate) fn abort(context: &Context) -> Result<Value, PawError> {
    let approves = |subject: &TrustSubject| current_run::approves(subject, Consent::Ask, context);
    let mut work = match ActiveRun::load(current_run::site(context)?, &approves) {
        Err(WorkError::NoRun) => {
            return Ok(json!({"message": "no autopilot run is in progress here", "hadWorkflow": false}));
        }
        loaded => loaded?,
    };
    work.abort()?;
    let (task, branch) = (&work.run.request.task, &work.run.branch);
    Ok(json!({
        "message": format!("abandoned the run of task {task}; branch, commits and files are kept"),
        "hadWorkflow": true,
        "taskId": task,
        "branchName": branch,
        "note": "the statuses of its tasks are unchanged",
        "report": work.report_path(),
    }))
}
