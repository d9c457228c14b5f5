//! Events and actions of a run.

use std::time::Duration;

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};

use super::budget::Spending;
use crate::evidence::red::RedJudgement;
use crate::evidence::{GreenProof, Objection};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEvent {
    PreflightPassed,
    PreflightFailed {
        problems: Vec<String>,
    },
    BranchMade {
        branch: BranchName,
        head: String,
    },
    BranchRefused {
        why: String,
    },
    RedJudged(RedJudgement),
    GreenJudged(Result<GreenProof, Vec<Objection>>),
    Committed {
        branch: Option<BranchName>,
        sha: String,
    },
    CommitRefused {
        why: String,
    },
    FinalPassed,
    FinalFailed {
        why: String,
    },
    Pushed,
    PushFailed {
        why: String,
    },
    PullRequestMade {
        url: String,
    },
    /// No pull request was opened: the user declined, or got the commands to do it.
    NoPullRequest,
    /// The executor failed. `temporary`: a retry may succeed.
    ExecutorFailed {
        why: String,
        temporary: bool,
    },
    /// HEAD or the branch is not where the run left it.
    HeadMoved {
        what: String,
    },
    /// Git settings, hooks, dependencies or files of the test runner were changed.
    ProtectedChanged {
        what: String,
    },
    /// Coverage is required but could not be measured.
    NotMeasured {
        why: String,
    },
    /// The executor's pane was closed.
    Closed {
        what: String,
    },
    Spent(Spending),
    Pause,
    Abort,
}

/// The next action. There is always exactly one; the stage holds the subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAction {
    Preflight,
    MakeBranch,
    /// Write failing tests. `insist`: the previous ones passed without new code.
    WriteTests {
        insist: bool,
    },
    /// Write code that makes the tests pass.
    WriteCode,
    /// Run the tests without the executor.
    RunTests,
    Commit,
    Finalize,
    Push,
    OpenPullRequest,
    /// Wait, then continue.
    Wait(Duration),
    /// Stop until the run is resumed.
    Stop,
}

/// An event that is not valid in the current stage. The run is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} cannot happen while the run is {stage}")]
pub struct UnexpectedEvent {
    pub event: &'static str,
    pub stage: &'static str,
}

impl Diagnostic for UnexpectedEvent {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl RunEvent {
    pub fn name(&self) -> &'static str {
        match self {
            Self::PreflightPassed => "a passed preflight",
            Self::PreflightFailed { .. } => "a failed preflight",
            Self::BranchMade { .. } => "a new branch",
            Self::BranchRefused { .. } => "a refused branch",
            Self::RedJudged(_) => "a judgement of tests",
            Self::GreenJudged(_) => "a judgement of code",
            Self::Committed { .. } => "a commit",
            Self::CommitRefused { .. } => "a refused commit",
            Self::FinalPassed => "a passed final check",
            Self::FinalFailed { .. } => "a failed final check",
            Self::Pushed => "a push",
            Self::PushFailed { .. } => "a failed push",
            Self::PullRequestMade { .. } => "a pull request",
            Self::NoPullRequest => "the end without a pull request",
            Self::ExecutorFailed { .. } => "an executor's failure",
            Self::HeadMoved { .. } => "a moved HEAD",
            Self::ProtectedChanged { .. } => "a change of something protected",
            Self::NotMeasured { .. } => "a missing measurement",
            Self::Closed { .. } => "a closed pane",
            Self::Spent(_) => "spending",
            Self::Pause => "a pause",
            Self::Abort => "an abort",
        }
    }
}
