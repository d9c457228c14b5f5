//! What a session teaches: conflicts, blocked agents, feedback cycles, frequent approvals, recurring errors, sandbox
//! warnings, and what agents and the supervisor noticed.
//!
//! [`Learnings`] is pure: it takes messages and the time, and returns a [`LearningsFlush`]. It reads the data of
//! messages, never their text. Its state follows from the session's messages, so a restart replays them; lines that are
//! in the file already and learnings that were published already are not repeated.
//!
//! - [`applicable`]: what earlier sessions still teach the next one
//! - `entry`: one line of the file, and its section
//! - [`GateFailure`]: a failed gate as data, with the shape of its error
//! - [`file`]: the file, with one block for each session
//! - `publish`: entries as messages
//! - [`run`](mod@run): the loop that connects the bus and the file

mod applicable;
mod entry;
mod failure;
pub mod file;
mod publish;
pub mod run;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_core::config::{LearningsConfig, LearningsPublish};
use serde_json::Value;

pub use applicable::applicable;
pub use entry::{LearningEntry, LearningSection};
pub use failure::GateFailure;

use crate::conflict::{ConflictCategory, ConflictLevel, ConflictReport};
use crate::log::{SessionId, StoredMessage};
use crate::message::{LearningMessage, Message, StatusMessage};

/// The status of an agent whose prompt was approved automatically.
pub const AUTO_APPROVED: &str = "auto_approved";
/// The field of that status's `detail` with the pattern that matched.
pub const PATTERN: &str = "pattern";

/// Approvals by one pattern below this number are not reported.
const MIN_APPROVALS: u64 = 5;
/// An error that happened less often is not recurring.
const MIN_FAILURES: usize = 2;
/// The most items of each kind.
const MAX_ITEMS: usize = 500;

/// What to publish, and how often to write the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningsSettings {
    pub flush_every: SignedDuration,
    /// Whether to publish learnings as messages.
    pub publish: bool,
    /// The spec of each agent that has one.
    pub specs: BTreeMap<AgentId, String>,
}

impl LearningsSettings {
    pub fn from_config(config: &LearningsConfig) -> Self {
        let seconds = i64::try_from(config.flush_interval_seconds).unwrap_or(i64::MAX).max(1);
        Self {
            flush_every: SignedDuration::from_secs(seconds),
            publish: config.broker_publish == LearningsPublish::Auto,
            specs: BTreeMap::new(),
        }
    }
}

/// What the caller has to write and publish.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningsFlush {
    /// All entries of this session's block. Empty if nothing is new.
    pub entries: Vec<LearningEntry>,
    pub publish: Vec<Message>,
}

/// A kind of conflict and the two agents, in a fixed order.
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

/// The learnings of one session.
#[derive(Debug)]
pub struct Learnings {
    session: SessionId,
    settings: LearningsSettings,
    conflicts: BTreeMap<ConflictKey, BTreeSet<String>>,
    waiting: BTreeMap<AgentId, Wait>,
    waited: Vec<Waited>,
    cycles: BTreeMap<AgentId, u32>,
    recovered: Vec<Recovered>,
    approvals: BTreeMap<String, u64>,
    /// The agents and commits, or messages, with each failure.
    failures: BTreeMap<GateFailure, BTreeSet<(AgentId, String)>>,
    /// What was noticed, and how often.
    noticed: Vec<(LearningEntry, usize)>,
    /// Ids of learnings that were published or are being published.
    published: BTreeSet<String>,
    news: bool,
    flushed: Timestamp,
}

impl Learnings {
    pub fn new(session: SessionId, settings: LearningsSettings, now: Timestamp) -> Self {
        Self {
            session,
            settings,
            conflicts: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waited: Vec::new(),
            cycles: BTreeMap::new(),
            recovered: Vec::new(),
            approvals: BTreeMap::new(),
            failures: BTreeMap::new(),
            noticed: Vec::new(),
            published: BTreeSet::new(),
            news: false,
            flushed: now,
        }
    }

    /// Handles the next message of the session, new or replayed after a restart.
    pub fn on_message(&mut self, stored: &StoredMessage) {
        if stored.session != self.session {
            return;
        }
        let facts = ConflictReport::find(&stored.message);
        if let Some(facts) = &facts {
            self.add_conflict(facts);
        }
        match &stored.message {
            Message::Blocked(blocked) => self.start_wait(stored, &blocked.agent_id, &blocked.from),
            Message::Artifact(artifact) => self.end_wait(&artifact.agent_id, stored.at),
            Message::Status(status) => self.on_status(status, stored.at),
            // A conflict warning is not feedback on the work.
            Message::Feedback(feedback) if facts.is_none() => {
                self.count_feedback(&feedback.agent_id);
                self.add_failures(stored);
            }
            Message::Verified(verified) => self.end_feedback(stored.seq, &verified.agent_id),
            Message::Learning(learning) => self.add_learning(learning),
            _ => {}
        }
    }

    /// Returns what is due.
    pub fn on_tick(&mut self, now: Timestamp) -> LearningsFlush {
        if self.next_wake().is_none_or(|wake| now < wake) {
            return LearningsFlush::default();
        }
        self.flush(self.entries(), now)
    }

    /// When [`Self::on_tick`] is due. `None` if nothing is new.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let due = self.flushed.saturating_add(self.settings.flush_every).unwrap_or(Timestamp::MAX);
        self.news.then_some(due)
    }

    /// The last flush, including waits and feedback cycles that are still open.
    pub fn on_end(&mut self, now: Timestamp) -> LearningsFlush {
        let mut entries = self.entries();
        entries.extend(
            self.waiting.iter().map(|(agent, wait)| entry::still_waiting(agent, &wait.on, wait.since, now)),
        );
        let open = self.cycles.iter().filter(|(_, cycles)| **cycles > 0);
        entries.extend(open.map(|(agent, cycles)| entry::not_verified(agent, *cycles)));
        self.flush(entries, now)
    }

    /// Makes the next tick write the file again, after a failure.
    pub fn retry(&mut self) {
        self.news = true;
    }

    /// All completed entries, in the order of the file.
    pub fn entries(&self) -> Vec<LearningEntry> {
        let specs = |agent: &AgentId| self.settings.specs.get(agent).map(String::as_str);
        let mut entries = Vec::new();
        for ((kind, first, second), files) in &self.conflicts {
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
        let many = self.approvals.iter().filter(|(_, count)| **count >= MIN_APPROVALS);
        entries.extend(many.map(|(pattern, count)| entry::approved(pattern, *count)));
        let is_recurring =
            |(failure, seen): &(&GateFailure, &BTreeSet<_>)| failure.sandbox || seen.len() >= MIN_FAILURES;
        let recurring = self.failures.iter().filter(is_recurring);
        entries.extend(recurring.map(|(failure, seen)| {
            let agents: BTreeSet<&AgentId> = seen.iter().map(|(agent, _)| agent).collect();
            entry::failed(failure, seen.len(), &agents)
        }));
        entries.extend(self.noticed.iter().map(|(entry, times)| entry.counted(*times)));
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

    fn add_conflict(&mut self, facts: &ConflictReport) {
        if matches!(facts.level, ConflictLevel::Cleared | ConflictLevel::Additive) {
            return;
        }
        let (you, other) = (facts.you.clone(), facts.other.clone());
        // The order of the agents matters only in an ownership violation.
        let ordered = facts.kind == ConflictCategory::Ownership || you <= other;
        let (first, second) = if ordered { (you, other) } else { (other, you) };
        let meeting = (facts.kind, first, second);
        if self.conflicts.len() >= MAX_ITEMS && !self.conflicts.contains_key(&meeting) {
            return;
        }
        let known = self.conflicts.contains_key(&meeting);
        let files = self.conflicts.entry(meeting).or_default();
        let before = files.len();
        let room = MAX_ITEMS.saturating_sub(before);
        let new: Vec<_> =
            facts.files.iter().map(|file| file.path.clone()).filter(|path| !files.contains(path)).collect();
        files.extend(new.into_iter().take(room));
        self.news |= !known || files.len() > before;
    }

    fn start_wait(&mut self, stored: &StoredMessage, agent: &AgentId, on: &AgentId) {
        match self.waiting.get(agent) {
            // The same wait, reported again.
            Some(wait) if wait.on == *on => return,
            Some(_) => self.end_wait(agent, stored.at),
            None => {}
        }
        if self.waiting.len() < MAX_ITEMS {
            self.waiting.insert(agent.clone(), Wait { seq: stored.seq, since: stored.at, on: on.clone() });
        }
    }

    fn end_wait(&mut self, agent: &AgentId, until: Timestamp) {
        let Some(wait) = self.waiting.remove(agent) else { return };
        if self.waited.len() < MAX_ITEMS {
            self.waited.push(Waited { agent: agent.clone(), wait, until });
            self.news = true;
        }
    }

    fn on_status(&mut self, status: &StatusMessage, at: Timestamp) {
        // A status with a `source` is from git paw, not from the agent. Any other status means that the agent works.
        let own = status.source().is_none();
        if own && status.status != "blocked" && status.status != AUTO_APPROVED {
            self.end_wait(&status.agent_id, at);
        }
        let pattern = status.detail.as_ref().and_then(|detail| detail.get(PATTERN)).and_then(Value::as_str);
        let Some(pattern) = pattern.filter(|_| status.status == AUTO_APPROVED) else { return };
        if self.approvals.len() < MAX_ITEMS || self.approvals.contains_key(pattern) {
            let count = self.approvals.entry(pattern.to_owned()).or_default();
            *count += 1;
            self.news |= *count >= MIN_APPROVALS;
        }
    }

    fn count_feedback(&mut self, agent: &AgentId) {
        // Feedback for the supervisor and the user is news, not about their work.
        if [AgentId::SUPERVISOR, AgentId::OPERATOR].contains(&agent.as_str()) {
            return;
        }
        if self.cycles.len() < MAX_ITEMS || self.cycles.contains_key(agent) {
            let cycles = self.cycles.entry(agent.clone()).or_default();
            *cycles = cycles.saturating_add(1);
        }
    }

    fn add_failures(&mut self, stored: &StoredMessage) {
        let commit = stored.message.extra().payload.get("commit").and_then(Value::as_str);
        let run = commit.map_or_else(|| stored.seq.to_string(), str::to_owned);
        for failure in GateFailure::find(&stored.message) {
            if self.failures.len() >= MAX_ITEMS && !self.failures.contains_key(&failure) {
                continue;
            }
            let is_sandbox = failure.sandbox;
            let seen = self.failures.entry(failure).or_default();
            let is_new =
                seen.len() < MAX_ITEMS && seen.insert((stored.message.subject().clone(), run.clone()));
            self.news |= is_new && (is_sandbox || seen.len() >= MIN_FAILURES);
        }
    }

    fn end_feedback(&mut self, seq: u64, agent: &AgentId) {
        let cycles = self.cycles.remove(agent).unwrap_or(0);
        if cycles > 0 && self.recovered.len() < MAX_ITEMS {
            self.recovered.push(Recovered { seq, agent: agent.clone(), cycles });
            self.news = true;
        }
    }

    fn add_learning(&mut self, learning: &LearningMessage) {
        // The same message, sent again.
        if learning.id.as_ref().is_some_and(|id| !self.published.insert(id.clone())) {
            return;
        }
        let Some(entry) = entry::noticed(learning) else { return };
        if let Some((_, times)) = self.noticed.iter_mut().find(|(known, _)| *known == entry) {
            *times += 1;
            self.news = true;
        } else if self.noticed.len() < MAX_ITEMS {
            self.noticed.push((entry, 1));
            self.news = true;
        }
    }
}
