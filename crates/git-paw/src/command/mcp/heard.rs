//! What the messages of a session say, as far as tools tell it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_broker::endpoint::PawDir;
use paw_broker::log::{MessageLog as _, PageLimit, SqliteLog};
use paw_broker::message::Intent;
use paw_broker::{Message, Stored};
use paw_core::{AgentId, PawError};
use paw_host::sqlite::Durability;
use paw_screen::dashboard::{Agent, Conflict, Feed};
use paw_screen::news::{Member, News};
use paw_session::lifecycle::Session;

use crate::context::Context;

/// Everything that was said in the running session, or in the last one.
#[derive(Debug)]
pub(super) struct Heard {
    news: News,
    intents: BTreeMap<AgentId, (Timestamp, Intent)>,
    conflicts: BTreeMap<String, Conflict>,
}

impl Heard {
    pub(super) fn load(context: &Context) -> Result<Self, PawError> {
        let repo = context.require_repo()?;
        let members = context.find_session()?.map(|session| members(&session)).unwrap_or_default();
        let mut heard = Self::new(members);
        let file = PawDir::of(&repo.common_dir).log();
        if !file.exists() {
            return Ok(heard);
        }
        let failed = |error| PawError::SessionError(format!("cannot read what was said: {error}"));
        let log = SqliteLog::open(&file, Durability::Process).map_err(failed)?;
        let Some(session) = log.current_session().map_err(failed)? else { return Ok(heard) };
        let mut since = 0;
        loop {
            let page = log.history(&session, since, PageLimit::DEFAULT).map_err(failed)?;
            let Some(last) = page.last() else { return Ok(heard) };
            since = last.seq;
            page.iter().filter_map(|entry| entry.stored(&session)).for_each(|stored| heard.hear(&stored));
        }
    }

    fn new(members: Vec<Member>) -> Self {
        let news = News::new(members, paw_broker::record::Records::default(), 0);
        Self { news, intents: BTreeMap::new(), conflicts: BTreeMap::new() }
    }

    fn hear(&mut self, stored: &Stored) {
        if let Message::Intent(intent) = &stored.message {
            self.intents.insert(intent.agent_id.clone(), (stored.at, intent.clone()));
        }
        for feed in self.news.on_message(stored) {
            match feed {
                Feed::Conflict(conflict) => {
                    self.conflicts.insert(conflict.key.clone(), conflict);
                }
                Feed::ConflictCleared(key) => {
                    self.conflicts.remove(&key);
                }
                _ => {}
            }
        }
    }

    pub(super) fn agents(&self) -> Vec<Agent> {
        let agent = |feed| match feed {
            Feed::Agent(agent) => Some(agent),
            _ => None,
        };
        self.news.agents().into_iter().filter_map(agent).collect()
    }

    pub(super) fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values()
    }

    /// The newest plan of every agent, with when it was announced, as long as it holds.
    pub(super) fn intents(&self, now: Timestamp) -> impl Iterator<Item = &(Timestamp, Intent)> {
        self.intents.values().filter(move |(at, intent)| intent.expires(*at) > now)
    }
}

fn members(session: &Session) -> Vec<Member> {
    let agents = session.receipt.worktrees.iter().zip(session.receipt.agent_ids());
    agents
        .map(|(agent, id)| Member { id, branch: agent.branch.to_string(), cli: agent.cli.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use paw_broker::{SessionId, route};
    use serde_json::{Value, json};

    use super::*;

    fn heard(messages: &[Value]) -> Heard {
        let mut heard = Heard::new(Vec::new());
        for (seq, message) in (1..).zip(messages) {
            let message = Message::from_json(message.clone()).unwrap();
            let (session, sender) = (SessionId::new("s"), route::sender(&message).clone());
            heard.hear(&Stored { seq, session, at: Timestamp::UNIX_EPOCH, sender, message });
        }
        heard
    }

    fn intent(summary: &str, seconds: u64) -> Value {
        json!({"type": "agent.intent", "agent_id": "a",
            "payload": {"files": ["x"], "summary": summary, "valid_for_seconds": seconds}})
    }

    #[test]
    fn only_the_newest_plan_of_an_agent_holds_and_not_for_ever() {
        let heard = heard(&[intent("first", 60), intent("second", 30)]);
        let at = |seconds: i64| {
            let now = Timestamp::UNIX_EPOCH + seconds.seconds();
            heard.intents(now).map(|(_, intent)| intent.summary.clone()).collect::<Vec<_>>()
        };
        assert_eq!(at(29), ["second"]);
        assert!(at(31).is_empty());
    }

    #[test]
    fn a_conflict_lasts_until_it_is_cleared() {
        let warned = |level: &str| {
            json!({"type": "agent.feedback", "agent_id": "a", "payload": {
                "from": "supervisor", "errors": ["x"], "conflict": {"kind": "in-flight", "level": level, "you": "a",
                    "other": "b", "files": [{"path": "x"}]}}})
        };
        assert_eq!(heard(&[warned("conflict")]).conflicts().count(), 1);
        assert_eq!(heard(&[warned("conflict"), warned("cleared")]).conflicts().count(), 0);
    }
}
