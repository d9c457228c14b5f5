//! The state of each agent, derived from its messages alone. Pure.
//!
//! The broker saves a snapshot of the records from time to time. A start loads it and applies the messages since, so a
//! restart loses nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_core::{AgentId, text};
use serde::{Deserialize, Serialize};

use crate::log::StoredMessage;
use crate::message::{Message, StatusMessage};
use crate::watch;

/// More agents than any session has. The broker takes no messages of further ones; if the log has them nevertheless, the
/// agent with the oldest message is dropped.
pub const MAX_AGENTS: usize = 4096;
/// Characters of an agent's own text in a record.
const MAX_TEXT: usize = 200;
/// Files in a record. The messages themselves hold all of them.
const MAX_FILES: usize = 1000;
/// With many agents, each record has fewer files, so that the memory of all stays bounded.
const MAX_FILES_OF_ALL: usize = 512_000;

/// The state of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub agent_id: AgentId,
    pub cli: Option<String>,
    /// The label of the message that set it: `working`, `committed`, `blocked`, …
    pub status: String,
    pub phase: Option<String>,
    pub last_seen: Timestamp,
    pub modified_files: Vec<String>,
    /// Its newest message.
    pub last_seq: u64,
    /// The newest message of each kind that describes its state: status with files, artifact, blocked, intent.
    pub state: BTreeMap<StateKind, u64>,
}

/// A kind of message that is valid until the next one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateKind {
    Files,
    Artifact,
    Blocked,
    Intent,
}

/// The parts of a stored message that the records need.
#[derive(Debug)]
pub struct MessageRef<'a> {
    pub seq: u64,
    pub at: Timestamp,
    pub sender: &'a AgentId,
    pub message: &'a Message,
}

/// The agents of a session, by id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentRecords(BTreeMap<AgentId, AgentRecord>);

impl AgentRecords {
    pub fn iter(&self) -> impl Iterator<Item = &AgentRecord> {
        self.0.values()
    }

    pub fn get(&self, agent: &AgentId) -> Option<&AgentRecord> {
        self.0.get(agent)
    }

    /// Whether a message of this agent does not make another one leave.
    pub fn has_room_for(&self, agent: &AgentId) -> bool {
        self.0.len() < MAX_AGENTS || self.0.contains_key(agent)
    }

    /// The sequence numbers of the messages that make up the current state, oldest first.
    pub fn state_messages(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.iter().flat_map(|record| record.state.values().copied()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Applies the next message.
    pub fn apply(&mut self, stored: &StoredMessage) {
        let StoredMessage { seq, at, sender, message, .. } = stored;
        self.apply_message(&MessageRef { seq: *seq, at: *at, sender, message });
    }

    /// Like [`Self::apply`], for a message that is not a [`StoredMessage`] yet.
    pub fn apply_message(&mut self, stored: &MessageRef<'_>) {
        if watch::is_gone_message(stored.message) {
            self.0.remove(stored.sender);
            return;
        }
        match stored.message {
            Message::Status(status) => {
                let most_files = (MAX_FILES_OF_ALL / self.0.len().max(1)).min(MAX_FILES);
                let record = self.record_of(stored);
                record.cli = status.cli.as_deref().map(truncate).or_else(|| record.cli.take());
                record.phase = status.phase.as_deref().map(truncate).or_else(|| record.phase.take());
                if replaces_label(record, status) {
                    record.status = truncate(&status.status);
                }
                if let Some(files) = &status.modified_files {
                    record.modified_files = files.iter().take(most_files).cloned().collect();
                    record.state.insert(StateKind::Files, stored.seq);
                }
            }
            Message::Artifact(_) => self.set(stored, StateKind::Artifact),
            Message::Blocked(_) => self.set(stored, StateKind::Blocked),
            Message::Intent(_) => {
                self.record_of(stored).state.insert(StateKind::Intent, stored.seq);
            }
            Message::Verified(verified) => {
                if let Some(record) = self.0.get_mut(&verified.agent_id) {
                    stored.message.label().clone_into(&mut record.status);
                }
                self.touch(stored);
            }
            // Sent by the broker, not by the agent.
            Message::VerifyNow(_) => {}
            _ => self.touch(stored),
        }
    }

    fn set(&mut self, stored: &MessageRef<'_>, kind: StateKind) {
        let record = self.record_of(stored);
        record.status = truncate(stored.message.label());
        record.state.insert(kind, stored.seq);
    }

    /// Updates when a known agent was last seen.
    fn touch(&mut self, stored: &MessageRef<'_>) {
        if let Some(record) = self.0.get_mut(stored.sender) {
            record.last_seen = record.last_seen.max(stored.at);
            record.last_seq = stored.seq;
        }
    }

    /// The record of the sender, created if it is missing.
    fn record_of(&mut self, stored: &MessageRef<'_>) -> &mut AgentRecord {
        if !self.has_room_for(stored.sender) {
            let silent = self.0.values().min_by_key(|record| record.last_seq);
            if let Some(silent) = silent.map(|record| record.agent_id.clone()) {
                self.0.remove(&silent);
            }
        }
        let record = self.0.entry(stored.sender.clone()).or_insert_with(|| AgentRecord {
            agent_id: stored.sender.clone(),
            cli: None,
            status: "idle".to_owned(),
            phase: None,
            last_seen: stored.at,
            modified_files: Vec::new(),
            last_seq: stored.seq,
            state: BTreeMap::new(),
        });
        record.last_seen = record.last_seen.max(stored.at);
        record.last_seq = stored.seq;
        record
    }
}

impl FromIterator<AgentRecord> for AgentRecords {
    fn from_iter<T: IntoIterator<Item = AgentRecord>>(records: T) -> Self {
        Self(records.into_iter().map(|record| (record.agent_id.clone(), record)).collect())
    }
}

impl IntoIterator for AgentRecords {
    type Item = AgentRecord;
    type IntoIter = std::collections::btree_map::IntoValues<AgentId, AgentRecord>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}

/// Whether a status changes the label. A label that ends work (`done`, `committed`, …) stays until the agent changes
/// other files, sends a text, or sends another such label.
fn replaces_label(record: &AgentRecord, status: &StatusMessage) -> bool {
    let ends_work = |label: &str| matches!(label, "done" | "verified" | "blocked" | "committed");
    if !ends_work(&record.status) || ends_work(&status.status) || status.message.is_some() {
        return true;
    }
    !status.files().is_empty() && status.files() != record.modified_files
}

fn truncate(word: &str) -> String {
    text::truncate_chars(word, MAX_TEXT).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::route;

    #[derive(Default)]
    struct Session(AgentRecords, u64);

    impl Session {
        fn send(&mut self, name: &str, agent: &str, payload: &Value) -> &mut Self {
            let message =
                Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap();
            self.1 += 1;
            self.0.apply_message(&MessageRef {
                seq: self.1,
                at: Timestamp::from_second(i64::try_from(self.1).unwrap()).unwrap(),
                sender: route::sender(&message),
                message: &message,
            });
            self
        }

        fn status(&mut self, payload: &Value) -> &mut Self {
            self.send("agent.status", "a", payload)
        }

        fn record(&self) -> &AgentRecord {
            self.0.get(&AgentId::new("a").unwrap()).unwrap()
        }
    }

    #[test]
    fn a_status_without_files_keeps_the_files_and_an_empty_list_clears_them() {
        let mut session = Session::default();
        session.status(&json!({"status": "working", "modified_files": ["x"], "cli": "claude"}));
        session.status(&json!({"status": "working", "phase": "tests"}));
        assert_eq!(session.record().modified_files, ["x"]);
        assert_eq!(session.record().cli.as_deref(), Some("claude"));
        assert_eq!(session.record().phase.as_deref(), Some("tests"));
        session.status(&json!({"status": "working", "modified_files": []}));
        assert!(session.record().modified_files.is_empty());
    }

    #[test]
    fn a_committed_agent_is_working_again_only_when_its_files_change() {
        let mut session = Session::default();
        session.status(&json!({"status": "working", "modified_files": ["x"]}));
        session.send("agent.artifact", "a", &json!({"status": "committed"}));
        session.status(&json!({"status": "working"}));
        session.status(&json!({"status": "working", "modified_files": ["x"]}));
        assert_eq!(session.record().status, "committed");
        session.status(&json!({"status": "working", "modified_files": ["x", "y"]}));
        assert_eq!(session.record().status, "working");
    }

    #[test]
    fn a_blocked_agent_is_working_again_when_its_status_has_a_text() {
        let mut session = Session::default();
        session.send("agent.blocked", "a", &json!({"needs": "an API", "from": "b"}));
        session.status(&json!({"status": "working"}));
        assert_eq!(session.record().status, "blocked");
        session.status(&json!({"status": "working", "message": "the API is there"}));
        assert_eq!(session.record().status, "working");
    }

    #[test]
    fn verified_changes_the_status_of_the_agent_and_not_of_the_verifier() {
        let mut session = Session::default();
        session.status(&json!({"status": "working"}));
        session.send("agent.status", "supervisor", &json!({"status": "watching"}));
        session.send("agent.verified", "a", &json!({"verified_by": "supervisor"}));
        assert_eq!(session.record().status, "verified");
        let supervisor = session.0.get(&AgentId::new("supervisor").unwrap()).unwrap();
        assert_eq!((supervisor.status.as_str(), supervisor.last_seq), ("watching", 3));
    }

    #[test]
    fn state_messages_are_the_newest_of_each_kind() {
        let mut session = Session::default();
        session.status(&json!({"status": "working", "modified_files": ["x"]}));
        session.send("agent.intent", "a", &json!({"files": ["f"], "summary": "old"}));
        session.send("agent.intent", "a", &json!({"files": ["g"], "summary": "new"}));
        session.status(&json!({"status": "working"}));
        assert_eq!(session.0.state_messages(), [1, 3]);
    }

    #[test]
    fn a_gone_agent_has_no_record_until_it_sends_a_status() {
        let mut session = Session::default();
        session.status(&json!({"status": "working", "modified_files": ["x"]}));
        session.send("agent.intent", "a", &json!({"files": ["f"], "summary": "s"}));
        let gone = watch::gone_message(&AgentId::new("a").unwrap()).to_json();
        session.status(&json!({"status": "gone"}));
        assert!(!session.0.state_messages().is_empty(), "only the watcher can report that an agent is gone");
        session.status(&gone["payload"]);
        assert_eq!((session.0.iter().count(), session.0.state_messages()), (0, Vec::new()));
        session.status(&json!({"status": "working"}));
        assert_eq!(session.record().status, "working", "the agent is back");
    }

    #[test]
    fn a_thousand_agents_on_fifty_hosts_have_a_record_each() {
        let mut session = Session::default();
        let files: Vec<_> = (0..2000).map(|file| format!("src/{file}.rs")).collect();
        for agent in 0..1000 {
            let name = format!("host-{}-agent-{agent}", agent % 50);
            session.send("agent.status", &name, &json!({"status": "working", "modified_files": files}));
        }
        assert_eq!(session.0.iter().count(), 1000);
        let kept: usize = session.0.iter().map(|record| record.modified_files.len()).sum();
        assert!(kept <= 2 * MAX_FILES_OF_ALL, "{kept}");
        let least = session.0.iter().map(|record| record.modified_files.len()).min();
        assert_eq!(least, Some(MAX_FILES_OF_ALL / 999));
    }

    #[test]
    fn records_are_bounded_and_survive_a_round_trip_through_json() {
        let mut session = Session::default();
        for agent in 0..MAX_AGENTS + 10 {
            session.send("agent.status", &format!("agent-{agent}"), &json!({"status": "x".repeat(1000)}));
        }
        assert_eq!(session.0.iter().count(), MAX_AGENTS);
        let saved = serde_json::to_string(&session.0).unwrap();
        assert_eq!(serde_json::from_str::<AgentRecords>(&saved).unwrap(), session.0);
    }
}
