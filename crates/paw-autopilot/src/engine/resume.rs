//! Resuming a stored run, if branch, HEAD and task still match.

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};

use super::budget::Spending;
use super::state::{Run, RunStage, StepOutcome};
use crate::tasks::ItemId;

/// The state of the worktree at resume time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeContext {
    pub branch: Option<BranchName>,
    pub head: String,
    pub parent: Option<String>,
    /// The subtask that the last commit finishes: its trailers name it and its content is what was proven. A message
    /// alone does not count.
    pub finished: Option<ItemId>,
    /// The task's subtasks in tasks.json.
    pub subtasks: Vec<ItemId>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    #[error("the run has ended; there is nothing to resume")]
    Over,
    #[error("the run was on branch '{expected}', but {} is checked out", shown(found.as_ref()))]
    WrongBranch { expected: BranchName, found: Option<BranchName> },
    #[error("the branch has moved: the run left it at {expected}, it is at {found} now")]
    HeadMoved { expected: String, found: String },
    #[error("subtask {0} is no longer in tasks.json")]
    TaskChanged(ItemId),
}

impl Diagnostic for ResumeError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::Over => report.hint("start it again with git paw autopilot TASK"),
            Self::WrongBranch { expected, .. } => report.hint(format!("git switch {expected}")),
            Self::HeadMoved { .. } => report.hint("git reset, or start a new run"),
            Self::TaskChanged(_) => report.hint("put it back, or start a new run"),
        }
    }
}

fn shown(branch: Option<&BranchName>) -> String {
    branch.map_or_else(|| "no branch".into(), |branch| format!("'{branch}'"))
}

/// Resumes a run that was paused or killed. Attempts and spending start at zero. The tests run before the executor
/// does, because the user may have fixed the problem.
pub fn resume(stored: &Run, found: &ResumeContext) -> Result<Run, ResumeError> {
    let mut run = stored.checkpoint();
    if run.is_over() {
        return Err(ResumeError::Over);
    }
    while let RunStage::Paused { at, .. } = run.stage {
        run.stage = *at;
    }
    if let Some(gone) = run.steps.iter().find(|step| !found.subtasks.contains(&step.id)) {
        return Err(ResumeError::TaskChanged(gone.id.clone()));
    }
    (run.spent, run.failures) = (Spending::default(), 0);
    if let Some(expected) = &run.branch {
        if found.branch.as_ref() != Some(expected) {
            return Err(ResumeError::WrongBranch { expected: expected.clone(), found: found.branch.clone() });
        }
        if run.head.as_ref() != Some(&found.head) && !take_commit(&mut run, found) {
            let expected = run.head.clone().unwrap_or_default();
            return Err(ResumeError::HeadMoved { expected, found: found.head.clone() });
        }
    }
    run.stage = match run.stage {
        RunStage::Red { step, passed_at_once, .. } => RunStage::Red { step, attempt: 0, passed_at_once },
        RunStage::Green { step, red, .. } => RunStage::Green { step, attempt: 0, red },
        other => other,
    };
    Ok(run)
}

/// Accepts a commit of ours that was made just before a crash, so that it is not in the checkpoint.
fn take_commit(run: &mut Run, found: &ResumeContext) -> bool {
    let RunStage::Green { step, .. } = run.stage else { return false };
    let ours = found.parent == run.head && found.finished.as_ref() == Some(&run.steps[step].id);
    if ours {
        run.steps[step].outcome = StepOutcome::Committed { sha: found.head.clone() };
        run.head = Some(found.head.clone());
        run.next_step();
    }
    ours
}

#[cfg(test)]
mod tests;
