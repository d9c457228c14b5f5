//! The identity of senders. Each agent of a session has a token, and so does the operator; only the hashes are stored.
//!
//! - [`Token`], [`SessionTokens`]: creating, hashing and comparing tokens, in constant time
//! - [`may_send`]: which messages the owner of a token may send. Pure.
//! - [`Keyring`]: the hashes in the log, and the operator's token in its file

mod keyring;

use std::fmt::{self, Write as _};

use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

pub use keyring::{IdentityError, Keyring};

use crate::message::{ArtifactMessage, Message};
use crate::record::MAX_AGENTS;

/// A secret that proves the identity of its owner. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    const PREFIX: &'static str = "paw_";

    /// Creates a random token.
    pub fn mint() -> Result<Self, IdentityError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| IdentityError::NoRandomness(error.to_string()))?;
        let mut text = String::from(Self::PREFIX);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// A token from an environment variable, a file or a header.
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret itself. Use it only for a pane's environment, a private file or a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The hash of a token, which is what we store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Compares in constant time.
    fn matches(&self, other: &Self) -> bool {
        let words = |hash: &Self| {
            let (words, _) = hash.0.as_chunks::<8>();
            [words[0], words[1], words[2], words[3]].map(u64::from_le_bytes)
        };
        words(self).ct_eq(&words(other)).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// The token hashes of all agents that can prove their identity.
#[derive(Debug, Clone, Default)]
pub struct SessionTokens {
    keys: Vec<(AgentId, TokenHash)>,
    /// An agent that comes to this host gets a new token, so this list is never older than the token it comes with.
    moved: Vec<AgentId>,
}

impl SessionTokens {
    pub fn new(keys: Vec<(AgentId, TokenHash)>) -> Self {
        Self { keys, moved: Vec::new() }
    }

    /// Adds the agents that have read messages on another host.
    #[must_use]
    pub fn with_moved(self, moved: Vec<AgentId>) -> Self {
        Self { moved, ..self }
    }

    /// Whether an agent has read messages on another host.
    pub fn has_moved(&self, agent: &AgentId) -> bool {
        self.moved.contains(agent)
    }

    /// Whether an agent has a token.
    pub fn has(&self, agent: &AgentId) -> bool {
        self.keys.iter().any(|(owner, _)| owner == agent)
    }

    /// The owner of a token. Compares with every hash, so that the time does not depend on the owner.
    pub fn owner(&self, token: &Token) -> Option<&AgentId> {
        let hash = token.hash();
        let mut owner = None;
        for (agent, key) in &self.keys {
            if key.matches(&hash) {
                owner = Some(agent);
            }
        }
        owner
    }
}

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The owner of a token.
    Known(AgentId),
    /// Any sender: the configuration requires no token.
    Unauthenticated,
}

/// The caller may not send this message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendRefusal {
    #[error("the sender is '{claimed}', but the token belongs to '{owner}'")]
    ForgedSender { claimed: AgentId, owner: AgentId },
    #[error("only the supervisor or the operator may send {0}")]
    NotPrivileged(&'static str),
    #[error("only the session's process may send a status with the source '{0}'")]
    ReservedSource(&'static str),
    #[error("the session has {MAX_AGENTS} agents, and takes no messages of others")]
    TooManyAgents,
}

impl Diagnostic for SendRefusal {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl Caller {
    /// Whether the caller is the supervisor or the operator.
    pub fn is_privileged(&self) -> bool {
        match self {
            Self::Known(agent) => matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR),
            Self::Unauthenticated => true,
        }
    }
}

/// Whether `caller` may send `message`. Agents send in their own name only, and only a privileged caller may judge the
/// work of others.
///
/// A commit message is about a worktree rather than from its agent: the supervisor or the operator may have committed
/// there.
pub fn may_send(caller: &Caller, message: &Message) -> Result<(), SendRefusal> {
    let Caller::Known(owner) = caller else { return Ok(()) };
    if let Some(claimed) = message.sender()
        && claimed != owner
        && !(caller.is_privileged() && is_commit(message))
    {
        return Err(SendRefusal::ForgedSender { claimed: claimed.clone(), owner: owner.clone() });
    }
    if let Some(source) = message.source() {
        return Err(SendRefusal::ReservedSource(source.as_str()));
    }
    if message.is_privileged() && !caller.is_privileged() {
        return Err(SendRefusal::NotPrivileged(message.type_name()));
    }
    Ok(())
}

fn is_commit(message: &Message) -> bool {
    matches!(message, Message::Artifact(artifact) if artifact.status == ArtifactMessage::COMMITTED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    #[test]
    fn tokens_differ_and_debug_does_not_reveal_them() {
        let (one, two) = (Token::mint().unwrap(), Token::mint().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.reveal().len(), Token::PREFIX.len() + 64);
        assert!(!format!("{one:?} {:?}", one.hash()).contains(&one.reveal()[4..12]));
    }

    #[test]
    fn a_token_identifies_only_its_owner() {
        let (one, two) = (Token::mint().unwrap(), Token::mint().unwrap());
        let keys = SessionTokens::new(vec![(id("a"), one.hash()), (id("b"), two.hash())]);
        assert_eq!(keys.owner(&one), Some(&id("a")));
        assert_eq!(keys.owner(&Token::from_text(&format!(" {}\n", two.reveal()))), Some(&id("b")));
        for text in ["", "paw_", &one.reveal()[..20], &format!("{}0", one.reveal())] {
            assert_eq!(keys.owner(&Token::from_text(text)), None, "{text}");
        }
    }

    #[test]
    fn only_the_sessions_process_reports_what_it_observes() {
        for source in ["tower", "watcher"] {
            let payload = json!({"status": "gone", "phase": "idle", "source": source});
            let status = json!({"type": "agent.status", "agent_id": "a", "payload": payload});
            let status = Message::from_json(status).unwrap();
            for caller in ["a", "supervisor", "operator"] {
                assert!(may_send(&Caller::Known(id(caller)), &status).is_err(), "{source} by {caller}");
            }
        }
    }

    #[test]
    fn may_send_compares_the_token_with_the_sender_field_of_each_type() {
        let message = |name: &str, agent: &str, payload: serde_json::Value| {
            Message::from_json(json!({"type": name, "agent_id": agent, "payload": payload})).unwrap()
        };
        let merged = json!({"type": "agent.advanced-main", "from": "a", "merged_branch": "feat/a",
            "new_main_sha": "abc", "base": "main", "merged_at": "2026-01-31T12:00:00Z"});
        let learning = json!({"category": "c", "title": "t", "timestamp": "x", "agent_id": "a"});
        let forged = |owner: &str| Err(SendRefusal::ForgedSender { claimed: id("a"), owner: id(owner) });
        let own = [
            message("agent.status", "a", json!({"status": "working"})),
            message("agent.artifact", "a", json!({"status": "done"})),
            message("agent.blocked", "a", json!({"needs": "x", "from": "b"})),
            message("agent.question", "a", json!({"question": "q"})),
            message("agent.intent", "a", json!({"files": ["f"], "summary": "s"})),
            message("agent.feedback", "b", json!({"from": "a", "errors": ["e"]})),
            message("agent.answer", "b", json!({"from": "a", "answer": "yes"})),
            Message::from_json(json!({"type": "agent.learning", "payload": learning})).unwrap(),
        ];
        for message in own {
            assert_eq!(may_send(&Caller::Known(id("a")), &message), Ok(()), "{message}");
            for other in ["b", "supervisor", "operator"] {
                assert_eq!(may_send(&Caller::Known(id(other)), &message), forged(other), "{message}");
            }
            assert_eq!(may_send(&Caller::Unauthenticated, &message), Ok(()), "{message}");
        }
        let verdicts = [
            message("agent.verified", "b", json!({"verified_by": "a"})),
            Message::from_json(merged).unwrap(),
            Message::from_json(json!({"type": "supervisor.verify-now", "branch_id": "a"})).unwrap(),
        ];
        for message in verdicts {
            let refused = Err(SendRefusal::NotPrivileged(message.type_name()));
            assert_eq!(may_send(&Caller::Known(id("a")), &message), refused, "{message}");
        }
        let verified = message("agent.verified", "a", json!({"verified_by": "operator"}));
        assert_eq!(may_send(&Caller::Known(id("operator")), &verified), Ok(()));
    }

    #[test]
    fn a_commit_can_be_reported_only_by_its_agent_the_supervisor_and_the_operator() {
        let commit = |status: &str| Message::from(ArtifactMessage::new(id("a"), status));
        for owner in ["a", "supervisor", "operator"] {
            assert_eq!(
                may_send(&Caller::Known(id(owner)), &commit(ArtifactMessage::COMMITTED)),
                Ok(()),
                "{owner}"
            );
        }
        let forged = |owner| Err(SendRefusal::ForgedSender { claimed: id("a"), owner: id(owner) });
        assert_eq!(may_send(&Caller::Known(id("b")), &commit(ArtifactMessage::COMMITTED)), forged("b"));
        assert_eq!(may_send(&Caller::Known(id("operator")), &commit("done")), forged("operator"));
    }
}
