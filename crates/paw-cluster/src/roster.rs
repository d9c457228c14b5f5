//! The hosts of a session.

use std::collections::{BTreeMap, BTreeSet};

use paw_broker::conflict::ConflictReport;
use paw_broker::identity::{Caller, may_send};
use paw_broker::message::Message;
use paw_broker::watch;
use paw_core::receipt::{ClusterReceipt, HostReceipt};
use paw_core::{AgentId, HostName};
use paw_host::signing::PublicKey;
use serde::{Deserialize, Serialize};

/// A host of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub key: PublicKey,
    /// The agents it may speak for. An agent that moved stays in the list of its former host, whose last messages may still be on
    /// their way. The hub also speaks for the supervisor and the operator.
    pub agents: BTreeSet<AgentId>,
    /// Agents that have moved to another host. They leave this one, and stay in the session.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<AgentId>,
}

impl Member {
    /// Whether the host may send a message: one of its agents may. Automatic requests to verify have no sender; they are about
    /// an agent of the host.
    fn may_send(&self, message: &Message) -> bool {
        let by = |agent: &AgentId| may_send(&Caller::Known(agent.clone()), message).is_ok();
        // A host warns its own agents about each other, in the name of the supervisor.
        if let (Message::Feedback(feedback), Some(report)) = (message, ConflictReport::find(message)) {
            let are_its = self.agents.contains(&report.you) && self.agents.contains(&report.other);
            return are_its && feedback.agent_id == report.you;
        }
        match message.sender() {
            // What the host's process observes.
            Some(sender) if message.source().is_some() => self.agents.contains(sender),
            Some(sender) if self.agents.contains(sender) => by(sender),
            None if self.agents.contains(message.subject()) => true,
            // The operator may announce a commit of any agent.
            _ => self.agents.get(&AgentId::operator()).is_some_and(by),
        }
    }
}

/// The hosts of a session, as the hub describes them. A host gets the roster when it joins, and changes through the stream. The
/// hub publishes a change before it starts an agent, so that the agent's messages come after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// Higher with each change.
    pub version: u64,
    /// The host that may change the roster.
    pub hub: HostName,
    pub members: BTreeMap<HostName, Member>,
}

impl Roster {
    /// A session on one host.
    pub fn new(hub: HostName, key: PublicKey) -> Self {
        let agents = BTreeSet::from([AgentId::supervisor(), AgentId::operator()]);
        let members = BTreeMap::from([(hub.clone(), Member { key, agents, left: BTreeSet::new() })]);
        Self { version: 1, hub, members }
    }

    /// Adds a host without agents. A host that is known keeps its agents and gets the key.
    pub fn add_host(&mut self, host: HostName, key: PublicKey) {
        self.version += 1;
        let member = Member { key, agents: BTreeSet::new(), left: BTreeSet::new() };
        self.members.entry(host).or_insert(member).key = key;
    }

    /// Lets a host speak for an agent. Returns whether the host is known.
    pub fn grant(&mut self, host: &HostName, agent: AgentId) -> bool {
        self.version += 1;
        self.members.get_mut(host).is_some_and(|member| {
            member.agents.insert(agent);
            true
        })
    }

    /// Nothing that the host sent and that was not read yet counts any more.
    pub fn remove_host(&mut self, host: &HostName) {
        self.version += 1;
        self.members.remove(host);
    }

    /// The roster that a receipt describes. `None` if a key in it is damaged.
    pub fn of_receipt(receipt: &ClusterReceipt) -> Option<Self> {
        let member = |host: &HostReceipt| {
            let (agents, left) = (host.agents.clone(), host.left.clone());
            Some(Member { key: host.key.parse().ok()?, agents, left })
        };
        let members = receipt.hosts.iter().map(|(name, host)| Some((name.clone(), member(host)?)));
        Some(Self {
            version: receipt.version,
            hub: receipt.hub.clone(),
            members: members.collect::<Option<_>>()?,
        })
    }

    /// Whether a host says that an agent has left which has only moved to another host.
    pub(crate) fn is_farewell_of_moved(&self, host: &HostName, message: &Message) -> bool {
        let has_moved = |member: &Member| member.left.contains(message.subject());
        watch::is_gone_message(message) && self.members.get(host).is_some_and(has_moved)
    }

    /// The hub decides who speaks for whom, so it may speak for all.
    pub(crate) fn may_send(&self, host: &HostName, message: &Message) -> bool {
        if *host == self.hub {
            return self.members.contains_key(host);
        }
        self.members.get(host).is_some_and(|member| member.may_send(message))
    }
}

#[cfg(test)]
mod tests {
    use paw_broker::message::{
        ArtifactMessage, FeedbackMessage, QuestionMessage, VerifiedMessage, VerifyNowMessage,
    };
    use paw_host::signing::SecretKey;
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    fn host(text: &str) -> HostName {
        HostName::new(text).unwrap()
    }

    #[test]
    fn a_host_speaks_for_its_own_agents_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let key = SecretKey::open(&dir.path().join("key")).unwrap().public();
        let mut roster = Roster::new(host("hub"), key);
        roster.add_host(host("big"), key);
        assert!(roster.grant(&host("hub"), id("a")) && roster.grant(&host("big"), id("b")));
        assert!(!roster.grant(&host("other"), id("c")));
        let question = |agent: &str| Message::from(QuestionMessage::new(id(agent), "why?"));
        let commit = |agent: &str| Message::from(ArtifactMessage::new(id(agent), ArtifactMessage::COMMITTED));
        let verify = |agent: &str| Message::from(VerifyNowMessage::new(id(agent)));
        let news = |from: &str| Message::from(FeedbackMessage::new(id("b"), id(from), vec!["x".into()]));
        let big = |message: &Message| roster.may_send(&host("big"), message);
        assert!(big(&question("b")) && big(&commit("b")) && big(&verify("b")) && big(&news("b")));
        assert!(!big(&question("a")) && !big(&commit("a")) && !big(&verify("a")));
        assert!(!big(&news("supervisor")) && !big(&news("operator")));
        let warning = |other: &str| {
            let report =
                json!({"kind": "in-flight", "level": "conflict", "you": "b", "other": other, "files": []});
            let payload = json!({"from": "supervisor", "errors": ["x"], "conflict": report});
            Message::from_json(json!({"type": "agent.feedback", "agent_id": "b", "payload": payload}))
                .unwrap()
        };
        assert!(roster.grant(&host("big"), id("c")) && roster.may_send(&host("big"), &warning("c")));
        assert!(!roster.may_send(&host("big"), &warning("a")), "the hub judges this pair");
        let big = |message: &Message| roster.may_send(&host("big"), message);
        let hub = |message: &Message| roster.may_send(&host("hub"), message);
        let verified = Message::from(VerifiedMessage::new(id("b"), id("b")));
        assert!(!big(&verified), "no agent verifies");
        assert!(hub(&question("a")) && hub(&news("supervisor")));
        assert!(hub(&question("b")), "the hub decides who speaks for whom");
        assert!(!roster.may_send(&host("other"), &question("b")));
        roster.remove_host(&host("big"));
        assert!(!roster.may_send(&host("big"), &question("b")));
    }
}
