//! Messages of a session become news for the dashboard. Pure.

mod conflicts;
mod words;

use std::collections::BTreeMap;

use paw_broker::message::Message;
use paw_broker::record::{AgentRecord, Records};
use paw_broker::{Stored, route, watch};
use paw_core::AgentId;

use crate::dashboard::{Agent, Feed, Mood};
use crate::text::Text;
use conflicts::Conflicts;

/// An agent that the session was started with; it is shown before it says anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: AgentId,
    pub branch: String,
    pub cli: String,
}

/// What is known so far.
#[derive(Debug, Default)]
pub struct News {
    members: BTreeMap<AgentId, Member>,
    records: Records,
    /// The records hold everything up to here.
    recorded: u64,
    words: BTreeMap<AgentId, Text>,
    conflicts: Conflicts,
}

impl News {
    /// Begins with what others know already: `records` hold everything up to message `recorded`.
    pub fn new(members: Vec<Member>, records: Records, recorded: u64) -> Self {
        let members = members.into_iter().map(|member| (member.id.clone(), member)).collect();
        Self { members, records, recorded, ..Self::default() }
    }

    /// All agents, as they are now.
    pub fn agents(&self) -> Vec<Feed> {
        let silent = self.members.keys().filter(|id| self.records.get(id).is_none());
        let known = self.records.iter().map(|record| &record.agent_id).chain(silent);
        known.map(|id| Feed::Agent(self.agent(id))).collect()
    }

    /// What a message changes on the screen.
    pub fn on_message(&mut self, stored: &Stored) -> Vec<Feed> {
        let gone = watch::is_gone(&stored.message);
        if stored.seq > self.recorded {
            self.records.apply(stored);
            self.recorded = stored.seq;
            if gone {
                self.members.remove(&stored.sender);
            }
        }
        if let Some(words) = words::own(&stored.message) {
            self.words.insert(stored.sender.clone(), words);
        }
        let mut feeds = self.conflicts.on_message(stored);
        if gone && !self.is_known(&stored.sender) {
            self.words.remove(&stored.sender);
            feeds.push(Feed::AgentGone(stored.sender.clone()));
        }
        for id in [&stored.sender, stored.message.subject()] {
            let feed = Feed::Agent(self.agent(id));
            if self.is_agent(id, &stored.message) && !feeds.contains(&feed) {
                feeds.push(feed);
            }
        }
        feeds.push(Feed::Message(words::message(stored)));
        feeds
    }

    /// Whoever is in the records or in the session; not everybody who is spoken about.
    fn is_agent(&self, id: &AgentId, message: &Message) -> bool {
        self.is_known(id) && (route::sender(message) == id || !matches!(message, Message::VerifyNow(_)))
    }

    fn is_known(&self, id: &AgentId) -> bool {
        self.records.get(id).is_some() || self.members.contains_key(id)
    }

    fn agent(&self, id: &AgentId) -> Agent {
        let member = self.members.get(id);
        let record = self.records.get(id);
        let said = |text: Option<&str>| text.map(Text::line).unwrap_or_default();
        let cli =
            record.and_then(|record| record.cli.as_deref()).or(member.map(|member| member.cli.as_str()));
        let (mood, state) = record.map_or((Mood::Idle, "idle"), state);
        Agent {
            id: id.clone(),
            mood,
            state: Text::line(state),
            branch: said(member.map(|member| member.branch.as_str())),
            cli: said(cli),
            files: record
                .map(|record| record.modified_files.iter().map(|file| Text::line(file)).collect())
                .unwrap_or_default(),
            last_seen: record.map(|record| record.last_seen),
            last_message: self.words.get(id).cloned().unwrap_or_default(),
        }
    }
}

/// While it works, an agent's own word for its phase says more than "working". One that sits before its input is idle,
/// even though its changed files look like work.
fn state(record: &AgentRecord) -> (Mood, &str) {
    let mood = Mood::of(&record.status);
    match &record.phase {
        Some(phase) if matches!(mood, Mood::Working | Mood::Idle) && !phase.trim().is_empty() => {
            (if phase == "idle" { Mood::Idle } else { mood }, phase)
        }
        _ => (mood, &record.status),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_broker::SessionId;
    use paw_broker::message::Status;

    use super::*;

    /// How an agent looks after it has said these, one after the other: status and phase.
    fn look(said: &[(&str, Option<&str>)]) -> (Mood, String, String) {
        let agent = AgentId::new("feat-x").unwrap();
        let mut news = News::default();
        let mut line = String::new();
        for (seq, (word, phase)) in (1..).zip(said) {
            let mut status = Status::new(agent.clone(), *word);
            status.phase = phase.map(str::to_owned);
            let stored = Stored {
                seq,
                at: Timestamp::UNIX_EPOCH,
                session: SessionId::new("s"),
                sender: agent.clone(),
                message: status.into(),
            };
            for feed in news.on_message(&stored) {
                if let Feed::Message(message) = feed {
                    line = message.text.to_string();
                }
            }
        }
        let shown = news.agent(&agent);
        (shown.mood, shown.state.to_string(), line)
    }

    #[test]
    fn an_agent_before_its_input_is_idle_even_with_files_that_look_like_work() {
        let (mood, state, _) = look(&[("idle", Some("idle")), ("working", None)]);
        assert_eq!((mood, state.as_str()), (Mood::Idle, "idle"));
        let (mood, state, _) = look(&[("idle", Some("idle")), ("working", Some("tests"))]);
        assert_eq!((mood, state.as_str()), (Mood::Working, "tests"));
    }

    /// A message with a number, in its sender's name.
    fn stored(seq: u64, message: Message) -> Stored {
        let (session, sender) = (SessionId::new("s"), route::sender(&message).clone());
        Stored { seq, at: Timestamp::UNIX_EPOCH, session, sender, message }
    }

    #[test]
    fn an_agent_that_is_gone_leaves_the_table_with_its_conflicts_until_it_comes_back() {
        let [x, y] = ["feat-x", "feat-y"].map(|agent| AgentId::new(agent).unwrap());
        let member = Member { id: x.clone(), branch: "feat/x".into(), cli: String::new() };
        let mut news = News::new(vec![member], Records::default(), 0);
        news.on_message(&stored(1, Status::new(y, "working").into()));
        let warning = serde_json::json!({"type": "agent.feedback", "agent_id": "feat-y", "payload": {
            "from": "supervisor", "errors": ["x"], "conflict": {"kind": "forward", "level": "overlap",
                "you": "feat-y", "other": "feat-x", "files": [{"path": "a"}]}}});
        news.on_message(&stored(2, Message::from_json(warning).unwrap()));
        assert_eq!(news.agents().len(), 2);
        let feeds = news.on_message(&stored(3, watch::gone(&x)));
        assert!(feeds.contains(&Feed::AgentGone(x.clone())), "{feeds:?}");
        assert!(feeds.iter().any(|feed| matches!(feed, Feed::ConflictCleared(_))), "{feeds:?}");
        assert_eq!(news.agents().len(), 1);
        news.on_message(&stored(4, Status::new(x.clone(), "working").into()));
        assert_eq!(news.agents().len(), 2);
        // Read again from the log: what was so once is not so now.
        let feeds = news.on_message(&stored(3, watch::gone(&x)));
        assert!(!feeds.contains(&Feed::AgentGone(x)), "{feeds:?}");
    }

    #[test]
    fn a_word_is_not_said_twice() {
        assert_eq!(look(&[("idle", Some("idle"))]).2, "idle");
        assert_eq!(look(&[("working", Some("tests"))]).2, "working (tests)");
    }
}
