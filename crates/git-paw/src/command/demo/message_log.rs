//! Finds the messages that prove the demo's steps. Pure.

use paw_broker::message::ArtifactMessage;
use paw_broker::{Message, StoredMessage};
use paw_core::AgentId;

use super::agent::DemoTask;

/// The text of a message and its sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggedText {
    pub(super) seq: u64,
    pub(super) text: String,
}

fn agent(task: DemoTask) -> Option<AgentId> {
    Some(AgentId::slug(&task.branch().ok()?))
}

/// All feedback for an agent, oldest first.
fn feedback(messages: &[StoredMessage], task: DemoTask) -> impl Iterator<Item = LoggedText> {
    let agent = agent(task);
    messages.iter().filter_map(move |stored| match &stored.message {
        Message::Feedback(feedback) if Some(&feedback.agent_id) == agent.as_ref() => {
            Some(LoggedText { seq: stored.seq, text: feedback.errors.join("\n") })
        }
        _ => None,
    })
}

/// The conflict warning of an agent, with file and line.
pub(super) fn warning(messages: &[StoredMessage], task: DemoTask) -> Option<LoggedText> {
    let is_exact = |text: &str| text.contains("README.md") && text.contains("your line");
    feedback(messages, task).find(|said| said.text.starts_with("[conflict-detector]") && is_exact(&said.text))
}

/// The gate failure of an agent.
pub(super) fn gate_failure(messages: &[StoredMessage], task: DemoTask) -> Option<LoggedText> {
    feedback(messages, task).find(|said| said.text.starts_with("[testing]"))
}

/// The sequence number of an agent's first commit.
pub(super) fn first_commit(messages: &[StoredMessage], task: DemoTask) -> Option<u64> {
    let agent = agent(task);
    messages.iter().find_map(|stored| match &stored.message {
        Message::Artifact(artifact)
            if Some(&artifact.agent_id) == agent.as_ref()
                && artifact.status == ArtifactMessage::COMMITTED =>
        {
            Some(stored.seq)
        }
        _ => None,
    })
}

/// The verification of an agent's work, with its commit.
pub(super) fn verified(messages: &[StoredMessage], task: DemoTask) -> Option<LoggedText> {
    let agent = agent(task);
    messages.iter().find_map(|stored| match &stored.message {
        Message::Verified(verified) if Some(&verified.agent_id) == agent.as_ref() => {
            Some(LoggedText { seq: stored.seq, text: verified.commit.clone().unwrap_or_default() })
        }
        _ => None,
    })
}

/// The merged branches, in their order.
pub(super) fn merged(messages: &[StoredMessage]) -> Vec<String> {
    let branch = |stored: &StoredMessage| match &stored.message {
        Message::AdvancedMain(advanced) => Some(advanced.merged_branch.clone()),
        _ => None,
    };
    messages.iter().filter_map(branch).collect()
}

/// Whether the supervisor reported that everything is done.
pub(super) fn is_over(messages: &[StoredMessage]) -> bool {
    messages.iter().any(|stored| match &stored.message {
        Message::Status(status) => status.agent_id.as_str() == AgentId::SUPERVISOR && status.status == "done",
        _ => false,
    })
}
