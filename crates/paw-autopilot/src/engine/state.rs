//! A run: what was ordered, how far it is, and what is true at each stage.

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};

use super::budget::{Budget, Spent};
use crate::evidence::{GreenProof, Objection, RedProof};
use crate::tasks::{ItemId, TagName, TaskId};

/// What a run was started for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub task: TaskId,
    pub tag: TagName,
    pub title: String,
    /// Nothing is ever committed to it. Without one, every branch is as good as another.
    pub default_branch: Option<BranchName>,
    pub max_attempts: u32,
    pub budget: Budget,
    pub push: bool,
    pub pull_request: bool,
}

/// A subtask of the run, in the order they are done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
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
    /// Its tests passed before anybody wrote code for it, twice.
    AlreadyImplemented,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum Stage {
    Preflight,
    Branch,
    /// Tests are being written. Attempt 0 only runs those that are there.
    Red {
        step: usize,
        attempt: u32,
        passed_at_once: bool,
    },
    /// Code is being written. Attempt 0 only runs the tests.
    Green {
        step: usize,
        attempt: u32,
        red: RedProof,
    },
    /// Proven, and about to be committed. A proof does not outlive its process: it is made anew after a crash.
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
        reason: Pause,
        at: Box<Stage>,
    },
    Aborted,
}

/// Why a run stands still, and what a person can do something about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Pause {
    Asked,
    Preflight {
        problems: Vec<String>,
    },
    Branch {
        why: String,
    },
    /// The branch is the default branch, where nothing is ever committed.
    DefaultBranch {
        branch: BranchName,
    },
    MaxAttempts {
        objections: Vec<Objection>,
    },
    Executor {
        why: String,
    },
    /// Somebody committed, or changed the branch, where only we may.
    HeadMoved {
        what: String,
    },
    /// Coverage is required and could not be measured.
    Coverage {
        why: String,
    },
    /// Somebody has ended the place where the executor worked.
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
    pub order: Order,
    pub steps: Vec<Step>,
    pub stage: Stage,
    pub branch: Option<BranchName>,
    /// The last commit that we know of: the branch's start, then our own.
    pub head: Option<String>,
    pub spent: Spent,
    /// How often the executor could not be reached, one time after the other.
    pub failures: u32,
}

/// A run of nothing is no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task {0} has no open subtasks")]
pub struct NothingToDo(pub TaskId);

impl Diagnostic for NothingToDo {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self).hint(format!("git paw tasks show {}", self.0))
    }
}

impl Run {
    pub fn new(order: Order, subtasks: Vec<(ItemId, String)>) -> Result<Self, NothingToDo> {
        if subtasks.is_empty() {
            return Err(NothingToDo(order.task));
        }
        let open = |(id, title)| Step { id, title, outcome: StepOutcome::Open };
        Ok(Self {
            order,
            steps: subtasks.into_iter().map(open).collect(),
            stage: Stage::Preflight,
            branch: None,
            head: None,
            spent: Spent::default(),
            failures: 0,
        })
    }

    /// What can be written down and picked up again: a proof becomes the question for one.
    #[must_use]
    pub fn checkpoint(&self) -> Self {
        Self { stage: storable(&self.stage), ..self.clone() }
    }

    /// The subtask that is being worked on.
    pub fn current(&self) -> Option<&Step> {
        self.steps.get(self.stage.step()?)
    }

    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Done { .. } | Stage::Aborted)
    }
}

fn storable(stage: &Stage) -> Stage {
    match stage {
        Stage::Commit { step, red, .. } => Stage::Green { step: *step, attempt: 0, red: red.clone() },
        Stage::Paused { reason, at } => Stage::Paused { reason: reason.clone(), at: Box::new(storable(at)) },
        other => other.clone(),
    }
}

impl Stage {
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
