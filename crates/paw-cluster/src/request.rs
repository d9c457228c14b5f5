//! What the user can ask the session's process about its hosts.

use paw_broker::identity::Caller;
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterRequest {
    pub cluster: ClusterAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterAction {
    /// Use the hosts and agents in the receipt. Answered when all hosts can know them.
    Apply,
    Status,
    /// Answered when the messages of this machine are in the stream, or after a while.
    Drain,
}

impl ClusterRequest {
    /// Hosts are reached with the user's ssh keys, so agents may not ask.
    pub fn is_allowed(caller: &Caller) -> bool {
        matches!(caller, Caller::Known(agent) if agent.as_str() == AgentId::OPERATOR)
    }
}
