//! `git paw autopilot abort`

use clap::Args;
use paw_autopilot::work::{Work, WorkError};
use paw_core::PawError;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use super::{JsonArgs, current_run};
use crate::approval::Consent;
use crate::context::Context;

/// Give a run up; its branch, its commits and your files stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  git paw autopilot abort")]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(super) common: JsonArgs,
}

pub(crate) fn abort(context: &Context) -> Result<Value, PawError> {
    let approves = |subject: &TrustSubject| current_run::approves(subject, Consent::Ask, context);
    let mut work = match Work::load(current_run::site(context)?, &approves) {
        Err(WorkError::NoRun) => {
            return Ok(json!({"message": "no autopilot run is under way here", "hadWorkflow": false}));
        }
        loaded => loaded?,
    };
    work.abort()?;
    let (task, branch) = (&work.run.order.task, &work.run.branch);
    Ok(json!({
        "message": format!("gave up task {task}; branch, commits and files stay as they are"),
        "hadWorkflow": true,
        "taskId": task,
        "branchName": branch,
        "note": "the statuses of its tasks stay as they are",
        "report": work.report_path(),
    }))
}
