//! Going on where a run stood, if everything is still as it was.

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};

use super::budget::Spent;
use super::state::{Run, Stage, StepOutcome};
use crate::tasks::ItemId;

/// What is really there, seen before a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub branch: Option<BranchName>,
    pub head: String,
    pub parent: Option<String>,
    /// Which subtask the last commit finishes: by its trailers, and by being what was proven. Words alone are nothing.
    pub finished: Option<ItemId>,
    /// The task's subtasks in the file.
    pub subtasks: Vec<ItemId>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResumeRefused {
    #[error("the run is over: there is nothing to resume")]
    Over,
    #[error("the run was on branch '{expected}', but {} is checked out", shown(found.as_ref()))]
    WrongBranch { expected: BranchName, found: Option<BranchName> },
    #[error("the branch has moved: the run left it at {expected}, it is at {found} now")]
    HeadMoved { expected: String, found: String },
    #[error("subtask {0} is not in tasks.json any more")]
    TaskChanged(ItemId),
}

impl Diagnostic for ResumeRefused {
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

/// Takes up a run that was paused or killed. Attempts and spending count afresh, and before anybody writes anything the
/// tests are run: somebody may have fixed it by hand.
pub fn resume(stored: &Run, found: &Found) -> Result<Run, ResumeRefused> {
    let mut run = stored.checkpoint();
    if run.is_over() {
        return Err(ResumeRefused::Over);
    }
    while let Stage::Paused { at, .. } = run.stage {
        run.stage = *at;
    }
    if let Some(gone) = run.steps.iter().find(|step| !found.subtasks.contains(&step.id)) {
        return Err(ResumeRefused::TaskChanged(gone.id.clone()));
    }
    (run.spent, run.failures) = (Spent::default(), 0);
    if let Some(expected) = &run.branch {
        if found.branch.as_ref() != Some(expected) {
            return Err(ResumeRefused::WrongBranch {
                expected: expected.clone(),
                found: found.branch.clone(),
            });
        }
        if run.head.as_ref() != Some(&found.head) && !take_commit(&mut run, found) {
            let expected = run.head.clone().unwrap_or_default();
            return Err(ResumeRefused::HeadMoved { expected, found: found.head.clone() });
        }
    }
    run.stage = match run.stage {
        Stage::Red { step, passed_at_once, .. } => Stage::Red { step, attempt: 0, passed_at_once },
        Stage::Green { step, red, .. } => Stage::Green { step, attempt: 0, red },
        other => other,
    };
    Ok(run)
}

/// A crash between the commit and its checkpoint: the commit is ours, as was seen.
fn take_commit(run: &mut Run, found: &Found) -> bool {
    let Stage::Green { step, .. } = run.stage else { return false };
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
