//! What the others are told about a proof.

use paw_broker::message::{Feedback, Message, Verified};
use paw_core::AgentId;

use super::outcome::GateProof;
use super::verify::GateReport;

/// The message about a report, from `me` about the work of `agent`. A void or missing proof is nobody's news.
pub fn compose(report: &GateReport, agent: AgentId, me: AgentId) -> Option<Message> {
    match report.proof {
        GateProof::Verified => {
            let mut said = Verified::new(agent, me);
            let gates: Vec<_> = report.findings.iter().map(|finding| finding.gate.as_str()).collect();
            said.message = Some(format!("passed: {}", gates.join(", ")));
            said.commit = Some(report.commit.clone());
            Some(said.into())
        }
        GateProof::Failed => {
            let mut said = Feedback::new(agent, me, report.errors.clone());
            said.extra.payload.insert("commit".to_owned(), report.commit.clone().into());
            Some(said.into())
        }
        GateProof::Unproven | GateProof::Void => None,
    }
}
