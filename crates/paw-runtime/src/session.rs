//! The session's process: starts its long-running parts in order, and stops them in order.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use paw_broker::conflict::ConflictMonitor;
use paw_broker::endpoint::parse_address;
use paw_broker::learnings;
use paw_broker::log;
use paw_broker::watch::WatchTarget;
use paw_broker::{Broker, BrokerSettings, Bus, SessionId};
use paw_core::config::PawConfig;
use paw_core::receipt::ClusterReceipt;
use paw_core::{AgentId, PawError, ProjectName, Receipt, SessionMode, SessionName};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::signals::ShutdownSignals;
use paw_session::Receipts;
use paw_supervisor::unanswered_questions::UnansweredQuestions;
use paw_web::{Page, PageSettings};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::attention::AttentionEvent;
use crate::cluster::{Cluster, ClusterContext, keep_snapshots};
use crate::conflicts::ConflictScope;
use crate::pane_services::PaneServices;
use crate::requests::{RequestAnswers, RequestedRuns};
use crate::{conflicts, questions, repository};

/// Runs of the page that wait.
const PAGE_RUNS: usize = 16;

/// What a session's process needs to start.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub repo: Repo,
    /// The configuration, with untrusted repository settings removed.
    pub config: PawConfig,
    pub dirs: Dirs,
    /// How long a CLI may take to become ready before a person should know; if not set, the default.
    pub ready_timeout: Option<Duration>,
}

/// A running session's process. [`SessionProcess::stop`] shuts it down.
pub struct SessionProcess {
    broker: Broker,
    repo: Repo,
    watched: usize,
    conflicts: Arc<ConflictMonitor>,
    panes: Option<PaneServices>,
    page: Option<Arc<Page>>,
    cluster: Option<Arc<Cluster>>,
    runs: RequestedRuns,
    tasks: Vec<JoinHandle<()>>,
    learning: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    ended: watch::Receiver<bool>,
}

impl std::fmt::Debug for SessionProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionProcess").field("repo", &self.repo).finish_non_exhaustive()
    }
}

impl SessionProcess {
    /// Starts the broker and watches the session's agents; without a session, all worktrees of the repository.
    pub fn start(settings: &SessionSettings) -> Result<Self, PawError> {
        let SessionSettings { repo, mut config, dirs, .. } = settings.clone();
        let receipts = Receipts::at(dirs.sessions_dir());
        let receipt = receipts.find_for_repo(&repo.root)?;
        let id = match &receipt {
            Some(receipt) => SessionId::new(&receipt.session_id()),
            None => find_session(&repo)?,
        };
        if let Some(receipt) = &receipt {
            config.broker.port = receipt.broker_port.unwrap_or(config.broker.port);
            config.broker.bind = receipt.broker_bind.clone().unwrap_or(config.broker.bind);
        }
        let mut served =
            BrokerSettings::new(repo.common_dir.clone(), repo.root.clone(), id, config.broker.clone());
        served.nudge = config.supervisor.as_ref().is_none_or(|supervisor| supervisor.verify_on_commit_nudge);
        let ended = end_on_signal()?;
        let mut broker = Broker::start(served)?;
        let targets = match &receipt {
            Some(receipt) => {
                remember_port(&receipts, receipt, broker.url());
                agents_of(receipt)
            }
            None => agents(&repo)?,
        };
        let watched = targets.len();
        let bus = Arc::clone(broker.bus());
        let machines = receipt.as_ref().and_then(|receipt| receipt.cluster.as_ref());
        let is_hub = machines.is_none_or(ClusterReceipt::is_hub);
        let session = receipt.as_ref().map(|receipt| receipt.session_name.clone());
        let works = (!is_hub).then(|| keep_snapshots(Arc::clone(&bus)));
        let scope = ConflictScope { receipts: receipts.clone(), session, works };
        let (conflicts, messages) = conflicts::start(&repo, &config, targets, &broker, scope)?;
        let feed = conflicts::feed(messages, Arc::clone(&bus), Arc::clone(&conflicts), is_hub);
        let mut tasks = vec![broker.runtime().spawn(feed)];
        if let Some(mut wanted) = broker.take_watches() {
            let conflicts = Arc::clone(&conflicts);
            tasks.push(broker.runtime().spawn(async move {
                while let Some(one) = wanted.recv().await {
                    conflicts.watch(WatchTarget {
                        agent: one.agent_id,
                        worktree: one.worktree_path,
                        cli: one.cli,
                    });
                }
            }));
        }
        let runs = RequestedRuns::new(&repo.root);
        // A broker that was started by hand has no session to show.
        let page = receipt.as_ref().map(|_| {
            let (starter, requests) = mpsc::channel(PAGE_RUNS);
            tasks.push(broker.runtime().spawn(runs.clone().serve(requests, RequestAnswers::default())));
            Arc::new(Page::new(PageSettings {
                repo: repo.clone(),
                dirs: dirs.clone(),
                receipts: receipts.clone(),
                bus: Arc::clone(&bus),
                runs: starter,
            }))
        });
        let cluster = receipt.as_ref().map(|receipt| {
            Cluster::new(ClusterContext {
                repo: repo.clone(),
                dirs: dirs.clone(),
                receipts: receipts.clone(),
                session: receipt.session_name.clone(),
                bus: Arc::clone(&bus),
                config: config.cluster.clone(),
                monitor: Arc::downgrade(&conflicts),
            })
        });
        if let Some(cluster) = cluster.clone().filter(|_| machines.is_some()) {
            tasks.push(broker.runtime().spawn(cluster.run()));
        }
        if let Some(requests) = broker.take_runs() {
            let answers = RequestAnswers { page: page.clone(), cluster: cluster.clone() };
            tasks.push(broker.runtime().spawn(runs.clone().serve(requests, answers)));
        }
        let supervisor = config.supervisor.clone().unwrap_or_default();
        // The hub watches the questions and collects the learnings of all machines.
        if let Some(open) = UnansweredQuestions::with_window(supervisor.blocked_on_supervisor_window_seconds)
            && is_hub
        {
            let supervised = receipt.as_ref().is_some_and(|receipt| receipt.mode == SessionMode::Supervisor);
            tasks.push(broker.runtime().spawn(questions::raise(Arc::clone(&bus), open, supervised)));
        }
        let learning = if is_hub { start_learning(&repo, &config, &broker) } else { None };
        // A broker that was started by hand leaves the panes to the session's own process.
        let own = receipt.as_ref().filter(|receipt| receipt.has_broker());
        let panes = own.map(|receipt| PaneServices::start(settings, receipt, Some(&bus)));
        if let Some(events) = panes.as_ref().and_then(PaneServices::events) {
            tasks.push(broker.runtime().spawn(report_messages(Arc::clone(&bus), events, is_hub)));
        }
        if let Some(page) = page.clone() {
            tasks.push(broker.runtime().spawn(async move { page.resume().await }));
        }
        Ok(Self { broker, repo, watched, conflicts, panes, page, cluster, runs, tasks, learning, ended })
    }

    pub fn runtime(&self) -> Handle {
        self.broker.runtime().clone()
    }

    pub fn url(&self) -> &str {
        self.broker.url()
    }

    /// The number of watched worktrees.
    pub fn watched(&self) -> usize {
        self.watched
    }

    /// Resolves when a signal asks the process to stop, even one that arrived during its start, when it can no longer
    /// store messages, or when its repository is gone. A process that cannot do its work must not look alive.
    pub fn ended(&self) -> impl Future<Output = ()> + use<> {
        let (mut ended, bus) = (self.ended.clone(), Arc::clone(self.broker.bus()));
        let common_dir = self.repo.common_dir.clone();
        async move {
            tokio::select! {
                _ = ended.wait_for(|ended| *ended) => {}
                () = bus.closed() => {
                    tracing::error!(target: "paw::session", "messages can no longer be stored: the process ends");
                }
                () = repository::gone(&common_dir, repository::CHECK_EVERY) => {
                    tracing::error!(target: "paw::session", "{} is gone: the process ends", common_dir.display());
                }
            }
        }
    }

    /// Stops everything that publishes before the broker, so that no message is lost.
    pub fn stop(self) {
        for task in self.tasks {
            task.abort();
        }
        if let Some(page) = self.page {
            self.broker.runtime().clone().block_on(page.close());
        }
        if let Some(cluster) = self.cluster {
            self.broker.runtime().clone().block_on(cluster.close());
        }
        let runs = self.runs.stop();
        drop(self.panes);
        drop(self.conflicts);
        if let Some((stop, task)) = self.learning {
            let _ = stop.send(());
            let _ = self.broker.runtime().clone().block_on(task);
        }
        self.broker.shutdown();
        for run in runs {
            let _ = run.join();
        }
    }
}

/// Reports the session's messages. Those that were stored before are not news, nor are those of other machines, except on the
/// hub.
async fn report_messages(bus: Arc<Bus>, events: Sender<AttentionEvent>, is_hub: bool) {
    let past = bus.head();
    let since = past.saturating_sub(questions::HISTORY);
    let mut stream = bus.subscribe_after(since).with_pause(questions::READ_PAUSE);
    while let Some(page) = stream.next_page().await {
        let page = page.iter().filter(|kept| is_hub || !kept.entry.is_replicated);
        let page = page.filter_map(|kept| kept.parse(bus.session()));
        let (old, new): (Vec<_>, Vec<_>) = page.partition(|stored| stored.seq <= past);
        for event in [AttentionEvent::Past(old), AttentionEvent::Messages(new)] {
            if events.send(event).is_err() {
                return;
            }
        }
    }
}

/// From here on a signal shuts the session down in order, even during its start.
fn end_on_signal() -> Result<watch::Receiver<bool>, PawError> {
    let (ended, receiver) = watch::channel(false);
    let end = move || {
        ended.send_replace(true);
    };
    ShutdownSignals::on_first(end)?;
    Ok(receiver)
}

/// Records the broker's port in the receipt if it differs from the planned one.
fn remember_port(receipts: &Receipts, receipt: &Receipt, url: &str) {
    let Some(port) = parse_address(url).map(|address| address.port()) else { return };
    if receipt.broker_port == Some(port) {
        return;
    }
    let set = |receipt: &mut Receipt| receipt.broker_port = Some(port);
    let changed = receipts.lock().and_then(|lock| receipts.update(&receipt.session_name, &lock, set));
    if let Err(error) = changed {
        tracing::warn!(target: "paw::session", "cannot record the broker's port: {error}");
    }
}

/// The agents of a session that have a worktree.
fn agents_of(receipt: &Receipt) -> Vec<WatchTarget> {
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
    let agents = agents.filter(|(agent, _)| agent.worktree_path.is_dir());
    agents
        .map(|(agent, id)| WatchTarget {
            agent: id,
            worktree: agent.worktree_path.clone(),
            cli: Some(agent.cli.clone()),
        })
        .collect()
}

/// The last session, so that its inboxes and intents are kept; without one, a session named after the project.
fn find_session(repo: &Repo) -> Result<SessionId, PawError> {
    let log = paw_core::paths::PawDir::of(&repo.common_dir).log();
    let last = match log::find(&log)? {
        Some(log) => log.current_session()?,
        None => None,
    };
    Ok(last.unwrap_or_else(|| {
        SessionId::new(SessionName::for_project(&ProjectName::from_path(&repo.root)).as_str())
    }))
}

/// One agent per linked worktree of the repository.
fn agents(repo: &Repo) -> Result<Vec<WatchTarget>, PawError> {
    let mut targets: Vec<WatchTarget> = Vec::new();
    for worktree in repo.git().worktrees()?.into_iter().skip(1).filter(|worktree| worktree.path.is_dir()) {
        let Some(branch) = worktree.branch() else { continue };
        let id = AgentId::for_branch(branch, |id| targets.iter().any(|target| target.agent == *id));
        targets.push(WatchTarget { agent: id, worktree: worktree.path, cli: None });
    }
    Ok(targets)
}

fn start_learning(
    repo: &Repo,
    config: &PawConfig,
    broker: &Broker,
) -> Option<(oneshot::Sender<()>, JoinHandle<()>)> {
    let wanted =
        config.supervisor.as_ref().map(|supervisor| &supervisor.learnings).filter(|wanted| wanted.enabled)?;
    let (stop, stopped) = oneshot::channel();
    let (bus, settings) = (Arc::clone(broker.bus()), learnings::LearningsSettings::from_config(wanted));
    let repository = repo.root.clone();
    let task = broker.runtime().spawn(async move {
        let stopped = async { drop(stopped.await) };
        if let Err(error) = learnings::run::run(bus, settings, repository, stopped).await {
            tracing::warn!(target: "paw::session", "learnings are no longer collected: {error}");
        }
    });
    Some((stop, task))
}
