//! What the others are told about a proof.

use paw_broker::message::{Feedback, Message, Verified};
use paw_core::AgentId;

use super::outcome::Proof;
use super::verify::Report;

/// The message about a report, from `me` about the work of `agent`. A void or missing proof is nobody's news.
pub fn compose(report: &Report, agent: AgentId, me: AgentId) -> Option<Message> {
    match report.proof {
        Proof::Verified => {
            let mut said = Verified::new(agent, me);
            let gates: Vec<_> = report.findings.iter().map(|finding| finding.gate.as_str()).collect();
            said.message = Some(format!("passed: {}", gates.join(", ")));
            said.commit = Some(report.commit.clone());
            Some(said.into())
        }
        Proof::Failed => {
            let mut said = Feedback::new(agent, me, report.errors.clone());
            said.extra.payload.insert("commit".to_owned(), report.commit.clone().into());
            Some(said.into())
        }
        Proof::Unproven | Proof::Void => None,
    }
}
