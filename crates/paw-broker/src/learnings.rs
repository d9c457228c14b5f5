//! What a session teaches: who collided, who waited for whom, what came back from checking, what was approved again
//! and again, and what the supervisor noticed.
//!
//! [`Learnings`] is pure: messages and the time go in, a [`LearningsFlush`] comes out. It reads facts in messages, never their
//! sentences. Everything it knows follows from the session's messages, so after a crash it is told them again; what
//! the file says already is found in the file, and what was published already is found among the messages.
//!
//! - `entry`: one line of the file and where it belongs
//! - [`file`]: the file, in which every session has its own block
//! - `publish`: entries as messages
//! - [`run`](mod@run): the loop that joins it to a bus and the file

mod entry;
pub mod file;
mod publish;
pub mod run;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_core::config::{LearningsConfig, LearningsPublish};
use serde_json::Value;

pub use entry::{LearningEntry, LearningSection};

use crate::conflict::{ConflictCategory, ConflictLevel, ConflictReport};
use crate::log::{SessionId, StoredMessage};
use crate::message::{LearningMessage, Message, StatusMessage};

/// The status of an agent whose prompt was answered for it.
pub const AUTO_APPROVED: &str = "auto_approved";
/// The field of that status's `detail` that names the pattern which allowed it.
pub const PATTERN: &str = "pattern";

/// Fewer approvals by one pattern are no pattern.
const MANY_APPROVALS: u64 = 5;
/// Things of one sort that are kept. More than this nobody reads.
const MOST: usize = 500;

/// What is told, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningsSettings {
    pub flush_every: SignedDuration,
    /// Tell the agents too.
    pub publish: bool,
    /// The spec each agent works on, where it has one.
    pub specs: BTreeMap<AgentId, String>,
}

impl LearningsSettings {
    pub fn of(config: &LearningsConfig) -> Self {
        let seconds = i64::try_from(config.flush_interval_seconds).unwrap_or(i64::MAX).max(1);
        Self {
            flush_every: SignedDuration::from_secs(seconds),
            publish: config.broker_publish == LearningsPublish::Auto,
            specs: BTreeMap::new(),
        }
    }
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningsFlush {
    /// Everything the block of this session should hold. Nothing when nothing is new.
    pub entries: Vec<LearningEntry>,
    pub publish: Vec<Message>,
}

/// Two agents and how they met, whoever was first.
type ConflictKey = (ConflictCategory, AgentId, AgentId);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Wait {
    seq: u64,
    since: Timestamp,
    on: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Waited {
    agent: AgentId,
    wait: Wait,
    until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Recovered {
    seq: u64,
    agent: AgentId,
    cycles: u32,
}

/// What is known of one session.
#[derive(Debug)]
pub struct Learnings {
    session: SessionId,
    settings: LearningsSettings,
    meetings: BTreeMap<ConflictKey, BTreeSet<String>>,
    waiting: BTreeMap<AgentId, Wait>,
    waited: Vec<Waited>,
    cycles: BTreeMap<AgentId, u32>,
    recovered: Vec<Recovered>,
    approvals: BTreeMap<String, u64>,
    noticed: Vec<LearningEntry>,
    /// Ids of learnings that are in the log, or on their way to it.
    published: BTreeSet<String>,
    news: bool,
    flushed: Timestamp,
}

impl Learnings {
    pub fn new(session: SessionId, settings: LearningsSettings, now: Timestamp) -> Self {
        Self {
            session,
            settings,
            meetings: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waited: Vec::new(),
            cycles: BTreeMap::new(),
            recovered: Vec::new(),
            approvals: BTreeMap::new(),
            noticed: Vec::new(),
            published: BTreeSet::new(),
            news: false,
            flushed: now,
        }
    }

    /// Takes in the next message of the session, new or told again after a restart.
    pub fn on_message(&mut self, stored: &StoredMessage) {
        if stored.session != self.session {
            return;
        }
        let facts = ConflictReport::find(&stored.message);
        if let Some(facts) = &facts {
            self.met(facts);
        }
        match &stored.message {
            Message::Blocked(blocked) => self.waits(stored, &blocked.agent_id, &blocked.from),
            Message::Artifact(artifact) => self.goes_on(&artifact.agent_id, stored.at),
            Message::Status(status) => self.on_status(status, stored.at),
            // A warning about a collision is no verdict on the work.
            Message::Feedback(feedback) if facts.is_none() => self.sent_back(&feedback.agent_id),
            Message::Verified(verified) => self.verified(stored.seq, &verified.agent_id),
            Message::Learning(learning) => self.notice(learning),
            _ => {}
        }
    }

    /// What is due by now.
    pub fn on_tick(&mut self, now: Timestamp) -> LearningsFlush {
        if self.next_wake().is_none_or(|wake| now < wake) {
            return LearningsFlush::default();
        }
        self.flush(self.entries(), now)
    }

    /// When there will be something to do; nothing as long as nothing is new.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let due = self.flushed.saturating_add(self.settings.flush_every).unwrap_or(Timestamp::MAX);
        self.news.then_some(due)
    }

    /// The last word, with what is still open.
    pub fn on_end(&mut self, now: Timestamp) -> LearningsFlush {
        let mut entries = self.entries();
        entries.extend(
            self.waiting.iter().map(|(agent, wait)| entry::still_waiting(agent, &wait.on, wait.since, now)),
        );
        let open = self.cycles.iter().filter(|(_, cycles)| **cycles > 0);
        entries.extend(open.map(|(agent, cycles)| entry::not_verified(agent, *cycles)));
        self.flush(entries, now)
    }

    /// The file could not be written: the next tick tries again.
    pub fn try_again(&mut self) {
        self.news = true;
    }

    /// Everything that is settled, in the order of the file.
    pub fn entries(&self) -> Vec<LearningEntry> {
        let specs = |agent: &AgentId| self.settings.specs.get(agent).map(String::as_str);
        let mut entries = Vec::new();
        for ((kind, first, second), files) in &self.meetings {
            match kind {
                ConflictCategory::Forward => {
                    entries.push(entry::forward([first, second], [specs(first), specs(second)], files));
                }
                ConflictCategory::InFlight => entries.push(entry::in_flight([first, second], files)),
                ConflictCategory::Ownership => {
                    entries.extend(files.iter().map(|file| entry::ownership(first, second, file)));
                }
            }
        }
        entries.extend(self.waited.iter().map(|waited| {
            entry::waited(&waited.agent, &waited.wait.on, waited.wait.since, waited.until, waited.wait.seq)
        }));
        entries.extend(self.recovered.iter().map(|one| entry::recovered(&one.agent, one.cycles, one.seq)));
        let many = self.approvals.iter().filter(|(_, count)| **count >= MANY_APPROVALS);
        entries.extend(many.map(|(pattern, count)| entry::approved(pattern, *count)));
        entries.extend(self.noticed.iter().cloned());
        entries.sort_by_key(|entry| entry.section);
        entries
    }

    fn flush(&mut self, entries: Vec<LearningEntry>, now: Timestamp) -> LearningsFlush {
        self.news = false;
        self.flushed = now;
        let mut publish = Vec::new();
        for entry in entries.iter().filter(|_| self.settings.publish) {
            let Some(message) = publish::message(&self.session, entry, now) else { continue };
            if let Some(id) = message.id.clone().filter(|id| !self.published.contains(id)) {
                self.published.insert(id);
                publish.push(message.into());
            }
        }
        LearningsFlush { entries, publish }
    }

    fn met(&mut self, facts: &ConflictReport) {
        if matches!(facts.level, ConflictLevel::Cleared | ConflictLevel::Additive) {
            return;
        }
        let (you, other) = (facts.you.clone(), facts.other.clone());
        // Only in an ownership violation does it matter who is who.
        let ordered = facts.kind == ConflictCategory::Ownership || you <= other;
        let (first, second) = if ordered { (you, other) } else { (other, you) };
        let meeting = (facts.kind, first, second);
        if self.meetings.len() >= MOST && !self.meetings.contains_key(&meeting) {
            return;
        }
        let known = self.meetings.contains_key(&meeting);
        let files = self.meetings.entry(meeting).or_default();
        let before = files.len();
        let room = MOST.saturating_sub(before);
        let new: Vec<_> =
            facts.files.iter().map(|file| file.path.clone()).filter(|path| !files.contains(path)).collect();
        files.extend(new.into_iter().take(room));
        self.news |= !known || files.len() > before;
    }

    fn waits(&mut self, stored: &StoredMessage, agent: &AgentId, on: &AgentId) {
        match self.waiting.get(agent) {
            // Said again, it is still the same wait.
            Some(wait) if wait.on == *on => return,
            Some(_) => self.goes_on(agent, stored.at),
            None => {}
        }
        if self.waiting.len() < MOST {
            self.waiting.insert(agent.clone(), Wait { seq: stored.seq, since: stored.at, on: on.clone() });
        }
    }

    fn goes_on(&mut self, agent: &AgentId, until: Timestamp) {
        let Some(wait) = self.waiting.remove(agent) else { return };
        if self.waited.len() < MOST {
            self.waited.push(Waited { agent: agent.clone(), wait, until });
            self.news = true;
        }
    }

    fn on_status(&mut self, status: &StatusMessage, at: Timestamp) {
        // Our own loops report in an agent's name, and say so; whatever else comes is the agent at work again.
        let own = !status.extra.payload.contains_key("source");
        if own && status.status != "blocked" && status.status != AUTO_APPROVED {
            self.goes_on(&status.agent_id, at);
        }
        let pattern = status.detail.as_ref().and_then(|detail| detail.get(PATTERN)).and_then(Value::as_str);
        let Some(pattern) = pattern.filter(|_| status.status == AUTO_APPROVED) else { return };
        if self.approvals.len() < MOST || self.approvals.contains_key(pattern) {
            let count = self.approvals.entry(pattern.to_owned()).or_default();
            *count += 1;
            self.news |= *count >= MANY_APPROVALS;
        }
    }

    fn sent_back(&mut self, agent: &AgentId) {
        if self.cycles.len() < MOST || self.cycles.contains_key(agent) {
            let cycles = self.cycles.entry(agent.clone()).or_default();
            *cycles = cycles.saturating_add(1);
        }
    }

    fn verified(&mut self, seq: u64, agent: &AgentId) {
        let cycles = self.cycles.remove(agent).unwrap_or(0);
        if cycles > 0 && self.recovered.len() < MOST {
            self.recovered.push(Recovered { seq, agent: agent.clone(), cycles });
            self.news = true;
        }
    }

    fn notice(&mut self, learning: &LearningMessage) {
        self.published.extend(learning.id.clone());
        let Some(entry) = entry::noticed(learning) else { return };
        if self.noticed.len() < MOST && !self.noticed.contains(&entry) {
            self.noticed.push(entry);
            self.news = true;
        }
    }
}
