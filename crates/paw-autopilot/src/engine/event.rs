//! What can happen to a run, and what is to be done next.

use std::time::Duration;

use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport};

use super::budget::Spent;
use crate::evidence::red::Red;
use crate::evidence::{GreenProof, Objection};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
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
    RedJudged(Red),
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
    /// Nobody opened one: it was declined, or it could not be and the user was told how.
    NoPullRequest,
    /// The executor did not work. `temporary`: it may, later.
    ExecutorFailed {
        why: String,
        temporary: bool,
    },
    /// HEAD or the branch is not what we left.
    HeadMoved {
        what: String,
    },
    /// Nobody can say whether the tests run what was written, and somebody has to.
    NotMeasured {
        why: String,
    },
    /// Somebody has ended the place where the executor worked.
    Closed {
        what: String,
    },
    Spent(Spent),
    Pause,
    Abort,
}

/// What comes next. There is always exactly one thing; the run's stage says about which subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Preflight,
    MakeBranch,
    /// Write failing tests. `insist`: the last ones passed at once.
    WriteTests {
        insist: bool,
    },
    /// Write the code that makes them pass.
    WriteCode,
    /// Run the tests on the files as they are.
    RunTests,
    Commit,
    Finalize,
    Push,
    OpenPullRequest,
    /// Wait, then ask again what to do.
    Wait(Duration),
    /// Nothing, until the run is resumed.
    Stop,
}

/// An event that cannot happen at this stage. The run is what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} cannot happen while the run is {stage}")]
pub struct Refused {
    pub event: &'static str,
    pub stage: &'static str,
}

impl Diagnostic for Refused {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl Event {
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
            Self::NotMeasured { .. } => "a missing measurement",
            Self::Closed { .. } => "a closed pane",
            Self::Spent(_) => "spending",
            Self::Pause => "a pause",
            Self::Abort => "an abort",
        }
    }
}
