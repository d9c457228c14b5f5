//! What is worth a line while a session is followed.

use paw_core::text::{self, short_commit};
use std::sync::Arc;

use super::watch::Judgement;
use crate::gates::{GateProof, GateReport};

/// How good the news is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something begins.
    Started,
    /// Of little weight.
    Routine,
    Good,
    Doubtful,
    Bad,
}

/// One line, for a person who looks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice<'a> {
    /// About the agent of a branch: a word, and more where there is more to say.
    Agent {
        branch: &'a str,
        tone: Tone,
        word: &'a str,
        detail: &'a str,
    },
    Note(&'a str),
    Warning(&'a str),
    /// A line that a gate prints right now.
    Progress(&'a str),
}

/// Takes notices, from any thread.
pub type Notify = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

/// What a report of the gates says about an agent's work.
pub(super) fn judgement(report: &GateReport) -> Judgement {
    let commit = report.commit.clone();
    let why = report.reason.clone().unwrap_or_default();
    match report.proof {
        GateProof::Verified => Judgement::Verified { commit },
        GateProof::Failed => Judgement::Failed { commit, errors: report.errors.clone() },
        GateProof::Unproven => Judgement::Unproven { commit, why },
        GateProof::Void => Judgement::Void,
    }
}

/// How a judgement is shown: its tone, its word, and the detail.
pub(super) fn describe(judgement: &Judgement) -> (Tone, &'static str, String) {
    match judgement {
        Judgement::Verified { commit } => (Tone::Good, "verified", short_commit(commit).to_owned()),
        Judgement::Failed { commit, errors } => {
            let first = errors.first().and_then(|error| error.lines().next()).unwrap_or_default();
            (Tone::Bad, "failed", format!("{} {first}", short_commit(commit)))
        }
        Judgement::Unproven { why, .. } => (Tone::Doubtful, "unproven", why.clone()),
        Judgement::Void => (Tone::Routine, "moved while its gates ran", String::new()),
        Judgement::Nothing => (Tone::Doubtful, "has committed nothing", String::new()),
        Judgement::NotRun { why } => (Tone::Bad, "not checked", why.clone()),
    }
}

/// A text that an agent wrote, on one line.
pub(super) fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, 300))
}
