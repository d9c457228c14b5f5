//! What the messages of a session say that a merge has to know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paw_broker::identity::Caller;
use paw_broker::log::{self, PageLimit};
use paw_broker::{Message, SessionId, StoredMessage};
use paw_core::AgentId;
use paw_core::paths::PawDir;
use serde_json::Value;

use super::MergeError;
use super::order::Edge;

/// The field by which a message of a merge is known again.
pub(super) const MARK: &str = "merge";
/// Fewer digits of a commit could be another one's too.
const FEWEST_DIGITS: usize = 7;

/// Who waited for whom, and which commits were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Testimony {
    pub edges: Vec<Edge>,
    verified: BTreeMap<AgentId, BTreeSet<String>>,
    marks: BTreeSet<String>,
}

impl Testimony {
    /// Everything that was said in a session; without one, in the last session there was.
    pub fn load(common_dir: &Path, session: Option<&SessionId>) -> Result<Self, MergeError> {
        let mut testimony = Self::default();
        let Some(log) = log::find(&PawDir::of(common_dir).log())? else { return Ok(testimony) };
        let current = match session {
            Some(session) => Some(session.clone()),
            None => log.current_session()?,
        };
        let Some(session) = current else { return Ok(testimony) };
        let mut since = 0;
        loop {
            let page = log.history(&session, since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(testimony) };
            since = last.seq;
            page.iter().filter_map(|entry| entry.stored(&session)).for_each(|stored| testimony.hear(&stored));
        }
    }

    pub fn hear(&mut self, stored: &StoredMessage) {
        let extra = match &stored.message {
            Message::Blocked(blocked) => {
                let edge = Edge { dependent: blocked.agent_id.clone(), on: blocked.from.clone() };
                if !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
                return;
            }
            // Nobody vouches for work but those in charge, and only for the commit that is named.
            Message::Verified(verified) => {
                if let Some(commit) = &verified.commit
                    && Caller::Known(stored.sender.clone()).is_privileged()
                {
                    self.verified.entry(verified.agent_id.clone()).or_default().insert(commit.clone());
                }
                return;
            }
            Message::AdvancedMain(message) => &message.extra.envelope,
            Message::Feedback(message) => &message.extra.payload,
            Message::Question(message) => &message.extra.payload,
            Message::Status(message) => &message.extra.payload,
            _ => return,
        };
        if let Some(mark) = extra.get(MARK).and_then(Value::as_str) {
            self.marks.insert(mark.to_owned());
        }
    }

    /// Whether somebody in charge has checked exactly this commit of the agent.
    pub fn vouches(&self, agent: &AgentId, tip: &str) -> bool {
        let is_tip = |commit: &String| commit.len() >= FEWEST_DIGITS && tip.starts_with(commit.as_str());
        self.verified.get(agent).is_some_and(|commits| commits.iter().any(is_tip))
    }

    /// Whether a message with this mark was stored already.
    pub(super) fn has_heard(&self, mark: &str) -> bool {
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

    fn heard(messages: &[Value]) -> Testimony {
        let mut testimony = Testimony::default();
        for (seq, message) in (1..).zip(messages) {
            let message = Message::from_json(message.clone()).unwrap();
            let sender = route::sender(&message).clone();
            let session = SessionId::new("s");
            testimony.hear(&StoredMessage { seq, session, at: Timestamp::UNIX_EPOCH, sender, message });
        }
        testimony
    }

    fn verified(by: &str, commit: &str) -> Value {
        json!({"type": "agent.verified", "agent_id": "a", "payload": {"verified_by": by, "commit": commit}})
    }

    #[test]
    fn each_blocked_event_is_an_edge_once() {
        let blocked =
            json!({"type": "agent.blocked", "agent_id": "a", "payload": {"needs": "x", "from": "b"}});
        let testimony = heard(&[blocked.clone(), blocked]);
        assert_eq!(testimony.edges, [Edge { dependent: id("a"), on: id("b") }]);
    }

    #[test]
    fn verified_counts_only_for_the_commit_it_names() {
        assert!(heard(&[verified("supervisor", TIP)]).vouches(&id("a"), TIP));
        assert!(heard(&[verified("operator", &TIP[..9])]).vouches(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", "fedcba9876543210")]).vouches(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", &TIP[..3])]).vouches(&id("a"), TIP));
        assert!(!heard(&[verified("supervisor", TIP)]).vouches(&id("b"), TIP));
        let nameless =
            json!({"type": "agent.verified", "agent_id": "a", "payload": {"verified_by": "supervisor"}});
        assert!(!heard(&[nameless]).vouches(&id("a"), TIP));
    }

    #[test]
    fn an_agent_does_not_vouch_for_anybody() {
        assert!(!heard(&[verified("a", TIP), verified("b", TIP)]).vouches(&id("a"), TIP));
    }

    #[test]
    fn what_a_merge_has_said_is_known_again() {
        let feedback = json!({"type": "agent.feedback", "agent_id": "a",
            "payload": {"from": "operator", "errors": ["e"], "merge": "run/regression/a"}});
        assert!(heard(&[feedback]).has_heard("run/regression/a"));
    }
}
