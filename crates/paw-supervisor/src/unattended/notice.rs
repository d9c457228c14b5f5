//! Lines shown while a session is followed.

use paw_core::text::{self, short_commit};
use std::sync::Arc;

use super::workers::WorkJudgement;
use crate::gates::{GateProof, GateReport};

/// The tone of a notice, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeTone {
    /// Something starts.
    Started,
    /// Not important.
    Routine,
    Good,
    Doubtful,
    Bad,
}

/// One line for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressNotice<'a> {
    /// About the agent of a branch: a word and details.
    Agent {
        branch: &'a str,
        tone: NoticeTone,
        word: &'a str,
        detail: &'a str,
    },
    Note(&'a str),
    Warning(&'a str),
    /// A line of a gate's output.
    Progress(&'a str),
}

/// Receives notices from any thread.
pub type NotifyFn = Arc<dyn Fn(ProgressNotice<'_>) + Send + Sync>;

/// The judgement of a gate report.
pub(super) fn judgement(report: &GateReport) -> WorkJudgement {
    let commit = report.commit.clone();
    let why = report.reason.clone().unwrap_or_default();
    match report.proof {
        GateProof::Verified => WorkJudgement::Verified { commit },
        GateProof::Failed => WorkJudgement::Failed { commit, errors: report.errors.clone() },
        GateProof::Unproven => WorkJudgement::Unproven { commit, why },
        GateProof::Void => WorkJudgement::Void,
    }
}

/// How a judgement is shown: tone, word and details.
pub(super) fn describe(judgement: &WorkJudgement) -> (NoticeTone, &'static str, String) {
    match judgement {
        WorkJudgement::Verified { commit } => (NoticeTone::Good, "verified", short_commit(commit).to_owned()),
        WorkJudgement::Failed { commit, errors } => {
            let first = errors.first().and_then(|error| error.lines().next()).unwrap_or_default();
            (NoticeTone::Bad, "failed", format!("{} {first}", short_commit(commit)))
        }
        WorkJudgement::Unproven { why, .. } => (NoticeTone::Doubtful, "unproven", why.clone()),
        WorkJudgement::Void => (NoticeTone::Routine, "moved while its gates ran", String::new()),
        WorkJudgement::Nothing => (NoticeTone::Doubtful, "no commits", String::new()),
        WorkJudgement::NotRun { why } => (NoticeTone::Bad, "not checked", why.clone()),
    }
}

/// An agent's text on one line.
pub(super) fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, 300))
}
