//! What the others are told about a proof.

use paw_broker::client::{Client, ClientError};
use paw_broker::message::{Feedback, Message, Verified};
use paw_core::AgentId;
use paw_host::clock;

use super::outcome::Proof;
use super::verify::Report;

/// Publishes a report about the work of `agent`. Says whether there was a message and a session to send it to.
pub fn publish(report: &Report, agent: AgentId, client: &Client) -> Result<bool, ClientError> {
    let Some(message) = compose(report, agent, client.agent().clone()) else { return Ok(false) };
    match client.say(&message, clock::now()) {
        Ok(_) => Ok(true),
        Err(ClientError::NoSession) => Ok(false),
        Err(error) => Err(error),
    }
}

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
