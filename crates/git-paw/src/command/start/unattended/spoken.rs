//! How what happens is put into a line.

use paw_core::text;
use paw_supervisor::gates::{Proof, Report};
use paw_supervisor::unattended::Judgement;

use crate::output::Style;

/// What a report of the gates says about an agent's work.
pub(super) fn judgement(report: &Report) -> Judgement {
    let commit = report.commit.clone();
    let why = report.reason.clone().unwrap_or_default();
    match report.proof {
        Proof::Verified => Judgement::Verified { commit },
        Proof::Failed => Judgement::Failed { commit, errors: report.errors.clone() },
        Proof::Unproven => Judgement::Unproven { commit, why },
        Proof::Void => Judgement::Void,
    }
}

/// How a judgement is shown.
pub(super) fn spoken(judgement: &Judgement) -> (Style, &'static str, String) {
    match judgement {
        Judgement::Verified { commit } => (Style::Good, "verified", text::short_commit(commit).to_owned()),
        Judgement::Failed { commit, errors } => {
            let first = errors.first().and_then(|error| error.lines().next()).unwrap_or_default();
            (Style::Bad, "failed", format!("{} {first}", text::short_commit(commit)))
        }
        Judgement::Unproven { why, .. } => (Style::Doubtful, "unproven", why.clone()),
        Judgement::Void => (Style::Dim, "moved while its gates ran", String::new()),
        Judgement::Nothing => (Style::Doubtful, "has committed nothing", String::new()),
        Judgement::NotRun { why } => (Style::Bad, "not checked", why.clone()),
    }
}

pub(super) fn plain(words: &str) -> String {
    text::reveal(&text::truncate_chars(words, 300))
}
