//! The report of a gate run, and the message about it.

use std::path::PathBuf;

use paw_broker::client::{BrokerClient, ClientError};
use paw_broker::learnings::GateFailure;
use paw_broker::message::{FeedbackMessage, Message, VerifiedMessage};
use paw_core::{AgentId, BranchName};
use paw_host::clock;
use paw_host::sandbox::DENIED;
use serde::Serialize;

use super::outcome::{GateFinding, GateProof, GateStatus};
use crate::governance::{AuditFinding, GovernanceDocument};

/// The result of running a branch's gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReport {
    pub branch: BranchName,
    pub commit: String,
    #[serde(rename = "verdict")]
    pub proof: GateProof,
    /// Why the commit is unproven, the result is void, or the run failed although no gate did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commit of the main branch used for comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    #[serde(rename = "gates")]
    pub findings: Vec<GateFinding>,
    /// What the agent has to fix, with the tags of the gates.
    pub errors: Vec<String>,
    pub record: PathBuf,
    pub governance: Vec<GovernanceDocument>,
    /// What the supervisor or the user found in its audit.
    pub audit: Vec<AuditFinding>,
    /// Whether the checkout was new: its ignored files were only what runs of the main branch had left.
    #[serde(skip)]
    pub fresh: bool,
}

impl GateReport {
    /// Publishes the report about the work of `agent`; `requester` is the agent that asked for it. Returns whether a message
    /// was sent.
    pub fn publish(
        &self,
        agent: AgentId,
        requester: Option<&AgentId>,
        client: &BrokerClient,
    ) -> Result<bool, ClientError> {
        let Some(message) = self.message(agent, requester, client.agent().clone()) else { return Ok(false) };
        match client.publish(&message, clock::now()) {
            Ok(_) => Ok(true),
            Err(ClientError::NoSession) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What failed, as data for the session's learnings.
    fn failures(&self) -> Vec<GateFailure> {
        let failed = self.findings.iter().filter(|finding| finding.status == GateStatus::Failed);
        let is_denial = |line: &str| line.starts_with(DENIED);
        failed.flat_map(|one| GateFailure::of_output(one.gate.as_str(), &one.tail, is_denial)).collect()
    }

    /// The message to publish, from `me` about the work of `agent`. An unproven or void result is not published.
    fn message(&self, agent: AgentId, requester: Option<&AgentId>, me: AgentId) -> Option<Message> {
        match self.proof {
            GateProof::Verified => {
                let mut message = VerifiedMessage::new(agent, me);
                let gates: Vec<_> = self.findings.iter().map(|finding| finding.gate.as_str()).collect();
                let by = requester.map(|by| format!(", requested by {by}")).unwrap_or_default();
                message.message = Some(format!("passed: {}{by}", gates.join(", ")));
                message.commit = Some(self.commit.clone());
                Some(message.into())
            }
            GateProof::Failed => {
                let mut message = FeedbackMessage::new(agent, me, self.errors.clone());
                message.extra.payload.insert("commit".to_owned(), self.commit.clone().into());
                GateFailure::attach(&self.failures(), &mut message);
                Some(message.into())
            }
            GateProof::Unproven | GateProof::Void => None,
        }
    }
}
