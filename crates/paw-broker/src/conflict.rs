//! Finds conflicts between agents before they commit.
//!
//! [`ConflictDetector`] is a state machine. Its inputs are the session's messages, the contents of every agent's
//! worktree, and git's answer for each pair of agents; its outputs are messages to publish and pairs to check. It
//! detects three kinds of conflicts:
//!
//! - `forward`: two agents announce the same part of the same file
//! - `in_flight`: two agents changed the same files; git decides whether the changes merge, and where they do not
//!   (`overlap`: which pairs git is asked about)
//! - `ownership`: an agent changed a file that another agent announced
//!
//! [`MergeChecker`] asks git. [`ConflictMonitor`] connects the watcher, the detector and the checker. Each message
//! carries a [`ConflictReport`] as data, so readers never parse its text.

mod forward;
mod history;
mod in_flight;
mod merge_check;
mod messages;
mod monitor;
mod overlap;
mod ownership;
mod path;
mod region;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_core::config::ConflictConfig;

use forward::ForwardConflicts;
pub use history::load_history;
use in_flight::InFlightConflicts;
pub use merge_check::{MergeChecker, MergeCounts};
pub use monitor::{ConflictMonitor, ConflictMonitorEvent};
use overlap::{Overlaps, TouchedPaths};
use ownership::OwnershipViolations;
use region::RegionOverlap;
pub use report::{ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange, PAYLOAD_FIELD};

use crate::message::{IntentMessage, Message, Region, StatusSource};
use crate::watch;
use crate::{SessionId, StoredMessage};

/// A conflict must be absent for this long before it counts as resolved: files come and go during a save, a stash or
/// a rebase.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_secs(5);

/// Two agents in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentPair {
    pub first: AgentId,
    pub second: AgentId,
}

impl AgentPair {
    pub fn new(a: AgentId, b: AgentId) -> Self {
        if a <= b { Self { first: a, second: b } } else { Self { first: b, second: a } }
    }

    fn contains(&self, agent: &AgentId) -> bool {
        self.first == *agent || self.second == *agent
    }
}

/// A pair of agents to check, with the name of each one's work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MergeQuery {
    pub pair: AgentPair,
    pub works: (String, String),
}

/// Whether git can merge the work of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCheckResult {
    Clean,
    Conflict(Vec<FileConflict>),
    /// Git could not tell.
    Unknown,
}

/// A file that does not merge, and its conflicting lines on both sides of the [`AgentPair`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileConflict {
    pub path: String,
    /// Git's name for the type of conflict: `contents`, `modify/delete`, …
    pub conflict_type: String,
    pub first: Vec<LineRange>,
    pub second: Vec<LineRange>,
}

/// What the caller has to do after an input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DetectorOutput {
    pub publish: Vec<Message>,
    pub queries: Vec<MergeQuery>,
}

/// A path that two agents announced, with the regions that the other agent named.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IntentOverlap {
    path: String,
    theirs: Vec<Region>,
    overlap: RegionOverlap,
}

/// The files an agent changed.
#[derive(Debug, Clone, Default)]
struct AgentChanges {
    /// Reported by the watcher. Takes precedence over what the agent declares.
    watched: Option<BTreeSet<String>>,
    declared: BTreeSet<String>,
    /// The name of the work in its snapshot.
    snapshot: Option<String>,
    /// What its snapshot touches.
    touched: TouchedPaths,
    /// Restored from the log; the watcher has not confirmed it yet.
    replayed: bool,
}

impl AgentChanges {
    fn files(&self) -> &BTreeSet<String> {
        self.watched.as_ref().unwrap_or(&self.declared)
    }
}

/// The files an agent announced, by path. An empty list of regions means the whole file.
#[derive(Debug, Clone, Default)]
struct AnnouncedFiles {
    files: BTreeMap<String, Vec<Region>>,
    until: BTreeMap<String, Timestamp>,
}

impl AnnouncedFiles {
    /// Adds the files of another announcement.
    fn add(&mut self, intent: &IntentMessage, until: Timestamp) {
        for file in &intent.files {
            let path = path::normalize(&file.path);
            match self.files.get_mut(&path) {
                // The whole file includes every region of it.
                Some(regions) if regions.is_empty() || file.regions.is_empty() => regions.clear(),
                Some(regions) => {
                    let new = file.regions.iter().filter(|region| !regions.contains(region));
                    let new: Vec<_> = new.cloned().collect();
                    regions.extend(new);
                }
                None => drop(self.files.insert(path.clone(), file.regions.clone())),
            }
            let latest = self.until.entry(path).or_insert(until);
            *latest = (*latest).max(until);
        }
    }

    /// Drops what has expired, and returns whether anything is left.
    fn expire(&mut self, now: Timestamp) -> bool {
        self.until.retain(|_, until| *until > now);
        self.files.retain(|path, _| self.until.contains_key(path));
        !self.files.is_empty()
    }
}

/// Everything the detector knows about the session.
#[derive(Debug, Default)]
struct SessionActivity {
    work: BTreeMap<AgentId, AgentChanges>,
    announced: BTreeMap<AgentId, AnnouncedFiles>,
    merge_results: BTreeMap<AgentPair, (MergeQuery, MergeCheckResult)>,
    overlaps: Overlaps,
}

/// Detects the conflicts of one session.
#[derive(Debug)]
pub struct ConflictDetector {
    session: SessionId,
    config: ConflictConfig,
    activity: SessionActivity,
    forward: ForwardConflicts,
    in_flight: InFlightConflicts,
    violations: OwnershipViolations,
}

impl ConflictDetector {
    pub fn new(session: SessionId, config: ConflictConfig) -> Self {
        Self {
            session,
            config,
            activity: SessionActivity::default(),
            forward: ForwardConflicts::default(),
            in_flight: InFlightConflicts::default(),
            violations: OwnershipViolations::default(),
        }
    }

    /// Restores the state from a stored message without publishing anything.
    pub fn replay(&mut self, stored: &StoredMessage) {
        if stored.session != self.session {
            return;
        }
        if watch::is_gone_message(&stored.message) {
            self.forget(stored.message.subject());
            return;
        }
        if self.activity.apply(&stored.message, stored.at)
            && let Some(work) = self.activity.work.get_mut(stored.message.subject())
        {
            work.replayed = work.watched.is_some();
        }
        if let Some(facts) = ConflictReport::find(&stored.message) {
            match facts.kind {
                ConflictCategory::Forward => self.forward.remember(&facts),
                ConflictCategory::InFlight => self.in_flight.remember(&facts, stored.at),
                ConflictCategory::Ownership => self.violations.remember(&facts),
            }
        }
    }

    pub fn on_message(&mut self, stored: &StoredMessage, now: Timestamp) -> DetectorOutput {
        if stored.session == self.session && watch::is_gone_message(&stored.message) {
            let agent = stored.message.subject();
            // The agent may have been added again since.
            let is_back = self.activity.work.get(agent).is_some_and(|work| work.snapshot.is_some());
            return if is_back { DetectorOutput::default() } else { self.on_gone(agent, now) };
        }
        if stored.session != self.session || !self.activity.apply(&stored.message, stored.at) {
            return DetectorOutput::default();
        }
        let queries = self.activity.pending_queries(stored.message.subject());
        self.check(now, queries)
    }

    /// Handles a new snapshot of an agent's worktree: the name of all of its work, the files that differ from the base
    /// of its branch, and the directories that have no files any more.
    pub fn on_work(
        &mut self,
        agent: &AgentId,
        snapshot: &str,
        (files, emptied): (&[String], &[String]),
        now: Timestamp,
    ) -> DetectorOutput {
        if is_reserved(agent) {
            return DetectorOutput::default();
        }
        let files: BTreeSet<String> = files.iter().map(|file| path::normalize(file)).collect();
        let work = self.activity.work.entry(agent.clone()).or_default();
        work.touched.replace(files.iter().chain(emptied).cloned().collect());
        work.watched = Some(files);
        work.snapshot = Some(snapshot.to_owned());
        work.replayed = false;
        self.activity.update_overlaps(agent);
        let queries = self.activity.pending_queries(agent);
        self.check(now, queries)
    }

    pub fn on_merge_result(
        &mut self,
        query: MergeQuery,
        result: MergeCheckResult,
        now: Timestamp,
    ) -> DetectorOutput {
        self.activity.merge_results.insert(query.pair.clone(), (query, result));
        self.check(now, Vec::new())
    }

    /// Forgets an agent that left the session, and clears the warnings about it.
    pub fn on_gone(&mut self, agent: &AgentId, now: Timestamp) -> DetectorOutput {
        let mut publish = self.forget(agent);
        let outcome = self.check(now, Vec::new());
        publish.extend(outcome.publish);
        DetectorOutput { publish, ..outcome }
    }

    /// Returns the messages that clear the other agents' warnings.
    fn forget(&mut self, agent: &AgentId) -> Vec<Message> {
        self.activity.work.remove(agent);
        self.activity.announced.remove(agent);
        self.activity.overlaps.forget(agent);
        self.activity.merge_results.retain(|pair, _| !pair.contains(agent));
        self.violations.forget(agent);
        self.in_flight.forget(agent)
    }

    pub fn on_tick(&mut self, now: Timestamp) -> DetectorOutput {
        self.check(now, Vec::new())
    }

    /// When [`Self::on_tick`] is due: the next time at which the clock alone changes something.
    pub fn next_tick(&self) -> Option<Timestamp> {
        let expiry =
            self.activity.announced.values().flat_map(|announced| announced.until.values()).min().copied();
        let in_flight = self.in_flight.next_tick(&self.activity, window(&self.config));
        [expiry, in_flight, self.violations.next_tick()].into_iter().flatten().min()
    }

    /// Whether two agents changed the same file. Their merge check is the most urgent.
    pub fn shares_files(&self, pair: &AgentPair) -> bool {
        let files = |agent| self.activity.work.get(agent).map(AgentChanges::files);
        match (files(&pair.first), files(&pair.second)) {
            (Some(first), Some(second)) => !first.is_disjoint(second),
            _ => false,
        }
    }

    /// Whether both agents were told that this file does not merge. The lines of a conflict are told once.
    pub fn is_reported(&self, pair: &AgentPair, path: &str) -> bool {
        self.in_flight.is_reported(pair, path)
    }

    fn check(&mut self, now: Timestamp, queries: Vec<MergeQuery>) -> DetectorOutput {
        self.activity.announced.retain(|_, announced| announced.expire(now));
        let mut publish = self.forward.check(&self.activity, self.config.warn_on_intent_overlap);
        publish.extend(self.in_flight.check(&self.activity, now, window(&self.config)));
        publish.extend(self.violations.check(&self.activity, now, self.config.escalate_on_violation));
        DetectorOutput { publish, queries }
    }
}

impl SessionActivity {
    /// Applies a message, and returns whether it changed anything.
    fn apply(&mut self, message: &Message, at: Timestamp) -> bool {
        let agent = message.subject();
        if is_reserved(agent) {
            return false;
        }
        match message {
            Message::Status(status) => {
                let Some(files) = &status.modified_files else { return false };
                let files: BTreeSet<String> = files.iter().map(|file| path::normalize(file)).collect();
                let from_watcher = status.source() == Some(StatusSource::Watcher);
                let work = self.work.entry(agent.clone()).or_default();
                if from_watcher {
                    work.replayed = false;
                    // A snapshot is newer than the status made from it.
                    work.snapshot.is_none() && work.watched.replace(files.clone()) != Some(files)
                } else {
                    std::mem::replace(&mut work.declared, files.clone()) != files
                }
            }
            Message::Artifact(artifact) => {
                let work = self.work.entry(agent.clone()).or_default();
                let before = work.declared.len();
                work.declared.extend(artifact.modified_files.iter().map(|file| path::normalize(file)));
                work.declared.len() != before
            }
            Message::Intent(intent) => {
                let announced = self.announced.entry(agent.clone()).or_default();
                if intent.clears() {
                    *announced = AnnouncedFiles::default();
                }
                announced.expire(at);
                announced.add(intent, intent.expires(at));
                true
            }
            _ => false,
        }
    }

    /// The pairs of an agent that git has not checked in their current state.
    fn pending_queries(&self, agent: &AgentId) -> Vec<MergeQuery> {
        let others = self.work.keys().filter(|other| *other != agent);
        let queries =
            others.filter_map(|other| self.merge_query(&AgentPair::new(agent.clone(), other.clone())));
        queries.filter(|query| self.find_result(query).is_none()).collect()
    }

    /// Whether the state of both agents is current. A replayed state may be out of date.
    fn is_current(&self, pair: &AgentPair) -> bool {
        let current = |agent| self.work.get(agent).is_some_and(|work| !work.replayed);
        current(&pair.first) && current(&pair.second)
    }

    fn update_overlaps(&mut self, agent: &AgentId) {
        let Some(own) = self.work.get(agent) else { return };
        for (other, theirs) in self.work.iter().filter(|(other, _)| *other != agent) {
            let pair = AgentPair::new(agent.clone(), other.clone());
            let (first, second) = if pair.first == *agent {
                (&own.touched, &theirs.touched)
            } else {
                (&theirs.touched, &own.touched)
            };
            self.overlaps.update(pair, first, second);
        }
    }

    /// The merge query for a pair. `None` unless the watcher has a snapshot of both and their changes can conflict.
    fn merge_query(&self, pair: &AgentPair) -> Option<MergeQuery> {
        if !self.overlaps.has(pair) {
            return None;
        }
        let work = |agent| {
            let work = self.work.get(agent).filter(|work| !work.files().is_empty())?;
            work.snapshot.clone()
        };
        Some(MergeQuery { pair: pair.clone(), works: (work(&pair.first)?, work(&pair.second)?) })
    }

    fn find_result(&self, query: &MergeQuery) -> Option<&MergeCheckResult> {
        self.merge_results.get(&query.pair).filter(|(asked, _)| asked == query).map(|(_, result)| result)
    }
}

fn window(config: &ConflictConfig) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(config.window_seconds).unwrap_or(i64::MAX))
}

/// `time + wait`, saturating.
fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

fn is_reserved(agent: &AgentId) -> bool {
    matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
}

/// The sender of the detector's messages.
fn supervisor() -> AgentId {
    AgentId::supervisor()
}
