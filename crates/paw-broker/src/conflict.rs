//! Who is about to collide with whom.
//!
//! [`ConflictDetector`] is a state machine: it is told the session's messages, what every agent has in its worktree and what
//! git thinks of each pair, and answers with messages to publish and pairs to judge. It knows three ways to collide:
//!
//! - `forward`: two agents announce the same part of the same file
//! - `flight`: two agents changed the same files; git decides whether that conflicts, and where
//! - `ownership`: an agent changed what another one announced
//!
//! [`MergeChecker`] asks git. [`ConflictMonitor`] lets watcher, radar and judge work together. What each message is about stands in
//! it as [`ConflictReport`], so that nobody has to read our sentences.

mod forward;
mod history;
mod in_flight;
mod merge_check;
mod messages;
mod monitor;
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
pub use merge_check::MergeChecker;
pub use monitor::{ConflictMonitor, ConflictMonitorEvent};
use ownership::OwnershipViolations;
use region::RegionOverlap;
pub use report::{ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange, PAYLOAD_FIELD};

use crate::message::{Message, Region};
use crate::watch;
use crate::{SessionId, StoredMessage};

/// What seems to be over must stay so for this long: a file that is being saved, stashed or rebased comes and goes.
const CALM: SignedDuration = SignedDuration::from_secs(5);

/// Two agents, always in the same order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentPair {
    pub first: AgentId,
    pub second: AgentId,
}

impl AgentPair {
    pub fn new(a: AgentId, b: AgentId) -> Self {
        if a <= b { Self { first: a, second: b } } else { Self { first: b, second: a } }
    }

    fn has(&self, agent: &AgentId) -> bool {
        self.first == *agent || self.second == *agent
    }
}

/// A pair to be judged, each with the commit that holds its work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MergeQuery {
    pub pair: AgentPair,
    pub commits: (String, String),
}

/// What git thinks of merging a pair's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCheckResult {
    Clean,
    Conflict(Vec<FileConflict>),
    /// It could not be found out.
    Unknown,
}

/// A file that does not merge, and its lines on both sides of the [`AgentPair`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileConflict {
    pub path: String,
    pub how: String,
    pub first: Vec<LineRange>,
    pub second: Vec<LineRange>,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DetectorOutput {
    pub publish: Vec<Message>,
    pub judge: Vec<MergeQuery>,
}

/// A path that two agents claim, with what the other one said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IntentOverlap {
    path: String,
    theirs: Vec<Region>,
    meeting: RegionOverlap,
}

/// What an agent has changed.
#[derive(Debug, Clone, Default)]
struct AgentChanges {
    /// As the watcher sees it. Beats what the agent says.
    watched: Option<BTreeSet<String>>,
    declared: BTreeSet<String>,
    commit: Option<String>,
    /// Known from the past alone: the watcher has not looked since.
    past: bool,
}

impl AgentChanges {
    fn files(&self) -> &BTreeSet<String> {
        self.watched.as_ref().unwrap_or(&self.declared)
    }
}

/// What an agent has announced, by path. No region: the whole file.
#[derive(Debug, Clone)]
struct AnnouncedFiles {
    files: BTreeMap<String, Vec<Region>>,
    until: Timestamp,
}

/// Everything there is to judge by.
#[derive(Debug, Default)]
struct SessionActivity {
    work: BTreeMap<AgentId, AgentChanges>,
    announced: BTreeMap<AgentId, AnnouncedFiles>,
    verdicts: BTreeMap<AgentPair, (MergeQuery, MergeCheckResult)>,
}

/// The radar of one session.
#[derive(Debug)]
pub struct ConflictDetector {
    session: SessionId,
    config: ConflictConfig,
    sky: SessionActivity,
    forward: ForwardConflicts,
    flights: InFlightConflicts,
    violations: OwnershipViolations,
}

impl ConflictDetector {
    pub fn new(session: SessionId, config: ConflictConfig) -> Self {
        Self {
            session,
            config,
            sky: SessionActivity::default(),
            forward: ForwardConflicts::default(),
            flights: InFlightConflicts::default(),
            violations: OwnershipViolations::default(),
        }
    }

    /// Takes in a message of the past, without a word: what was said then is not said again.
    pub fn replay(&mut self, stored: &StoredMessage) {
        if stored.session != self.session {
            return;
        }
        if watch::is_gone_message(&stored.message) {
            self.forget(stored.message.subject());
            return;
        }
        if self.sky.take_in(&stored.message, stored.at)
            && let Some(work) = self.sky.work.get_mut(stored.message.subject())
        {
            work.past = work.watched.is_some();
        }
        if let Some(facts) = ConflictReport::find(&stored.message) {
            match facts.kind {
                ConflictCategory::Forward => self.forward.remember(&facts),
                ConflictCategory::InFlight => self.flights.remember(&facts, stored.at),
                ConflictCategory::Ownership => self.violations.remember(&facts),
            }
        }
    }

    pub fn on_message(&mut self, stored: &StoredMessage, now: Timestamp) -> DetectorOutput {
        if stored.session == self.session && watch::is_gone_message(&stored.message) {
            let agent = stored.message.subject();
            // One that was taken in again meanwhile is there.
            let is_back = self.sky.work.get(agent).is_some_and(|work| work.commit.is_some());
            return if is_back { DetectorOutput::default() } else { self.on_gone(agent, now) };
        }
        if stored.session != self.session || !self.sky.take_in(&stored.message, stored.at) {
            return DetectorOutput::default();
        }
        let asks = self.sky.asks_about(stored.message.subject());
        self.look(now, asks)
    }

    /// Everything an agent has in its worktree, as a commit, and the files that differ from where it began.
    pub fn on_work(
        &mut self,
        agent: &AgentId,
        commit: &str,
        files: &[String],
        now: Timestamp,
    ) -> DetectorOutput {
        if is_reserved(agent) {
            return DetectorOutput::default();
        }
        let work = self.sky.work.entry(agent.clone()).or_default();
        work.watched = Some(files.iter().map(|file| path::normal(file)).collect());
        work.commit = Some(commit.to_owned());
        work.past = false;
        let asks = self.sky.asks_about(agent);
        self.look(now, asks)
    }

    pub fn on_verdict(
        &mut self,
        ask: MergeQuery,
        verdict: MergeCheckResult,
        now: Timestamp,
    ) -> DetectorOutput {
        self.sky.verdicts.insert(ask.pair.clone(), (ask, verdict));
        self.look(now, Vec::new())
    }

    /// An agent that has left collides with nobody. Who was warned of it is told so.
    pub fn on_gone(&mut self, agent: &AgentId, now: Timestamp) -> DetectorOutput {
        let mut publish = self.forget(agent);
        let outcome = self.look(now, Vec::new());
        publish.extend(outcome.publish);
        DetectorOutput { publish, ..outcome }
    }

    /// What those who are left have to be told of it.
    fn forget(&mut self, agent: &AgentId) -> Vec<Message> {
        self.sky.work.remove(agent);
        self.sky.announced.remove(agent);
        self.sky.verdicts.retain(|pair, _| !pair.has(agent));
        self.violations.forget(agent);
        self.flights.forget(agent)
    }

    pub fn on_tick(&mut self, now: Timestamp) -> DetectorOutput {
        self.look(now, Vec::new())
    }

    /// When time alone will change something.
    pub fn next_tick(&self) -> Option<Timestamp> {
        let expiry = self.sky.announced.values().map(|announced| announced.until).min();
        let flights = self.flights.next_tick(&self.sky, window(&self.config));
        [expiry, flights, self.violations.next_tick()].into_iter().flatten().min()
    }

    /// Whether two agents changed the same file, so that git's answer about them is the one to wait for.
    pub fn share_files(&self, pair: &AgentPair) -> bool {
        let files = |agent| self.sky.work.get(agent).map(AgentChanges::files);
        match (files(&pair.first), files(&pair.second)) {
            (Some(first), Some(second)) => !first.is_disjoint(second),
            _ => false,
        }
    }

    fn look(&mut self, now: Timestamp, judge: Vec<MergeQuery>) -> DetectorOutput {
        self.sky.announced.retain(|_, announced| announced.until > now);
        let mut publish = self.forward.look(&self.sky, self.config.warn_on_intent_overlap);
        publish.extend(self.flights.look(&self.sky, now, window(&self.config)));
        publish.extend(self.violations.look(&self.sky, now, self.config.escalate_on_violation));
        DetectorOutput { publish, judge }
    }
}

impl SessionActivity {
    /// Whether the message changed anything.
    fn take_in(&mut self, message: &Message, at: Timestamp) -> bool {
        let agent = message.subject();
        if is_reserved(agent) {
            return false;
        }
        match message {
            Message::Status(status) => {
                let Some(files) = &status.modified_files else { return false };
                let files: BTreeSet<String> = files.iter().map(|file| path::normal(file)).collect();
                let from_watcher =
                    status.extra.payload.get("source").is_some_and(|source| source == watch::SOURCE);
                let work = self.work.entry(agent.clone()).or_default();
                if from_watcher {
                    work.past = false;
                    // The work itself was handed in before, and is newer.
                    work.commit.is_none() && work.watched.replace(files.clone()) != Some(files)
                } else {
                    std::mem::replace(&mut work.declared, files.clone()) != files
                }
            }
            Message::Artifact(artifact) => {
                let work = self.work.entry(agent.clone()).or_default();
                let before = work.declared.len();
                work.declared.extend(artifact.modified_files.iter().map(|file| path::normal(file)));
                work.declared.len() != before
            }
            Message::Intent(intent) => {
                let mut files: BTreeMap<String, Vec<Region>> = BTreeMap::new();
                for file in &intent.files {
                    let path = path::normal(&file.path);
                    match files.get_mut(&path) {
                        // Who names the whole file once means it.
                        Some(regions) if regions.is_empty() || file.regions.is_empty() => regions.clear(),
                        Some(regions) => regions.extend(file.regions.iter().cloned()),
                        None => drop(files.insert(path, file.regions.clone())),
                    }
                }
                self.announced.insert(agent.clone(), AnnouncedFiles { files, until: intent.expires(at) });
                true
            }
            _ => false,
        }
    }

    /// The pairs of an agent that git has not judged as they are now.
    fn asks_about(&self, agent: &AgentId) -> Vec<MergeQuery> {
        let others = self.work.keys().filter(|other| *other != agent);
        let asks = others.filter_map(|other| self.ask(&AgentPair::new(agent.clone(), other.clone())));
        asks.filter(|ask| self.verdict(ask).is_none()).collect()
    }

    /// Whether both were looked at; what is known from the past alone may be over.
    fn sees(&self, pair: &AgentPair) -> bool {
        let seen = |agent| self.work.get(agent).is_some_and(|work| !work.past);
        seen(&pair.first) && seen(&pair.second)
    }

    /// What can be asked about a pair: nothing unless the watcher sees both, and both have changed something.
    fn ask(&self, pair: &AgentPair) -> Option<MergeQuery> {
        let commit = |agent| {
            let work = self.work.get(agent).filter(|work| !work.files().is_empty())?;
            work.commit.clone()
        };
        Some(MergeQuery { pair: pair.clone(), commits: (commit(&pair.first)?, commit(&pair.second)?) })
    }

    fn verdict(&self, ask: &MergeQuery) -> Option<&MergeCheckResult> {
        self.verdicts.get(&ask.pair).filter(|(asked, _)| asked == ask).map(|(_, verdict)| verdict)
    }
}

fn window(config: &ConflictConfig) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(config.window_seconds).unwrap_or(i64::MAX))
}

/// `time + wait`, at the end of time at the latest.
fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

fn is_reserved(agent: &AgentId) -> bool {
    matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
}

/// In whose name the radar speaks.
fn supervisor() -> AgentId {
    AgentId::supervisor()
}
