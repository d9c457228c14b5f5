//! Connects the watcher, the detector and the merge checker of one session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paw_core::AgentId;
use paw_core::config::ConflictConfig;
use paw_host::clock::{self, Stopwatch};
use paw_host::git::{ScratchError, ScratchRepo, is_excluded};

use super::{AgentPair, ConflictDetector, DetectorOutput, MergeCheckResult, MergeChecker, MergeQuery};
use crate::message::Message;
use crate::watch::{self, AgentWork, SnapshotNote, WatchReport, WatchSettings, WatchTarget, Watcher};
use crate::{SessionId, StoredMessage};

/// Pairs that conflict are judged for at most this part of the time: a merge costs more the more files conflict, and their agents
/// were warned before.
const RECHECK_SHARE: u32 = 25;
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long pairs that conflict are not judged again after a check that took so long.
fn recheck_pause(spent: Duration) -> Duration {
    spent.saturating_mul(RECHECK_SHARE).min(LONGEST_PAUSE)
}

/// What a monitor reports to its owner.
#[derive(Debug)]
pub enum ConflictMonitorEvent {
    Publish(Box<Message>),
    /// The work of a watched agent has changed.
    Work(Box<AgentWork>),
    /// The agent's branch has a new commit.
    Committed {
        worktree: PathBuf,
        commit: String,
    },
    /// The agent's worktree is gone.
    Gone(AgentId),
    /// A problem that the user should know about.
    Notice(String),
}

enum MonitorInput {
    Report(Box<WatchReport>),
    Stored(Arc<StoredMessage>),
    Fetched { agent: AgentId, commit: String },
    Stop,
}

/// A running monitor. Dropping it stops it.
#[derive(Debug)]
pub struct ConflictMonitor {
    watcher: Option<Watcher>,
    inputs: Sender<MonitorInput>,
    thread: Option<JoinHandle<()>>,
}

impl ConflictMonitor {
    /// Starts watching. `history` holds the session's messages so far; `on_event` is called on the monitor's thread.
    pub fn start<'a>(
        session: SessionId,
        config: ConflictConfig,
        settings: WatchSettings,
        targets: impl IntoIterator<Item = WatchTarget>,
        history: impl IntoIterator<Item = &'a StoredMessage>,
        on_event: impl FnMut(ConflictMonitorEvent) + Send + 'static,
    ) -> Result<Self, ScratchError> {
        let mut detector = ConflictDetector::new(session, config);
        for stored in history {
            detector.replay(stored);
        }
        let (inputs, inbox) = mpsc::channel();
        let reports = inputs.clone();
        let report = move |report| drop(reports.send(MonitorInput::Report(Box::new(report))));
        let watcher = Watcher::start(settings.clone(), targets, report)?;
        let mut monitor = MonitorLoop {
            detector,
            settings,
            checker: MergeChecker::default(),
            own_scratch: None,
            snapshots: BTreeMap::new(),
            pending: BTreeMap::new(),
            conflicting: BTreeSet::new(),
            judged: Stopwatch::start(),
            rest: Duration::ZERO,
            on_event: Box::new(on_event),
        };
        let thread = thread::spawn(move || monitor.run(&inbox));
        Ok(Self { watcher: Some(watcher), inputs, thread: Some(thread) })
    }

    /// Handles a message of the session.
    pub fn on_message(&self, stored: Arc<StoredMessage>) {
        let _ = self.inputs.send(MonitorInput::Stored(stored));
    }

    /// Judges the work of an agent on another machine, whose snapshot was fetched into this repository.
    pub fn on_fetched(&self, agent: AgentId, commit: String) {
        let _ = self.inputs.send(MonitorInput::Fetched { agent, commit });
    }

    pub fn watch(&self, target: WatchTarget) {
        if let Some(watcher) = &self.watcher {
            watcher.add(target);
        }
    }

    pub fn unwatch(&self, agent: AgentId) {
        if let Some(watcher) = &self.watcher {
            watcher.remove(agent.clone());
        }
        let _ = self.inputs.send(MonitorInput::Report(Box::new(WatchReport::Gone(agent))));
    }
}

impl Drop for ConflictMonitor {
    fn drop(&mut self) {
        self.watcher = None;
        let _ = self.inputs.send(MonitorInput::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct MonitorLoop {
    detector: ConflictDetector,
    checker: MergeChecker,
    settings: WatchSettings,
    /// The scratch repositories with the agents' work. Work of other machines is in the repository itself.
    snapshots: BTreeMap<AgentId, WorkPlace>,
    /// For pairs of which no agent is watched here.
    own_scratch: Option<Arc<ScratchRepo>>,
    /// Pending merge checks: the newest query of each pair.
    pending: BTreeMap<AgentPair, MergeQuery>,
    /// Pairs that conflict, when one of them was last judged, and how long they rest since then.
    conflicting: BTreeSet<AgentPair>,
    judged: Stopwatch,
    rest: Duration,
    on_event: Box<dyn FnMut(ConflictMonitorEvent) + Send>,
}

impl MonitorLoop {
    fn run(&mut self, inbox: &Receiver<MonitorInput>) {
        loop {
            // Inputs come first: a merge check takes longer, and may be out of date already.
            let input = match inbox.try_recv() {
                Ok(input) => Ok(input),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) if self.time_to_check() == Some(Duration::ZERO) => {
                    self.run_merge_checks();
                    continue;
                }
                Err(TryRecvError::Empty) => match self.time_to_wait() {
                    None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(wait) => inbox.recv_timeout(wait),
                },
            };
            match input {
                Ok(MonitorInput::Report(report)) => self.on_report(*report),
                Ok(MonitorInput::Stored(stored)) => self.on_stored(&stored),
                Ok(MonitorInput::Fetched { agent, commit }) => {
                    if let Err(error) = self.on_fetched(agent, &commit) {
                        (self.on_event)(ConflictMonitorEvent::Notice(format!(
                            "cannot read {commit}: {error}"
                        )));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let output = self.detector.on_tick(clock::now());
                    self.act(output);
                }
                Ok(MonitorInput::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn time_to_tick(&self) -> Option<Duration> {
        let wait = clock::now().duration_until(self.detector.next_tick()?);
        // At least 50 ms, so that a tick that is due but waits for git does not spin.
        Some(Duration::try_from(wait).unwrap_or_default().max(Duration::from_millis(50)))
    }

    /// When the next pending merge check is due.
    fn time_to_check(&self) -> Option<Duration> {
        self.pending.keys().map(|pair| self.time_to_rest(pair)).min()
    }

    fn time_to_rest(&self, pair: &AgentPair) -> Duration {
        if self.conflicting.contains(pair) { self.judged.remaining(self.rest) } else { Duration::ZERO }
    }

    fn time_to_wait(&self) -> Option<Duration> {
        [self.time_to_check(), self.time_to_tick()].into_iter().flatten().min()
    }

    fn on_report(&mut self, report: WatchReport) {
        match report {
            WatchReport::Work(mut work) => {
                if let Some(status) = work.status.take() {
                    (self.on_event)(ConflictMonitorEvent::Publish(Box::new(status)));
                }
                let paths = (work.files.as_slice(), work.emptied_dirs.as_slice());
                let output = self.detector.on_work(&work.agent, &work.snapshot.work, paths, clock::now());
                let place = WorkPlace::Scratch(Arc::clone(&work.snapshot.scratch));
                self.snapshots.insert(work.agent.clone(), place);
                self.act(output);
                (self.on_event)(ConflictMonitorEvent::Work(Box::new(work)));
            }
            WatchReport::Status(message) => (self.on_event)(ConflictMonitorEvent::Publish(Box::new(message))),
            WatchReport::Committed { worktree, commit } => {
                (self.on_event)(ConflictMonitorEvent::Committed { worktree, commit });
            }
            // It has moved, and its work was fetched already.
            WatchReport::Gone(agent) if self.is_fetched(&agent) => {}
            WatchReport::Gone(agent) => {
                self.forget(&agent);
                (self.on_event)(ConflictMonitorEvent::Gone(agent));
            }
            WatchReport::Notice { text, .. } => (self.on_event)(ConflictMonitorEvent::Notice(text)),
        }
    }

    fn on_stored(&mut self, stored: &StoredMessage) {
        let agent = stored.message.subject();
        let has_left = watch::is_gone_message(&stored.message);
        let is_unknown = matches!(SnapshotNote::find(&stored.message), Some(SnapshotNote::Problem(_)));
        if (has_left || is_unknown) && self.is_fetched(agent) {
            self.forget(agent);
        }
        let output = self.detector.on_message(stored, clock::now());
        self.act(output);
    }

    fn on_fetched(&mut self, agent: AgentId, commit: &str) -> Result<(), ScratchError> {
        let scratch = self.any_scratch()?;
        let found = scratch.find_work(commit, &self.settings.bases)?;
        let is_work = |path: &&PathBuf| !is_excluded(path, &self.settings.excluded);
        let text = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().filter(is_work).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let (files, emptied) = (text(&found.changed), text(&found.emptied_dirs));
        let output = self.detector.on_work(&agent, &found.work, (&files, &emptied), clock::now());
        self.snapshots.insert(agent, WorkPlace::Repository);
        self.act(output);
        Ok(())
    }

    fn is_fetched(&self, agent: &AgentId) -> bool {
        matches!(self.snapshots.get(agent), Some(WorkPlace::Repository))
    }

    fn forget(&mut self, agent: &AgentId) {
        self.snapshots.remove(agent);
        self.checker.forget(agent);
        self.pending.retain(|pair, _| !pair.contains(agent));
        self.conflicting.retain(|pair| !pair.contains(agent));
        let output = self.detector.on_gone(agent, clock::now());
        self.act(output);
    }

    /// A scratch repository that reads the objects of the user's repository.
    fn any_scratch(&mut self) -> Result<Arc<ScratchRepo>, ScratchError> {
        let used = self.snapshots.values().find_map(WorkPlace::scratch);
        if let Some(scratch) = used.or(self.own_scratch.as_ref()) {
            return Ok(Arc::clone(scratch));
        }
        let scratch = ScratchRepo::open(&self.settings.common_dir, &self.settings.scratch_dir)?;
        Ok(Arc::clone(self.own_scratch.insert(Arc::new(scratch))))
    }

    fn act(&mut self, output: DetectorOutput) {
        self.pending.extend(output.queries.into_iter().map(|query| (query.pair.clone(), query)));
        for message in output.publish {
            (self.on_event)(ConflictMonitorEvent::Publish(Box::new(message)));
        }
    }

    fn run_merge_checks(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let (early, due): (BTreeMap<_, _>, BTreeMap<_, _>) =
            pending.into_iter().partition(|(pair, _)| !self.time_to_rest(pair).is_zero());
        let (mut urgent, later): (BTreeMap<AgentPair, MergeQuery>, BTreeMap<_, _>) =
            due.into_iter().partition(|(pair, _)| self.detector.shares_files(pair));
        self.pending = early;
        // Pairs that share a file come first. Others can conflict only through renames and directories.
        if urgent.is_empty() {
            urgent = later;
        } else {
            self.pending.extend(later);
        }
        let urgent: Vec<MergeQuery> = urgent.into_values().collect();
        let shared = urgent.iter().find_map(|query| self.shared_scratch(&query.pair)).map(Arc::clone);
        let scratch = match shared.map_or_else(|| self.any_scratch(), Ok) {
            Ok(scratch) => scratch,
            Err(error) => return (self.on_event)(ConflictMonitorEvent::Notice(error.to_string())),
        };
        // Snapshots in another scratch repository are about to be replaced.
        let is_there = |agent: &AgentId| match self.snapshots.get(agent) {
            Some(WorkPlace::Scratch(other)) => Arc::ptr_eq(&scratch, other),
            Some(WorkPlace::Repository) => true,
            None => false,
        };
        let in_scratch = |query: &MergeQuery| is_there(&query.pair.first) && is_there(&query.pair.second);
        let queries: Vec<MergeQuery> = urgent.into_iter().filter(in_scratch).collect();
        let detector = &self.detector;
        let needs_lines = |pair: &AgentPair, path: &str| !detector.is_reported(pair, path);
        let started = Stopwatch::start();
        let results = self.checker.check_with_lines(&scratch, &queries, needs_lines);
        if results.iter().any(|result| matches!(result, MergeCheckResult::Conflict(_))) {
            (self.judged, self.rest) = (Stopwatch::start(), recheck_pause(started.elapsed()));
        }
        for (query, result) in queries.into_iter().zip(results) {
            match result {
                MergeCheckResult::Conflict(_) => {
                    self.conflicting.insert(query.pair.clone());
                }
                MergeCheckResult::Clean | MergeCheckResult::Unknown => {
                    self.conflicting.remove(&query.pair);
                }
            }
            let output = self.detector.on_merge_result(query, result, clock::now());
            self.act(output);
        }
    }

    /// The scratch repository that holds the snapshots of both.
    fn shared_scratch(&self, pair: &AgentPair) -> Option<&Arc<ScratchRepo>> {
        let (first, second) = (self.snapshots.get(&pair.first)?, self.snapshots.get(&pair.second)?);
        match (first.scratch(), second.scratch()) {
            (Some(first), Some(second)) => Arc::ptr_eq(first, second).then_some(first),
            (first, second) => first.or(second),
        }
    }
}

/// Where git finds the objects of an agent's work.
#[derive(Debug)]
enum WorkPlace {
    Scratch(Arc<ScratchRepo>),
    Repository,
}

impl WorkPlace {
    fn scratch(&self) -> Option<&Arc<ScratchRepo>> {
        match self {
            Self::Scratch(scratch) => Some(scratch),
            Self::Repository => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_conflict_rest_in_proportion_to_what_they_cost() {
        assert_eq!(recheck_pause(Duration::from_millis(4)), Duration::from_millis(100));
        assert_eq!(recheck_pause(Duration::from_mins(1)), LONGEST_PAUSE);
        assert_eq!(recheck_pause(Duration::ZERO), Duration::ZERO);
    }
}
