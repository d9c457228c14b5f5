//! Starts the worktree watcher and conflict detection of a session, and feeds them its messages.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use paw_broker::bus::Subscription;
use paw_broker::conflict::{self, ConflictMonitor, ConflictMonitorEvent, ConflictReport};
use paw_broker::hooks::CommitSignal;
use paw_broker::log::SendId;
use paw_broker::message::StatusSource;
use paw_broker::watch::{self, AgentWork, SnapshotNote, WatchTarget};
use paw_broker::{Broker, Bus, Message};
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError, Receipt, SessionName};
use paw_host::clock;
use paw_host::git::Repo;
use paw_session::Receipts;

/// Pause between two pages of messages, so that conflict detection is not woken for every commit under load.
const READ_PAUSE: Duration = Duration::from_millis(10);

/// Which conflicts this machine reports.
pub(super) struct ConflictScope {
    pub(super) receipts: Receipts,
    /// Missing if the broker was started by hand.
    pub(super) session: Option<SessionName>,
    /// Where the work of agents goes whose hub is another machine.
    pub(super) works: Option<Sender<AgentWork>>,
}

impl ConflictScope {
    /// Read when there is something to report, because agents come and go.
    fn load(&self) -> Option<Receipt> {
        self.receipts.load(self.session.as_ref()?).ok().flatten()
    }

    /// Agents of other machines do not leave because they are not watched here.
    fn is_of_machine(&self, agent: &AgentId) -> bool {
        let cluster = self.load().and_then(|receipt| receipt.cluster);
        cluster.is_none_or(|cluster| cluster.is_judged_here(agent))
    }

    /// An agent that runs on another machine now has not left the session.
    fn has_moved(&self, agent: &AgentId) -> bool {
        self.load()
            .is_some_and(|receipt| receipt.remote_agents().iter().any(|other| other.agent_id == *agent))
    }

    fn judges(&self, report: &ConflictReport) -> bool {
        self.load().is_none_or(|receipt| receipt.judges(&report.you, &report.other))
    }
}

/// Watches the worktrees of `targets`. Pass the returned subscription to [`feed`].
pub(super) fn start(
    repo: &Repo,
    config: &PawConfig,
    targets: Vec<WatchTarget>,
    broker: &Broker,
    scope: ConflictScope,
) -> Result<(Arc<ConflictMonitor>, Subscription), PawError> {
    let conflict =
        config.supervisor.as_ref().map(|supervisor| supervisor.conflict.clone()).unwrap_or_default();
    let mut settings = watch::WatchSettings::new(&repo.common_dir, PawDir::of(&repo.common_dir).radar());
    settings.bases = watch::find_bases(&repo.git())?;
    settings.republish_after = Duration::from_secs(config.broker.watcher.republish_working_ttl_seconds);
    let bus = broker.bus();
    // Subscribe first, so that messages stored while the history is read are not lost.
    let stream = bus.subscribe().with_pause(READ_PAUSE);
    let past = conflict::load_history(bus)?;
    let mut left = find_left(broker, &targets)?;
    left.retain(|agent| scope.is_of_machine(agent));
    let out = Arc::clone(bus);
    let signal = move |signal| match signal {
        ConflictMonitorEvent::Publish(message) => {
            let report = ConflictReport::find(&message);
            if report.is_none_or(|report| scope.judges(&report)) {
                publish(&out, *message);
            }
        }
        ConflictMonitorEvent::Committed { worktree, commit } => report_commit(&out, &worktree, &commit),
        ConflictMonitorEvent::Work(work) => {
            if let Some(works) = &scope.works {
                let _ = works.send(*work);
            }
        }
        ConflictMonitorEvent::Gone(agent) if scope.has_moved(&agent) => {}
        ConflictMonitorEvent::Gone(agent) => {
            tracing::warn!(target: "paw::session", "the worktree of {agent} no longer exists");
            publish(&out, watch::gone_message(&agent));
        }
        ConflictMonitorEvent::Notice(text) => tracing::warn!(target: "paw::session", "{text}"),
    };
    let session = bus.session().clone();
    let monitor = ConflictMonitor::start(session, conflict, settings, targets, past.iter(), signal)?;
    for agent in left {
        publish(bus, watch::gone_message(&agent));
    }
    Ok((Arc::new(monitor), stream))
}

/// Agents that left while this process was not running: they have no watched worktree and no token.
fn find_left(broker: &Broker, targets: &[WatchTarget]) -> Result<Vec<AgentId>, PawError> {
    let bus = broker.bus();
    let keys = broker.keyring().load(bus.session())?;
    let is_present = |agent: &AgentId| {
        matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
            || keys.has(agent)
            || targets.iter().any(|target| target.agent == *agent)
    };
    let records = bus.records();
    let agents = records.iter().map(|record| &record.agent_id);
    Ok(agents.filter(|agent| !is_present(agent)).cloned().collect())
}

/// Reports a commit of an agent, unless its hook has done so, and tells the agent if it is on another agent's branch.
fn report_commit(bus: &Bus, worktree: &Path, commit: &str) {
    let signal = match CommitSignal::find(worktree, commit) {
        Ok(Some(signal)) => signal,
        Ok(None) => return,
        Err(error) => return tracing::warn!(target: "paw::session", "cannot report a commit: {error}"),
    };
    let stray = signal.stray_feedback().map(|feedback| (feedback, SendId::of_stray_commit(commit)));
    for (message, id) in [(signal.to_message(), SendId::of_commit(commit))].into_iter().chain(stray) {
        if let Err(error) = bus.publish_once_blocking(message, clock::now(), id) {
            tracing::warn!(target: "paw::session", "cannot store a message: {error}");
        }
    }
}

fn publish(bus: &Bus, message: Message) {
    if let Err(error) = bus.publish_blocking(message, clock::now()) {
        tracing::warn!(target: "paw::session", "cannot store a message: {error}");
    }
}

/// Whether a snapshot says more than this list of changed files, and arrives soon.
fn is_snapshot_next(message: &Message) -> bool {
    let Message::Status(status) = message else { return false };
    let has_problem = matches!(SnapshotNote::find(message), Some(SnapshotNote::Problem(_)));
    status.source() == Some(StatusSource::Watcher) && !watch::is_gone_message(message) && !has_problem
}

/// Passes the session's messages to conflict detection as they are stored. The hub also judges the agents of other machines.
pub(super) async fn feed(
    mut stream: Subscription,
    bus: Arc<Bus>,
    monitor: Arc<ConflictMonitor>,
    is_hub: bool,
) {
    while let Some(page) = stream.next_page().await {
        for kept in page.iter().filter(|kept| is_hub || !kept.entry.is_replicated) {
            let Some(stored) = kept.parse(bus.session()) else { continue };
            if !kept.entry.is_replicated || !is_snapshot_next(&stored.message) {
                monitor.on_message(stored);
            }
        }
    }
}
