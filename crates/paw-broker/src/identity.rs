//! Who is speaking. One token per agent of a session and one for the person at the keyboard; only their hashes are
//! kept. Whoever has no token is nobody.
//!
//! - [`Token`], [`SessionTokens`]: made, hashed, compared in constant time
//! - [`may_send`]: which messages a token's owner may send. Pure.
//! - [`Keyring`]: the hashes in the database, and the operator's token in its file

mod keyring;

use std::fmt::{self, Write as _};

use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

pub use keyring::{IdentityError, Keyring};

use crate::message::{ArtifactMessage, Message};

/// A secret that proves who its holder is. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    const PREFIX: &'static str = "paw_";

    /// A new one, from the system's randomness.
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

    /// As it came from an environment variable, a file or a header.
    pub fn from_text(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret itself. Only for a pane's environment, a private file or a header.
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

/// What is kept of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether both are the same, in a time that does not depend on where they differ.
    fn is(&self, other: &Self) -> bool {
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

/// Everybody who can prove who they are.
#[derive(Debug, Clone, Default)]
pub struct SessionTokens(Vec<(AgentId, TokenHash)>);

impl SessionTokens {
    pub fn new(keys: Vec<(AgentId, TokenHash)>) -> Self {
        Self(keys)
    }

    /// Whether an agent has a token.
    pub fn has(&self, agent: &AgentId) -> bool {
        self.0.iter().any(|(owner, _)| owner == agent)
    }

    /// Whose token it is. Every key is compared, whichever fits.
    pub fn owner(&self, token: &Token) -> Option<&AgentId> {
        let hash = token.hash();
        let mut owner = None;
        for (agent, key) in &self.0 {
            if key.is(&hash) {
                owner = Some(agent);
            }
        }
        owner
    }
}

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The owner of a token.
    Known(AgentId),
    /// Anybody, where the configuration asks nobody for a token.
    Unauthenticated,
}

/// Why a caller may not send a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendRefusal {
    #[error("the sender is '{claimed}', but the token belongs to '{owner}'")]
    ForgedSender { claimed: AgentId, owner: AgentId },
    #[error("only the supervisor or the operator may send {0}")]
    NotPrivileged(&'static str),
}

impl Diagnostic for SendRefusal {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::FailedPrecondition, self)
    }
}

impl Caller {
    /// Whether it speaks for the whole session.
    pub fn is_privileged(&self) -> bool {
        match self {
            Self::Known(agent) => matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR),
            Self::Unauthenticated => true,
        }
    }
}

/// Whether `caller` may send `message`: in its own name only, and what judges others' work only when in charge.
///
/// One message is about a worktree rather than from its agent: that there is a new commit. Whoever is in charge may have
/// made it there.
pub fn may_send(caller: &Caller, message: &Message) -> Result<(), SendRefusal> {
    let Caller::Known(owner) = caller else { return Ok(()) };
    if let Some(claimed) = message.sender()
        && claimed != owner
        && !(caller.is_privileged() && is_commit(message))
    {
        return Err(SendRefusal::ForgedSender { claimed: claimed.clone(), owner: owner.clone() });
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
    fn tokens_differ_and_do_not_show_themselves() {
        let (one, two) = (Token::mint().unwrap(), Token::mint().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.reveal().len(), Token::PREFIX.len() + 64);
        assert!(!format!("{one:?} {:?}", one.hash()).contains(&one.reveal()[4..12]));
    }

    #[test]
    fn a_token_opens_for_its_owner_alone() {
        let (one, two) = (Token::mint().unwrap(), Token::mint().unwrap());
        let keys = SessionTokens::new(vec![(id("a"), one.hash()), (id("b"), two.hash())]);
        assert_eq!(keys.owner(&one), Some(&id("a")));
        assert_eq!(keys.owner(&Token::from_text(&format!(" {}\n", two.reveal()))), Some(&id("b")));
        for text in ["", "paw_", &one.reveal()[..20], &format!("{}0", one.reveal())] {
            assert_eq!(keys.owner(&Token::from_text(text)), None, "{text}");
        }
    }

    #[test]
    fn the_sender_is_the_field_that_its_type_says() {
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
    fn a_commit_in_an_agent_s_worktree_may_be_told_by_whoever_is_privileged_and_by_no_other_agent() {
        let told = |status: &str| Message::from(ArtifactMessage::new(id("a"), status));
        for owner in ["a", "supervisor", "operator"] {
            assert_eq!(
                may_send(&Caller::Known(id(owner)), &told(ArtifactMessage::COMMITTED)),
                Ok(()),
                "{owner}"
            );
        }
        let forged = |owner| Err(SendRefusal::ForgedSender { claimed: id("a"), owner: id(owner) });
        assert_eq!(may_send(&Caller::Known(id("b")), &told(ArtifactMessage::COMMITTED)), forged("b"));
        assert_eq!(may_send(&Caller::Known(id("operator")), &told("done")), forged("operator"));
    }
}
