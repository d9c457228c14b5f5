//! Uncommitted work between machines: a host keeps snapshots of its agents, and the hub fetches them and judges conflicts.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use paw_broker::Bus;
use paw_broker::conflict::ConflictMonitor;
use paw_broker::watch::{AgentWork, SnapshotNote};
use paw_cluster::{hub, relocate, snapshot};
use paw_core::receipt::ClusterReceipt;
use paw_core::{AgentId, HostName, PawError, SessionName};
use paw_host::clock;
use paw_host::git::Repo;
use paw_session::Receipts;

/// Pause between two snapshots, and between two fetches: an agent that edits file after file is copied a few times a second.
const PAUSE: Duration = Duration::from_millis(200);
/// After a failure. The next snapshot and the next connection also try again.
const RETRY: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 3;

/// Keeps the newest work of each agent, on a thread of its own. Ends with the sender.
pub(crate) fn keep_snapshots(bus: Arc<Bus>) -> Sender<AgentWork> {
    let (sender, works) = mpsc::channel::<AgentWork>();
    thread::spawn(move || {
        while let Ok(first) = works.recv() {
            let mut newest = BTreeMap::from([(first.agent.clone(), first)]);
            newest.extend(works.try_iter().map(|work| (work.agent.clone(), work)));
            for work in newest.into_values() {
                keep(&work, &bus);
            }
            thread::sleep(PAUSE);
        }
    });
    sender
}

fn keep(work: &AgentWork, bus: &Bus) {
    let agent = &work.agent;
    match snapshot::keep(&work.snapshot.scratch, &work.snapshot.work, agent) {
        Ok(None) => {}
        Ok(Some(note)) => {
            if let SnapshotNote::Problem(problem) = &note {
                tracing::warn!(target: "paw::cluster", "{agent}: {problem}");
            }
            if let Err(error) = bus.publish_blocking(note.to_message(agent, &work.files), clock::now()) {
                tracing::warn!(target: "paw::cluster", "cannot announce the work of {agent}: {error}");
            }
        }
        Err(error) => tracing::warn!(target: "paw::cluster", "no snapshot of the work of {agent}: {error}"),
    }
}

/// Fetches snapshots from other machines, one thread per machine.
#[derive(Debug)]
pub(super) struct SnapshotFetcher {
    context: Arc<FetchContext>,
    hosts: Mutex<BTreeMap<HostName, Sender<()>>>,
}

#[derive(Debug)]
struct FetchContext {
    repo: Repo,
    receipts: Receipts,
    session: SessionName,
    /// Ends with the session's process.
    monitor: Weak<ConflictMonitor>,
}

impl SnapshotFetcher {
    pub(super) fn new(
        repo: Repo,
        (receipts, session): (Receipts, SessionName),
        monitor: Weak<ConflictMonitor>,
    ) -> Arc<Self> {
        let context = Arc::new(FetchContext { repo, receipts, session, monitor });
        Arc::new(Self { context, hosts: Mutex::default() })
    }

    /// Fetches from this machine soon.
    pub(super) fn fetch_from(&self, host: &HostName) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = hosts.entry(host.clone()).or_insert_with(|| {
            let (sender, wanted) = mpsc::channel();
            let (context, host) = (Arc::clone(&self.context), host.clone());
            thread::spawn(move || context.serve(&host, &wanted));
            sender
        });
        let _ = wanted.send(());
    }

    /// Removes what agents left behind that moved while this machine could not be reached.
    pub(super) fn clean_left(&self, host: &HostName) {
        let (context, host) = (Arc::clone(&self.context), host.clone());
        thread::spawn(move || {
            if let Err(error) =
                relocate::clean_left(&context.repo, (&context.receipts, &context.session), &host)
            {
                tracing::warn!(target: "paw::cluster", "agents that moved are still on {host}: {error}");
            }
        });
    }

    /// Judges what was fetched by an earlier process, because the machine may not be reachable now.
    pub(super) fn judge_fetched(&self, cluster: &ClusterReceipt) {
        for agent in &cluster.agents {
            if let Some(known) = snapshot::load(&self.context.repo, &agent.host).remove(&agent.agent_id) {
                self.context.judge(agent.agent_id.clone(), known.commit);
            }
        }
    }

    /// Fetches whenever a machine announces a snapshot.
    pub(super) async fn follow(self: Arc<Self>, bus: Arc<Bus>) {
        let mut stream = bus.subscribe();
        while let Some(page) = stream.next_page().await {
            let messages = page.iter().filter(|kept| kept.entry.is_replicated);
            let messages: Vec<_> = messages.filter_map(|kept| kept.parse(bus.session())).collect();
            let announced = messages.iter().filter(|stored| {
                matches!(SnapshotNote::find(&stored.message), Some(SnapshotNote::Commit(_)))
            });
            let agents: Vec<&AgentId> = announced.map(|stored| stored.message.subject()).collect();
            if agents.is_empty() {
                continue;
            }
            let Ok(Some(cluster)) = self.context.cluster() else { continue };
            let mut hosts: Vec<_> =
                cluster.agents.iter().filter(|agent| agents.contains(&&agent.agent_id)).collect();
            hosts.dedup_by_key(|agent| &agent.host);
            for agent in hosts {
                self.fetch_from(&agent.host);
            }
        }
    }
}

impl FetchContext {
    fn cluster(&self) -> Result<Option<ClusterReceipt>, PawError> {
        Ok(self.receipts.load(&self.session)?.and_then(|receipt| receipt.cluster))
    }

    fn serve(&self, host: &HostName, wanted: &Receiver<()>) {
        let mut judged = BTreeMap::new();
        while wanted.recv().is_ok() {
            wanted.try_iter().for_each(drop);
            for attempt in 1..=ATTEMPTS {
                match self.fetch(host, &mut judged) {
                    Ok(()) => break,
                    Err(error) if attempt == ATTEMPTS => {
                        tracing::warn!(target: "paw::cluster", "no snapshots from {host}: {error}");
                    }
                    Err(_) => thread::sleep(RETRY),
                }
                if self.monitor.strong_count() == 0 {
                    return;
                }
            }
            thread::sleep(PAUSE);
        }
    }

    fn fetch(&self, host: &HostName, judged: &mut BTreeMap<AgentId, String>) -> Result<(), PawError> {
        let Some(cluster) = self.cluster()? else { return Ok(()) };
        let agents: Vec<_> = cluster.agents_on(host).map(|agent| agent.agent_id.clone()).collect();
        let remote = hub::require_host(&self.repo, Some(&cluster), host)?;
        for (agent, fetched) in snapshot::fetch(&self.repo, &remote, &agents)? {
            if judged.get(&agent) != Some(&fetched.commit) {
                judged.insert(agent.clone(), fetched.commit.clone());
                self.judge(agent, fetched.commit);
            }
        }
        Ok(())
    }

    fn judge(&self, agent: AgentId, commit: String) {
        if let Some(monitor) = self.monitor.upgrade() {
            monitor.on_fetched(agent, commit);
        }
    }
}
