//! A session on several machines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::SupervisorConfig;
use crate::name::{AgentId, BranchName, HostName};

/// The machines of a session and the agents on them. The hub writes it; another machine gets a copy when it joins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterReceipt {
    /// The id of the stream that replicates the messages.
    pub stream: String,
    /// The machine with this receipt.
    pub host: HostName,
    pub hub: HostName,
    /// Higher with each change of the machines or of their agents.
    pub version: u64,
    pub hosts: BTreeMap<HostName, HostReceipt>,
    /// The agents on other machines. Only the hub knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<RemoteAgentReceipt>,
    /// Set on another machine, if the hub's session has a supervisor or is unattended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervision: Option<HubSupervision>,
}

/// How the hub looks after the agents of another machine. The user of the hub sends it over ssh, so it counts like the user's own
/// configuration there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HubSupervision {
    /// `[supervisor]` as it applies on the hub: what its user configured or approved.
    pub config: SupervisorConfig,
    /// By a command on the hub, only while it runs and the hub is connected. Else by the hub's supervisor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// A machine of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReceipt {
    /// The public half of the key that signs its messages.
    pub key: String,
    /// The agents it may speak for, including those that it no longer runs: their last messages may still be on their way.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub agents: BTreeSet<AgentId>,
    /// Agents of it that have moved to another machine. That they left here does not mean that they left the session.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<AgentId>,
    /// Those of them that moved while this machine could not be reached. The hub removes them here when it returns.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub to_clean: BTreeSet<AgentId>,
    /// How the hub reaches it. Missing for the hub itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    /// The clone of the repository there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// An agent on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteAgentReceipt {
    pub host: HostName,
    pub agent_id: AgentId,
    pub branch: BranchName,
    pub cli: String,
    /// The task that the user gave it, for a start on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The spec that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The session created the branch, so it may also delete it.
    #[serde(default)]
    pub branch_created: bool,
    /// It is being started. A command that was killed leaves this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

impl HostReceipt {
    /// Whether an agent runs there, or ran there last.
    pub fn runs(&self, agent: &AgentId) -> bool {
        self.agents.contains(agent) && !self.left.contains(agent)
    }
}

impl ClusterReceipt {
    /// The name of the machine that a session was started on.
    pub const HUB: &str = "hub";

    pub fn is_hub(&self) -> bool {
        self.host == self.hub
    }

    /// Whether this machine watches the agent. Only one does, so that no warning is sent twice.
    pub fn is_judged_here(&self, agent: &AgentId) -> bool {
        let is_on = |host: &HostName| self.hosts.get(host).is_some_and(|host| host.runs(agent));
        if self.is_hub() {
            !self.hosts.keys().any(|host| *host != self.hub && is_on(host))
        } else {
            is_on(&self.host)
        }
    }

    /// Whether two agents are on one machine that is not the hub. That machine judges conflicts between them; the hub judges the others.
    pub fn are_both_on_one_host(&self, first: &AgentId, second: &AgentId) -> bool {
        let others = || self.hosts.iter().filter(|(name, _)| **name != self.hub);
        let host_of = |id: &AgentId| {
            let now = self.agents.iter().find(|agent| agent.agent_id == *id).map(|agent| &agent.host);
            now.or_else(|| others().find(|(_, host)| host.runs(id)).map(|(name, _)| name))
        };
        host_of(first).is_some_and(|host| host_of(second) == Some(host))
    }

    pub fn find_agent(&self, branch: &BranchName) -> Option<&RemoteAgentReceipt> {
        self.agents.iter().find(|agent| agent.branch == *branch)
    }

    /// The agents on one machine.
    pub fn agents_on(&self, host: &HostName) -> impl Iterator<Item = &RemoteAgentReceipt> {
        self.agents.iter().filter(move |agent| agent.host == *host)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::name::SessionName;
    use crate::receipt::Receipt;

    fn host(name: &str) -> HostName {
        HostName::new(name).unwrap()
    }

    fn id(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    /// `a` on the hub, `b` and `c` on big, `d` on small.
    fn receipt(own: &str) -> Receipt {
        let agents = |names: &[&str]| HostReceipt {
            key: String::new(),
            agents: names.iter().map(|name| id(name)).collect(),
            left: BTreeSet::new(),
            to_clean: BTreeSet::new(),
            ssh: None,
            path: None,
        };
        let hosts = [("hub", [].as_slice()), ("big", &["b", "c"]), ("small", &["d"])];
        let hosts = hosts.into_iter().map(|(name, names)| (host(name), agents(names))).collect();
        let mut receipt =
            Receipt::new(SessionName::new("paw-x").unwrap(), "/x".into(), "x", Timestamp::UNIX_EPOCH);
        let agent = |(name, on): (&str, &str)| RemoteAgentReceipt {
            host: host(on),
            agent_id: id(name),
            branch: BranchName::new(name).unwrap(),
            cli: "claude".to_owned(),
            task: None,
            spec: None,
            branch_created: false,
            unfinished: false,
        };
        let agents = [("b", "big"), ("c", "big"), ("d", "small")].map(agent).into();
        let stream = "s".to_owned();
        let (host, hub, version, supervision) = (host(own), host("hub"), 1, None);
        receipt.cluster = Some(ClusterReceipt { stream, host, hub, version, hosts, agents, supervision });
        receipt
    }

    #[test]
    fn one_machine_judges_each_pair_of_agents() {
        let hub = receipt("hub");
        let judges = |first, second| hub.judges(&id(first), &id(second));
        assert!(judges("a", "b") && judges("b", "d") && judges("a", "x"));
        assert!(!judges("b", "c"), "big does");
        // A machine judges the agents in its own receipt, which may be newer than what it knows of the session.
        let big = receipt("big");
        assert!(!big.judges(&id("a"), &id("b")) && !big.judges(&id("b"), &id("d")));
    }
}
