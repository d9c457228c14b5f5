//! What a merge learns from the messages of a session: dependencies and verified commits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paw_broker::identity::Caller;
use paw_broker::log::{self, PageLimit};
use paw_broker::{Message, SessionId, StoredMessage};
use paw_core::AgentId;
use paw_core::paths::PawDir;
use serde_json::Value;

use super::MergeError;
use super::order::MergeDependency;

/// The field that identifies a message of a merge.
pub(super) const MARK: &str = "merge";
/// A shorter commit prefix is ambiguous.
const FEWEST_DIGITS: usize = 7;

/// The dependencies between agents, the verified commits, and the messages that earlier merges sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verifications {
    pub edges: Vec<MergeDependency>,
    verified: BTreeMap<AgentId, BTreeSet<String>>,
    /// Commits with a signed proof.
    proven: BTreeSet<String>,
    marks: BTreeSet<String>,
}

impl Verifications {
    /// Reads the messages of a session; without one, of the last session.
    pub fn load(common_dir: &Path, session: Option<&SessionId>) -> Result<Self, MergeError> {
        let mut verifications = Self::default();
        let Some(log) = log::find(&PawDir::of(common_dir).log())? else { return Ok(verifications) };
        let current = match session {
            Some(session) => Some(session.clone()),
            None => log.current_session()?,
        };
        let Some(session) = current else { return Ok(verifications) };
        let mut since = 0;
        loop {
            let page = log.history(&session, since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(verifications) };
            since = last.seq;
            page.iter()
                .filter_map(|entry| entry.parse(&session))
                .for_each(|stored| verifications.record(&stored));
        }
    }

    pub fn record(&mut self, stored: &StoredMessage) {
        let extra = match &stored.message {
            Message::Blocked(blocked) => {
                let edge = MergeDependency { dependent: blocked.agent_id.clone(), on: blocked.from.clone() };
                if !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
                return;
            }
            // Only the supervisor and the user can verify, and only the commit they name.
            Message::Verified(verified) => {
                if let Some(commit) = &verified.commit
                    && Caller::Known(stored.sender.clone()).is_privileged()
                {
                    self.verified.entry(verified.agent_id.clone()).or_default().insert(commit.clone());
                }
                return;
            }
            Message::AdvancedMain(message) => &message.extra.envelope,
            Message::Feedback(message) => {
                // A commit with problems that were found later is no longer verified.
                if let Some(commit) = message.extra.payload.get("commit").and_then(Value::as_str)
                    && Caller::Known(stored.sender.clone()).is_privileged()
                    && let Some(commits) = self.verified.get_mut(&message.agent_id)
                {
                    commits.retain(|known| !commit.starts_with(known.as_str()));
                }
                &message.extra.payload
            }
            Message::Question(message) => &message.extra.payload,
            Message::Status(message) => &message.extra.payload,
            _ => return,
        };
        if let Some(mark) = extra.get(MARK).and_then(Value::as_str) {
            self.marks.insert(mark.to_owned());
        }
    }

    /// Adds the commits whose gates passed according to signed proofs.
    #[must_use]
    pub fn with_proofs(mut self, commits: BTreeSet<String>) -> Self {
        self.proven = commits;
        self
    }

    /// Whether a signed proof says that the gates of this commit passed.
    pub fn is_proven(&self, tip: &str) -> bool {
        self.proven.contains(tip)
    }

    /// Whether the supervisor or the user declared exactly this commit of the agent verified.
    pub fn is_verified(&self, agent: &AgentId, tip: &str) -> bool {
        let is_tip = |commit: &String| commit.len() >= FEWEST_DIGITS && tip.starts_with(commit.as_str());
        self.verified.get(agent).is_some_and(|commits| commits.iter().any(is_tip))
    }

    /// Whether a message with this mark was sent before.
    pub(super) fn was_sent(&self, mark: &str) -> bool {
        self.marks.contains(mark)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_broker::route;
    use serde_json::json;

    use super::*;

    const TIP: &str = "0123456789abcdef0123456789abcdef01234567";

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    fn heard(messages: &[Value]) -> Verifications {
        let mut verifications = Verifications::default();
        for (seq, message) in (1..).zip(messages) {
            let message = Message::from_json(message.clone()).unwrap();
            let sender = route::sender(&message).clone();
            let session = SessionId::new("s");
            verifications.record(&StoredMessage { seq, session, at: Timestamp::UNIX_EPOCH, sender, message });
        }
        verifications
    }

    fn verified(by: &str, commit: &str) -> Value {
        json!({"type": "agent.verified", "agent_id": "a", "payload": {"verified_by": by, "commit": commit}})
    }

    #[test]
    fn feedback_about_a_verified_commit_ends_its_verification() {
        let feedback = |by: &str, commit: &str| json!({"type": "agent.feedback", "agent_id": "a", "payload": {"from": by, "errors": ["e"], "commit": commit}});
        let holds =
            |later: Value| heard(&[verified("supervisor", &TIP[..9]), later]).is_verified(&id("a"), TIP);
        assert!(!holds(feedback("supervisor", TIP)));
        assert!(holds(feedback("supervisor", "fedcba9876543210")));
        assert!(holds(feedback("b", TIP)), "an agent cannot end it");
    }

    #[test]
    fn each_blocked_message_is_one_dependency() {
        let blocked =
            json!({"type": "agent.blocked", "agent_id": "a", "payload": {"needs": "x", "from": "b"}});
        let verifications = heard(&[blocked.clone(), blocked]);
        assert_eq!(verifications.edges, [MergeDependency { dependent: id("a"), on: id("b") }]);
    }

    #[test]
    fn verified_counts_only_for_the_commit_it_names() {
        assert!(heard(&[verified("supervisor", TIP)]).is_verified(&id("a"), TIP));
        assert!(heard(&[verified("operator", &TIP[..9])]).is_verified(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", "fedcba9876543210")]).is_verified(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", &TIP[..3])]).is_verified(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", TIP)]).is_verified(&id("b"), TIP));
        let nameless =
            json!({"type": "agent.verified", "agent_id": "a", "payload": {"verified_by": "supervisor"}});
        assert!(!heard(&[nameless]).is_verified(&id("a"), TIP));
    }

    #[test]
    fn an_agent_cannot_verify_work() {
        assert!(!heard(&[verified("a", TIP), verified("b", TIP)]).is_verified(&id("a"), TIP));
    }

    #[test]
    fn messages_of_an_earlier_merge_are_recognized() {
        let feedback = json!({"type": "agent.feedback", "agent_id": "a",
            "payload": {"from": "operator", "errors": ["e"], "merge": "run/regression/a"}});
        assert!(heard(&[feedback]).was_sent("run/regression/a"));
    }
}
