//! What the messages of the demo's session show. Pure.

use paw_broker::message::Artifact;
use paw_broker::{Message, Stored};
use paw_core::AgentId;

use super::agent::Task;

/// Something that was said, and when: each number comes once, later ones are higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) seq: u64,
    pub(super) text: String,
}

fn agent(task: Task) -> Option<AgentId> {
    Some(AgentId::slug(&task.branch().ok()?))
}

/// Every feedback to an agent, the oldest first.
fn feedback(messages: &[Stored], task: Task) -> impl Iterator<Item = Said> {
    let agent = agent(task);
    messages.iter().filter_map(move |stored| match &stored.message {
        Message::Feedback(feedback) if Some(&feedback.agent_id) == agent.as_ref() => {
            Some(Said { seq: stored.seq, text: feedback.errors.join("\n") })
        }
        _ => None,
    })
}

/// What an agent was warned of: which file, and which lines of it.
pub(super) fn warning(messages: &[Stored], task: Task) -> Option<Said> {
    let is_exact = |text: &str| text.contains("README.md") && text.contains("your line");
    feedback(messages, task).find(|said| said.text.starts_with("[conflict-detector]") && is_exact(&said.text))
}

/// What an agent's gates had to say against its work.
pub(super) fn gate_failure(messages: &[Stored], task: Task) -> Option<Said> {
    feedback(messages, task).find(|said| said.text.starts_with("[testing]"))
}

/// When an agent first committed something.
pub(super) fn first_commit(messages: &[Stored], task: Task) -> Option<u64> {
    let agent = agent(task);
    messages.iter().find_map(|stored| match &stored.message {
        Message::Artifact(artifact)
            if Some(&artifact.agent_id) == agent.as_ref() && artifact.status == Artifact::COMMITTED =>
        {
            Some(stored.seq)
        }
        _ => None,
    })
}

/// When an agent's work was verified, and at which commit.
pub(super) fn verified(messages: &[Stored], task: Task) -> Option<Said> {
    let agent = agent(task);
    messages.iter().find_map(|stored| match &stored.message {
        Message::Verified(verified) if Some(&verified.agent_id) == agent.as_ref() => {
            Some(Said { seq: stored.seq, text: verified.commit.clone().unwrap_or_default() })
        }
        _ => None,
    })
}

/// What somebody was asked about a command.
pub(super) fn approval_asked(messages: &[Stored], command: &str) -> bool {
    messages.iter().any(|stored| match &stored.message {
        Message::Question(asked) => {
            asked.question.starts_with("[approval]") && asked.question.contains(command)
        }
        _ => false,
    })
}

/// The branches that main has got, in their order.
pub(super) fn merged(messages: &[Stored]) -> Vec<String> {
    let branch = |stored: &Stored| match &stored.message {
        Message::AdvancedMain(advanced) => Some(advanced.merged_branch.clone()),
        _ => None,
    };
    messages.iter().filter_map(branch).collect()
}

/// Whether the supervisor says that everything is done.
pub(super) fn is_over(messages: &[Stored]) -> bool {
    messages.iter().any(|stored| match &stored.message {
        Message::Status(status) => status.agent_id.as_str() == AgentId::SUPERVISOR && status.status == "done",
        _ => false,
    })
}
