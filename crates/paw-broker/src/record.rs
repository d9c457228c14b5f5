//! What is known about each agent, from its messages alone. Pure.
//!
//! The records of a session are saved beside the log from time to time; what came later is read again at the
//! start, so a restart knows what was known before.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_core::{AgentId, text};
use serde::{Deserialize, Serialize};

use crate::log::StoredMessage;
use crate::message::{Message, StatusMessage};
use crate::watch;

/// More agents than any session has. Beyond it the one that was silent longest is forgotten.
const MOST_AGENTS: usize = 512;
/// What a record repeats of an agent's own words.
const LONGEST_WORD: usize = 200;
/// Files a record names. The messages themselves hold all of them.
const MOST_FILES: usize = 1000;

/// What is known about one agent.
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
    /// The newest messages that say what it is at: status with files, artifact, blocked, intent.
    pub state: BTreeMap<StateKind, u64>,
}

/// A message that holds until the next one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateKind {
    Files,
    Artifact,
    Blocked,
    Intent,
}

/// A message that was stored, as far as records are concerned.
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

    /// The numbers of the messages from which all that holds now can be told again, oldest first.
    pub fn state(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.iter().flat_map(|record| record.state.values().copied()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Takes in the next message.
    pub fn apply(&mut self, stored: &StoredMessage) {
        let StoredMessage { seq, at, sender, message, .. } = stored;
        self.hear(&MessageRef { seq: *seq, at: *at, sender, message });
    }

    /// The same for whoever has the message in parts.
    pub fn hear(&mut self, stored: &MessageRef<'_>) {
        if watch::is_gone_message(stored.message) {
            self.0.remove(stored.sender);
            return;
        }
        match stored.message {
            Message::Status(status) => {
                let record = self.of(stored);
                record.cli = status.cli.as_deref().map(short).or_else(|| record.cli.take());
                record.phase = status.phase.as_deref().map(short).or_else(|| record.phase.take());
                if replaces(record, status) {
                    record.status = short(&status.status);
                }
                if let Some(files) = &status.modified_files {
                    record.modified_files = files.iter().take(MOST_FILES).cloned().collect();
                    record.state.insert(StateKind::Files, stored.seq);
                }
            }
            Message::Artifact(_) => self.set(stored, StateKind::Artifact),
            Message::Blocked(_) => self.set(stored, StateKind::Blocked),
            Message::Intent(_) => {
                self.of(stored).state.insert(StateKind::Intent, stored.seq);
            }
            Message::Verified(verified) => {
                if let Some(record) = self.0.get_mut(&verified.agent_id) {
                    stored.message.label().clone_into(&mut record.status);
                }
                self.see(stored);
            }
            // The broker writes it about an agent, not the agent itself.
            Message::VerifyNow(_) => {}
            _ => self.see(stored),
        }
    }

    fn set(&mut self, stored: &MessageRef<'_>, kind: StateKind) {
        let record = self.of(stored);
        record.status = short(stored.message.label());
        record.state.insert(kind, stored.seq);
    }

    /// Notes a sign of life of an agent that is known.
    fn see(&mut self, stored: &MessageRef<'_>) {
        if let Some(record) = self.0.get_mut(stored.sender) {
            record.last_seen = record.last_seen.max(stored.at);
            record.last_seq = stored.seq;
        }
    }

    /// The record of the sender, made if there is none.
    fn of(&mut self, stored: &MessageRef<'_>) -> &mut AgentRecord {
        if self.0.len() >= MOST_AGENTS && !self.0.contains_key(stored.sender) {
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

/// Whether a status changes the label. Those that say how a piece of work ended stay until there is news: another
/// set of files, words of the agent itself, or another such label.
fn replaces(record: &AgentRecord, status: &StatusMessage) -> bool {
    let ends_work = |label: &str| matches!(label, "done" | "verified" | "blocked" | "committed");
    if !ends_work(&record.status) || ends_work(&status.status) || status.message.is_some() {
        return true;
    }
    !status.files().is_empty() && status.files() != record.modified_files
}

fn short(word: &str) -> String {
    text::truncate_chars(word, LONGEST_WORD).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::route;

    #[derive(Default)]
    struct Told(AgentRecords, u64);

    impl Told {
        fn say(&mut self, name: &str, agent: &str, payload: &Value) -> &mut Self {
            let message =
                Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap();
            self.1 += 1;
            self.0.hear(&MessageRef {
                seq: self.1,
                at: Timestamp::from_second(i64::try_from(self.1).unwrap()).unwrap(),
                sender: route::sender(&message),
                message: &message,
            });
            self
        }

        fn status(&mut self, payload: &Value) -> &mut Self {
            self.say("agent.status", "a", payload)
        }

        fn record(&self) -> &AgentRecord {
            self.0.get(&AgentId::new("a").unwrap()).unwrap()
        }
    }

    #[test]
    fn a_heartbeat_without_files_leaves_the_files_alone_and_an_empty_list_clears_them() {
        let mut told = Told::default();
        told.status(&json!({"status": "working", "modified_files": ["x"], "cli": "claude"}));
        told.status(&json!({"status": "working", "phase": "tests"}));
        assert_eq!(told.record().modified_files, ["x"]);
        assert_eq!(told.record().cli.as_deref(), Some("claude"));
        assert_eq!(told.record().phase.as_deref(), Some("tests"));
        told.status(&json!({"status": "working", "modified_files": []}));
        assert!(told.record().modified_files.is_empty());
    }

    #[test]
    fn a_committed_agent_works_again_when_its_files_change_and_not_by_a_heartbeat() {
        let mut told = Told::default();
        told.status(&json!({"status": "working", "modified_files": ["x"]}));
        told.say("agent.artifact", "a", &json!({"status": "committed"}));
        told.status(&json!({"status": "working"}));
        told.status(&json!({"status": "working", "modified_files": ["x"]}));
        assert_eq!(told.record().status, "committed");
        told.status(&json!({"status": "working", "modified_files": ["x", "y"]}));
        assert_eq!(told.record().status, "working");
    }

    #[test]
    fn a_blocked_agent_goes_on_when_it_says_so() {
        let mut told = Told::default();
        told.say("agent.blocked", "a", &json!({"needs": "an API", "from": "b"}));
        told.status(&json!({"status": "working"}));
        assert_eq!(told.record().status, "blocked");
        told.status(&json!({"status": "working", "message": "the API is there"}));
        assert_eq!(told.record().status, "working");
    }

    #[test]
    fn verified_shows_on_the_agent_whose_work_it_is_and_not_on_the_verifier() {
        let mut told = Told::default();
        told.status(&json!({"status": "working"}));
        told.say("agent.status", "supervisor", &json!({"status": "watching"}));
        told.say("agent.verified", "a", &json!({"verified_by": "supervisor"}));
        assert_eq!(told.record().status, "verified");
        let supervisor = told.0.get(&AgentId::new("supervisor").unwrap()).unwrap();
        assert_eq!((supervisor.status.as_str(), supervisor.last_seq), ("watching", 3));
    }

    #[test]
    fn the_messages_that_hold_are_the_newest_of_their_kind() {
        let mut told = Told::default();
        told.status(&json!({"status": "working", "modified_files": ["x"]}));
        told.say("agent.intent", "a", &json!({"files": ["f"], "summary": "old"}));
        told.say("agent.intent", "a", &json!({"files": ["g"], "summary": "new"}));
        told.status(&json!({"status": "working"}));
        assert_eq!(told.0.state(), [1, 3]);
    }

    #[test]
    fn of_an_agent_that_is_gone_nothing_holds() {
        let mut told = Told::default();
        told.status(&json!({"status": "working", "modified_files": ["x"]}));
        told.say("agent.intent", "a", &json!({"files": ["f"], "summary": "s"}));
        let gone = watch::gone_message(&AgentId::new("a").unwrap()).to_json();
        told.status(&json!({"status": "gone"}));
        assert!(!told.0.state().is_empty(), "words of its own");
        told.status(&gone["payload"]);
        assert_eq!((told.0.iter().count(), told.0.state()), (0, Vec::new()));
        told.status(&json!({"status": "working"}));
        assert_eq!(told.record().status, "working", "it may come back");
    }

    #[test]
    fn records_are_bounded_and_survive_being_saved() {
        let mut told = Told::default();
        for agent in 0..MOST_AGENTS + 10 {
            told.say("agent.status", &format!("agent-{agent}"), &json!({"status": "x".repeat(1000)}));
        }
        assert_eq!(told.0.iter().count(), MOST_AGENTS);
        let saved = serde_json::to_string(&told.0).unwrap();
        assert_eq!(serde_json::from_str::<AgentRecords>(&saved).unwrap(), told.0);
    }
}
