//! A run: its request, its progress and its stage.

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};

use super::budget::{Budget, Spending};
use crate::evidence::{GreenProof, Objection, RedProof};
use crate::tasks::{ItemId, TagName, TaskId};

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    pub task: TaskId,
    pub tag: TagName,
    pub title: String,
    /// The run never commits to this branch.
    pub default_branch: Option<BranchName>,
    pub max_attempts: u32,
    pub budget: Budget,
    pub push: bool,
    pub pull_request: bool,
}

/// A subtask of the run, in execution order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    pub id: ItemId,
    pub title: String,
    pub outcome: StepOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    Open,
    Committed {
        sha: String,
    },
    /// Its new tests passed twice before any code was written.
    AlreadyImplemented,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum RunStage {
    Preflight,
    Branch,
    /// Writing tests. Attempt 0 only runs the existing tests.
    Red {
        step: usize,
        attempt: u32,
        passed_at_once: bool,
    },
    /// Writing code. Attempt 0 only runs the tests.
    Green {
        step: usize,
        attempt: u32,
        red: RedProof,
    },
    /// Proven and ready to commit. A proof is not stored: after a crash the tests run again.
    #[serde(skip)]
    Commit {
        step: usize,
        red: RedProof,
        green: GreenProof,
    },
    Finalize,
    Push,
    PullRequest,
    Done {
        pull_request: Option<String>,
    },
    Paused {
        reason: PauseReason,
        at: Box<RunStage>,
    },
    Aborted,
}

/// Why a run is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum PauseReason {
    Asked,
    Preflight {
        problems: Vec<String>,
    },
    Branch {
        why: String,
    },
    /// The branch is the default branch, which a run never commits to.
    DefaultBranch {
        branch: BranchName,
    },
    MaxAttempts {
        objections: Vec<Objection>,
    },
    Executor {
        why: String,
    },
    /// Another process committed or switched branches.
    HeadMoved {
        what: String,
    },
    /// Git settings, hooks, dependencies or files of the test runner were changed.
    Protected {
        what: String,
    },
    /// Coverage is required but could not be measured.
    Coverage {
        why: String,
    },
    /// The executor's pane was closed.
    Closed {
        what: String,
    },
    Budget {
        what: String,
    },
    Commit {
        why: String,
    },
    Final {
        why: String,
    },
    Push {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    #[serde(rename = "order")]
    pub request: RunRequest,
    pub steps: Vec<RunStep>,
    pub stage: RunStage,
    pub branch: Option<BranchName>,
    /// The last commit the run knows: the branch's start, then its own commits.
    pub head: Option<String>,
    pub spent: Spending,
    /// Consecutive executor failures.
    pub failures: u32,
}

/// A run needs at least one open subtask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task {0} has no open subtasks")]
pub struct NothingToDo(pub TaskId);

impl Diagnostic for NothingToDo {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self).hint(format!("git paw tasks show {}", self.0))
    }
}

impl Run {
    pub fn new(request: RunRequest, subtasks: Vec<(ItemId, String)>) -> Result<Self, NothingToDo> {
        if subtasks.is_empty() {
            return Err(NothingToDo(request.task));
        }
        let open = |(id, title)| RunStep { id, title, outcome: StepOutcome::Open };
        Ok(Self {
            request,
            steps: subtasks.into_iter().map(open).collect(),
            stage: RunStage::Preflight,
            branch: None,
            head: None,
            spent: Spending::default(),
            failures: 0,
        })
    }

    /// The run as it can be stored. A pending commit goes back to GREEN, because a proof is not stored.
    #[must_use]
    pub fn checkpoint(&self) -> Self {
        Self { stage: storable(&self.stage), ..self.clone() }
    }

    /// The current subtask.
    pub fn current(&self) -> Option<&RunStep> {
        self.steps.get(self.stage.step()?)
    }

    pub fn is_over(&self) -> bool {
        matches!(self.stage, RunStage::Done { .. } | RunStage::Aborted)
    }
}

fn storable(stage: &RunStage) -> RunStage {
    match stage {
        RunStage::Commit { step, red, .. } => RunStage::Green { step: *step, attempt: 0, red: red.clone() },
        RunStage::Paused { reason, at } => {
            RunStage::Paused { reason: reason.clone(), at: Box::new(storable(at)) }
        }
        other => other.clone(),
    }
}

impl RunStage {
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::Red { step, .. } | Self::Green { step, .. } | Self::Commit { step, .. } => Some(*step),
            Self::Paused { at, .. } => at.step(),
            Self::Preflight
            | Self::Branch
            | Self::Finalize
            | Self::Push
            | Self::PullRequest
            | Self::Done { .. }
            | Self::Aborted => None,
        }
    }
}
