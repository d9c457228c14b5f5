//! The audience of a message. Pure.
//!
//! An inbox is a query of the log, not a queue: it need not exist when a message is sent, so an agent that starts late
//! still finds its messages.

use paw_core::AgentId;

use crate::message::{ArtifactMessage, BlockedMessage, FeedbackMessage, Message, VerifyNowMessage};

/// The inboxes a message appears in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Audience {
    /// No inbox: the message only updates the record of its sender.
    None,
    /// All agents except the sender.
    Others,
    Only(AgentId),
    Supervisor,
}

impl Audience {
    /// Not a valid agent id.
    const OTHERS: &'static str = "*";

    pub fn only(agent: &AgentId) -> Self {
        match agent.as_str() {
            AgentId::SUPERVISOR => Self::Supervisor,
            _ => Self::Only(agent.clone()),
        }
    }

    /// The value of the log's column.
    pub fn as_column(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Others => Some(Self::OTHERS),
            Self::Only(agent) => Some(agent.as_str()),
            Self::Supervisor => Some(AgentId::SUPERVISOR),
        }
    }

    /// Parses the value of the log's column. An invalid agent id is no audience.
    pub fn from_column(column: Option<&str>) -> Self {
        match column {
            Some(Self::OTHERS) => Self::Others,
            Some(AgentId::SUPERVISOR) => Self::Supervisor,
            Some(agent) => AgentId::new(agent).map_or(Self::None, Self::Only),
            None => Self::None,
        }
    }

    /// Whether the inbox of `agent` contains a message of `sender` with this audience.
    pub fn reaches(&self, agent: &AgentId, sender: &AgentId) -> bool {
        match self {
            Self::None => false,
            Self::Others => agent != sender,
            Self::Only(only) => only == agent,
            Self::Supervisor => agent.as_str() == AgentId::SUPERVISOR,
        }
    }
}

/// The sender in the log. A request to verify has no sender; the log stores the branch it is about.
pub fn sender(message: &Message) -> &AgentId {
    message.sender().unwrap_or_else(|| message.subject())
}

/// The message that the broker adds after `message`: a request to verify follows a commit, if `nudge`, and the supervisor
/// hears of every agent that waits for another.
pub fn automatic_reply(message: &Message, nudge: bool) -> Option<Message> {
    match message {
        Message::Artifact(artifact) if nudge && artifact.status == ArtifactMessage::COMMITTED => {
            Some(VerifyNowMessage::new(artifact.agent_id.clone()).into())
        }
        Message::Blocked(blocked) if blocked.from.as_str() != AgentId::SUPERVISOR => {
            let BlockedMessage { agent_id, needs, from, .. } = blocked;
            let news = format!("[blocked] {agent_id} waits for {from}: {needs}");
            Some(FeedbackMessage::new(AgentId::supervisor(), agent_id.clone(), vec![news]).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    fn message(name: &str, agent: &str, payload: &Value) -> Message {
        Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap()
    }

    #[test]
    fn every_message_type_has_its_audience() {
        let flat = |value| Message::from_json(value).unwrap();
        let learning = |branch: Value| {
            let payload = json!({"agent_id": "a", "branch_id": branch, "category": "c", "title": "t", "timestamp": "now"});
            flat(json!({"type": "agent.learning", "payload": payload}))
        };
        let merged = json!({"type": "agent.advanced-main", "from": "supervisor", "merged_branch": "feat/a",
            "new_main_sha": "abc", "base": "main", "merged_at": "2026-01-31T12:00:00Z"});
        let only = |agent| Audience::Only(id(agent));
        let table = [
            (message("agent.status", "a", &json!({"status": "working"})), Audience::None),
            (message("agent.artifact", "a", &json!({"status": "done"})), Audience::Others),
            (message("agent.blocked", "a", &json!({"needs": "x", "from": "feat/b"})), only("feat-b")),
            (
                message("agent.blocked", "a", &json!({"needs": "x", "from": "supervisor"})),
                Audience::Supervisor,
            ),
            (message("agent.verified", "a", &json!({"verified_by": "supervisor"})), Audience::Others),
            (message("agent.feedback", "a", &json!({"from": "supervisor", "errors": ["e"]})), only("a")),
            (
                message("agent.feedback", "supervisor", &json!({"from": "a", "errors": ["e"]})),
                Audience::Supervisor,
            ),
            (message("agent.question", "a", &json!({"question": "q"})), Audience::Supervisor),
            (message("agent.intent", "a", &json!({"files": ["f"], "summary": "s"})), Audience::Others),
            (flat(merged), Audience::Others),
            (learning(json!("feat/b")), only("feat-b")),
            (learning(json!(null)), Audience::Supervisor),
            (flat(json!({"type": "supervisor.verify-now", "branch_id": "feat/a"})), Audience::Supervisor),
            (message("agent.answer", "a", &json!({"from": "operator", "answer": "yes"})), only("a")),
        ];
        let mut seen: Vec<&str> = table.iter().map(|(message, _)| message.type_name()).collect();
        seen.dedup();
        for name in Message::TYPES {
            assert!(seen.contains(&name), "{name} is not in the table");
        }
        for (message, expected) in table {
            let found = message.audience();
            assert_eq!(found, expected, "{message}");
            assert_eq!(Audience::from_column(found.as_column()), found, "{message}");
        }
    }

    #[test]
    fn a_broadcast_reaches_all_agents_except_its_sender() {
        assert!(Audience::Others.reaches(&id("b"), &id("a")));
        assert!(!Audience::Others.reaches(&id("a"), &id("a")));
        assert!(Audience::Only(id("b")).reaches(&id("b"), &id("b")));
        assert!(!Audience::Only(id("b")).reaches(&id("c"), &id("a")));
        assert!(Audience::Supervisor.reaches(&id("supervisor"), &id("a")));
        assert!(!Audience::None.reaches(&id("a"), &id("b")));
    }

    #[test]
    fn a_request_to_verify_follows_a_commit_and_no_other_artifact() {
        let nudge =
            automatic_reply(&message("agent.artifact", "a", &json!({"status": "committed"})), true).unwrap();
        assert_eq!((nudge.type_name(), sender(&nudge).as_str()), ("supervisor.verify-now", "a"));
        assert_eq!(automatic_reply(&message("agent.artifact", "a", &json!({"status": "done"})), true), None);
        let committed = message("agent.artifact", "a", &json!({"status": "committed"}));
        assert_eq!(automatic_reply(&committed, false), None);
    }

    #[test]
    fn a_blocked_message_reaches_the_supervisor_too() {
        let blocked = |on: &str| message("agent.blocked", "a", &json!({"needs": "the schema", "from": on}));
        let news = automatic_reply(&blocked("feat/db"), false).unwrap();
        assert_eq!(news.audience(), Audience::Supervisor);
        assert_eq!(
            (sender(&news).as_str(), news.summary().as_str()),
            ("a", "[blocked] a waits for feat-db: the schema")
        );
        assert_eq!(automatic_reply(&blocked("supervisor"), true), None, "it has the message itself");
    }
}
