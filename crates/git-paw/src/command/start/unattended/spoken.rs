//! How what happens is put into a line.

use paw_supervisor::gates::{GateProof, GateReport};
use paw_supervisor::unattended::Judgement;

use crate::output::Style;

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

/// How a judgement is shown.
pub(super) fn spoken(judgement: &Judgement) -> (Style, &'static str, String) {
    match judgement {
        Judgement::Verified { commit } => (Style::Good, "verified", short(commit).to_owned()),
        Judgement::Failed { commit, errors } => {
            let first = errors.first().and_then(|error| error.lines().next()).unwrap_or_default();
            (Style::Bad, "failed", format!("{} {first}", short(commit)))
        }
        Judgement::Unproven { why, .. } => (Style::Doubtful, "unproven", why.clone()),
        Judgement::Void => (Style::Dim, "moved while its gates ran", String::new()),
        Judgement::Nothing => (Style::Doubtful, "has committed nothing", String::new()),
        Judgement::NotRun { why } => (Style::Bad, "not checked", why.clone()),
    }
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

pub(super) fn plain(text: &str) -> String {
    text.chars().take(300).flat_map(char::escape_debug).collect()
}
