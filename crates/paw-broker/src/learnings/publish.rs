//! Entries as messages. Pure.

use jiff::Timestamp;
use paw_core::AgentId;
use sha2::{Digest as _, Sha256};

use super::entry::LearningEntry;
use crate::log::SessionId;
use crate::message::{Extra, LearningMessage};

/// The message about an entry, sent as the supervisor. `None` for entries that came as messages.
pub(super) fn message(session: &SessionId, entry: &LearningEntry, now: Timestamp) -> Option<LearningMessage> {
    let fact = entry.fact.as_ref()?;
    Some(LearningMessage {
        agent_id: AgentId::new(AgentId::SUPERVISOR).ok()?,
        id: Some(id(session, fact.category, &fact.key)),
        branch_id: fact.agent.clone(),
        category: fact.category.to_owned(),
        title: entry.text.clone(),
        body: fact.body.clone(),
        timestamp: now.to_string(),
        extra: Extra::default(),
    })
}

/// The same on every machine and after every restart, so that no learning is published twice.
fn id(session: &SessionId, category: &str, key: &str) -> String {
    let digest = Sha256::digest(format!("{session}\n{category}\n{key}"));
    let first = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{first:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_id_depends_only_on_session_category_and_key() {
        let session = SessionId::new("paw-app/1");
        assert_eq!(id(&session, "stuck_duration", "7"), id(&session, "stuck_duration", "7"));
        assert_eq!(id(&session, "stuck_duration", "7").len(), 16);
        for other in [
            id(&session, "stuck_duration", "8"),
            id(&session, "recovery_cycles", "7"),
            id(&SessionId::new("paw-app/2"), "stuck_duration", "7"),
        ] {
            assert_ne!(other, id(&session, "stuck_duration", "7"));
        }
    }
}
