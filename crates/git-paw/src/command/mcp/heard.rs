//! What the messages of a session say, as far as tools tell it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_broker::log::{LogError, MessageLog as _, PageLimit, SqliteLog};
use paw_broker::message::Intent;
use paw_broker::record::Records;
use paw_broker::{Message, SessionId, Stored};
use paw_core::paths::PawDir;
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
        let file = PawDir::of(&repo.common_dir).log();
        if !file.exists() {
            return Ok(Self::new(members, Records::default(), 0));
        }
        let failed = |error| PawError::SessionError(format!("cannot read what was said: {error}"));
        let log = SqliteLog::open(&file, Durability::Process).map_err(failed)?;
        match log.current_session().map_err(failed)? {
            Some(session) => Self::read(members, &log, &session).map_err(failed),
            None => Ok(Self::new(members, Records::default(), 0)),
        }
    }

    /// What holds now, from as much of the log as tells it: the saved records, the messages they point at, and the newest.
    fn read(members: Vec<Member>, log: &SqliteLog, session: &SessionId) -> Result<Self, LogError> {
        let saved = log.load_snapshot(session)?;
        let saved = saved.and_then(|(seq, body)| Some((seq, serde_json::from_str::<Records>(&body).ok()?)));
        let (recorded, records) = saved.unwrap_or_default();
        let mut since = read_from(recorded, log.head()?);
        let mut older: Vec<u64> = records.state();
        older.extend(records.iter().map(|record| record.last_seq));
        older.sort_unstable();
        older.dedup();
        let mut heard = Self::new(members, records, recorded);
        for seq in older.into_iter().filter(|seq| (1..=since).contains(seq)) {
            let one = PageLimit { messages: 1, ..PageLimit::DEFAULT };
            let page = log.history(session, seq - 1, one)?;
            page.iter().filter_map(|entry| entry.stored(session)).for_each(|stored| heard.hear(&stored));
        }
        loop {
            let page = log.history(session, since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(heard) };
            since = last.seq;
            page.iter().filter_map(|entry| entry.stored(session)).for_each(|stored| heard.hear(&stored));
        }
    }

    fn new(members: Vec<Member>, records: Records, recorded: u64) -> Self {
        let news = News::new(members, records, recorded);
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

/// Conflicts are looked for this far back, as on the dashboard.
const LOOK_BACK: u64 = 10_000;

/// After which message reading begins: whatever the records do not hold, and at least the newest.
fn read_from(recorded: u64, head: u64) -> u64 {
    recorded.min(head.saturating_sub(LOOK_BACK))
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
    use paw_broker::log::Draft;
    use paw_broker::route;
    use paw_host::clock;
    use serde_json::{Value, json};

    use super::*;

    fn heard(messages: &[Value]) -> Heard {
        let mut heard = Heard::new(Vec::new(), Records::default(), 0);
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
    fn what_still_holds_is_known_however_long_ago_it_was_said() {
        let place = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(&place.path().join("log.db"), Durability::Process).unwrap();
        let session = SessionId::new("s");
        log.begin(&session, clock::now()).unwrap();
        let draft = |message: Value| Draft::new(Message::from_json(message).unwrap(), clock::now());
        let status = |agent: &str, words: &str| {
            draft(
                json!({"type": "agent.status", "agent_id": agent, "payload": {"status": "working", "message": words}}),
            )
        };
        log.append(&session, &[draft(intent("the plan", 86_400)), status("a", "old words")]).unwrap();
        let many: Vec<_> = (0..LOOK_BACK + 100).map(|_| status("b", "chatter")).collect();
        log.append(&session, &many).unwrap();
        let mut records = Records::default();
        for stored in log.history(&session, 0, PageLimit { messages: 2, bytes: 1 << 20 }).unwrap() {
            records.apply(&stored.stored(&session).unwrap());
        }
        log.save_snapshot(&session, 2, &serde_json::to_string(&records).unwrap()).unwrap();
        let heard = Heard::read(Vec::new(), &log, &session).unwrap();
        assert_eq!(heard.intents(clock::now()).count(), 1);
        let words: Vec<_> =
            heard.agents().iter().map(|agent| agent.last_message.as_str().to_owned()).collect();
        assert_eq!(words, ["old words", "chatter"]);
    }

    #[test]
    fn reading_begins_behind_the_records_but_never_far_behind_the_newest() {
        assert_eq!(read_from(0, 500), 0);
        assert_eq!(read_from(400, 500), 0);
        assert_eq!(read_from(999_000, 1_000_000), 990_000);
        assert_eq!(read_from(2_048, 1_000_000), 2_048, "what no record holds has to be read");
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
