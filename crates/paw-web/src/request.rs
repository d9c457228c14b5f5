//! What the user can ask the session's process about the page.

use std::net::IpAddr;

use jiff::Timestamp;
use paw_broker::identity::Caller;
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::login::Scope;

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    pub page: PageAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PageAction {
    /// Serve the page, and create a link for one login.
    Open {
        scope: Scope,
        /// Instead of the configured address.
        bind: Option<IpAddr>,
    },
    /// End every login, and stop serving the page.
    Close,
}

impl PageRequest {
    /// Only the user, and never an agent, gets a link. A session that does not authenticate senders cannot tell them apart.
    pub fn is_allowed(caller: &Caller) -> bool {
        matches!(caller, Caller::Known(agent) if agent.as_str() == AgentId::OPERATOR)
    }
}

/// A link that logs one browser in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    pub link: String,
    /// The link for browsers on other machines, if they can reach the page.
    pub remote_link: Option<String>,
    pub code: String,
    pub scope: Scope,
    pub expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_gets_a_link() {
        let caller = |name: &str| Caller::Known(AgentId::new(name).unwrap());
        assert!(PageRequest::is_allowed(&caller("operator")));
        for other in [caller("supervisor"), caller("feat-a"), Caller::Unauthenticated] {
            assert!(!PageRequest::is_allowed(&other), "{other:?}");
        }
    }

    #[test]
    fn request_has_no_unknown_fields() {
        let parse = |text: &str| serde_json::from_str::<PageRequest>(text);
        assert_eq!(parse(r#"{"page":"close"}"#).unwrap().page, PageAction::Close);
        assert!(parse(r#"{"page":{"open":{"scope":"act","bind":"127.0.0.1"}}}"#).is_ok());
        assert!(parse(r#"{"page":{"open":{"scope":"act","bind":null,"trust":true}}}"#).is_err());
        assert!(parse(r#"{"page":"close","what":{}}"#).is_err());
    }
}
