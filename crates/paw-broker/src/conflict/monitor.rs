//! Watcher, radar and judge of one session at work: messages and file events in, messages out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paw_core::AgentId;
use paw_core::config::ConflictConfig;
use paw_host::clock;
use paw_host::git::{ScratchError, ScratchRepo};

use super::{AgentPair, ConflictDetector, DetectorOutput, MergeChecker, MergeQuery};
use crate::message::Message;
use crate::watch::{WatchReport, WatchSettings, WatchTarget, Watcher, WorkSnapshot};
use crate::{SessionId, StoredMessage};

/// What a patrol has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictMonitorEvent {
    Publish(Box<Message>),
    /// The worktree is gone.
    Gone(AgentId),
    /// Something people should know.
    Notice(String),
}

enum MonitorInput {
    Report(Box<WatchReport>),
    Stored(Arc<StoredMessage>),
    Stop,
}

/// A running patrol. Ends when it is dropped.
#[derive(Debug)]
pub struct ConflictMonitor {
    watcher: Option<Watcher>,
    inputs: Sender<MonitorInput>,
    thread: Option<JoinHandle<()>>,
}

impl ConflictMonitor {
    /// Starts watching. `history` are the session's messages so far; `signal` is called on a thread of the patrol.
    pub fn start<'a>(
        session: SessionId,
        config: ConflictConfig,
        settings: WatchSettings,
        targets: impl IntoIterator<Item = WatchTarget>,
        history: impl IntoIterator<Item = &'a StoredMessage>,
        signal: impl FnMut(ConflictMonitorEvent) + Send + 'static,
    ) -> Result<Self, ScratchError> {
        let mut radar = ConflictDetector::new(session, config);
        for stored in history {
            radar.replay(stored);
        }
        let (inputs, inbox) = mpsc::channel();
        let reports = inputs.clone();
        let report = move |report| drop(reports.send(MonitorInput::Report(Box::new(report))));
        let watcher = Watcher::start(settings, targets, report)?;
        let mut duty = MonitorLoop {
            radar,
            checker: MergeChecker::default(),
            moments: BTreeMap::new(),
            asked: BTreeMap::new(),
            signal: Box::new(signal),
        };
        let thread = thread::spawn(move || duty.run(&inbox));
        Ok(Self { watcher: Some(watcher), inputs, thread: Some(thread) })
    }

    /// A message of the session's stream.
    pub fn on_message(&self, stored: Arc<StoredMessage>) {
        let _ = self.inputs.send(MonitorInput::Stored(stored));
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
    radar: ConflictDetector,
    checker: MergeChecker,
    moments: BTreeMap<AgentId, WorkSnapshot>,
    /// Questions that wait for git; only the newest about each pair.
    asked: BTreeMap<AgentPair, MergeQuery>,
    signal: Box<dyn FnMut(ConflictMonitorEvent) + Send>,
}

impl MonitorLoop {
    fn run(&mut self, inbox: &Receiver<MonitorInput>) {
        loop {
            // Everything that is known comes before asking git, which takes longer than to listen.
            let input = match inbox.try_recv() {
                Ok(input) => Ok(input),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) if !self.asked.is_empty() => {
                    self.ask_git();
                    continue;
                }
                Err(TryRecvError::Empty) => match self.until_tick() {
                    None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(wait) => inbox.recv_timeout(wait),
                },
            };
            match input {
                Ok(MonitorInput::Report(report)) => self.on_report(*report),
                Ok(MonitorInput::Stored(stored)) => {
                    let outcome = self.radar.on_message(&stored, clock::now());
                    self.act(outcome);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let outcome = self.radar.on_tick(clock::now());
                    self.act(outcome);
                }
                Ok(MonitorInput::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn until_tick(&self) -> Option<Duration> {
        let wait = clock::now().duration_until(self.radar.next_tick()?);
        // A little later than due, so that it is due. What is due and waits for git is not asked for all the time.
        Some(Duration::try_from(wait).unwrap_or_default().max(Duration::from_millis(50)))
    }

    fn on_report(&mut self, report: WatchReport) {
        match report {
            WatchReport::Work(work) => {
                if let Some(status) = work.status {
                    (self.signal)(ConflictMonitorEvent::Publish(Box::new(status)));
                }
                let outcome = self.radar.on_work(&work.agent, &work.moment.commit, &work.files, clock::now());
                self.moments.insert(work.agent, work.moment);
                self.act(outcome);
            }
            WatchReport::Status(message) => (self.signal)(ConflictMonitorEvent::Publish(Box::new(message))),
            WatchReport::Gone(agent) => {
                self.moments.remove(&agent);
                self.asked.retain(|pair, _| !pair.has(&agent));
                let outcome = self.radar.on_gone(&agent, clock::now());
                self.act(outcome);
                (self.signal)(ConflictMonitorEvent::Gone(agent));
            }
            WatchReport::Notice { text, .. } => (self.signal)(ConflictMonitorEvent::Notice(text)),
        }
    }

    fn act(&mut self, outcome: DetectorOutput) {
        self.asked.extend(outcome.judge.into_iter().map(|ask| (ask.pair.clone(), ask)));
        for message in outcome.publish {
            (self.signal)(ConflictMonitorEvent::Publish(Box::new(message)));
        }
    }

    fn ask_git(&mut self) {
        let asked = std::mem::take(&mut self.asked);
        let (mut asked, later): (BTreeMap<AgentPair, MergeQuery>, _) =
            asked.into_iter().partition(|(pair, _)| self.radar.share_files(pair));
        // Who shares a file comes first. The others could only conflict by renames and directories.
        if asked.is_empty() {
            asked = later;
        } else {
            self.asked = later;
        }
        let asked: Vec<MergeQuery> = asked.into_values().collect();
        let Some(scratch) = asked.iter().find_map(|ask| self.shared_scratch(&ask.pair)).map(Arc::clone)
        else {
            return;
        };
        // What stands elsewhere is about to be taken anew.
        let here = |ask: &MergeQuery| {
            self.shared_scratch(&ask.pair).is_some_and(|other| Arc::ptr_eq(&scratch, other))
        };
        let asks: Vec<MergeQuery> = asked.into_iter().filter(here).collect();
        let verdicts = self.checker.check(&scratch, &asks);
        for (ask, verdict) in asks.into_iter().zip(verdicts) {
            let outcome = self.radar.on_verdict(ask, verdict, clock::now());
            self.act(outcome);
        }
    }

    /// The repository that knows the work of both.
    fn shared_scratch(&self, pair: &AgentPair) -> Option<&Arc<ScratchRepo>> {
        let (first, second) = (self.moments.get(&pair.first)?, self.moments.get(&pair.second)?);
        Arc::ptr_eq(&first.scratch, &second.scratch).then_some(&first.scratch)
    }
}
