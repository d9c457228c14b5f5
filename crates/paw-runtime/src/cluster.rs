//! The other machines of a session: the server and the tunnels of the hub, and replication on every machine.

mod hub;
mod member;
mod news;
mod snapshots;

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use paw_broker::Bus;
use paw_broker::conflict::ConflictMonitor;
use paw_broker::log::{PageLimit, StreamId};
use paw_broker::watch;
use paw_cluster::nats::{NatsLogin, NatsSettings};
use paw_cluster::replicator::{ReplicationStatus, ReplicatorSettings};
use paw_cluster::request::ClusterAction;
use paw_cluster::roster::Roster;
use paw_core::config::ClusterConfig;
use paw_core::paths::PawDir;
use paw_core::receipt::{ClusterReceipt, HostReceipt};
use paw_core::{AgentId, PawError, SessionName};
use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_host::signing::SecretKey;
use paw_session::Receipts;
use serde_json::Value;
use tokio::sync::{Mutex, watch as tokio_watch};
use tokio::time::sleep;

use hub::{HostReaches, RunningHub};
pub(super) use snapshots::keep_snapshots;

/// What the machines of a session need to know.
#[derive(Debug)]
pub(super) struct ClusterContext {
    pub(super) repo: Repo,
    pub(super) dirs: Dirs,
    pub(super) receipts: Receipts,
    pub(super) session: SessionName,
    pub(super) bus: Arc<Bus>,
    pub(super) config: ClusterConfig,
    /// Judges the work of agents on other machines.
    pub(super) monitor: Weak<ConflictMonitor>,
}

/// The cluster of a session, once it has one.
#[derive(Debug)]
pub(super) struct Cluster {
    context: ClusterContext,
    hub: Mutex<Option<RunningHub>>,
    reaches: Arc<HostReaches>,
    /// Why the hub could not start.
    failure: std::sync::Mutex<Option<String>>,
    /// Replication on a machine that is not the hub.
    member: std::sync::Mutex<Option<tokio_watch::Receiver<ReplicationStatus>>>,
}

/// How long messages may take to be sent before a session is removed.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
const DRAIN_POLL: Duration = Duration::from_millis(50);
/// Between two attempts to start the hub.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Cluster {
    pub(super) fn new(context: ClusterContext) -> Arc<Self> {
        let reaches = Arc::new(HostReaches::new(PawDir::of(&context.repo.common_dir)));
        let (hub, failure, member) =
            (Mutex::new(None), std::sync::Mutex::default(), std::sync::Mutex::default());
        Arc::new(Self { context, hub, reaches, failure, member })
    }

    /// Connects the machines in the receipt, until the session ends.
    pub(super) async fn run(self: Arc<Self>) {
        match self.context.load() {
            Ok(Some(cluster)) if cluster.is_hub() => self.start_hub().await,
            Ok(Some(cluster)) => self.replicate(cluster).await,
            Ok(None) => {}
            Err(error) => {
                tracing::error!(target: "paw::cluster", "cannot read the session's machines: {error}");
            }
        }
    }

    /// Starts the hub, as often as it takes: its server may be missing for a moment, or slow.
    async fn start_hub(&self) {
        let mut pause = SHORTEST_PAUSE;
        while let Err(error) = self.apply().await {
            tracing::error!(target: "paw::cluster", "other machines are not connected: {error}");
            // What is left to do, a running hub does by itself.
            if self.hub.lock().await.is_some() {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    pub(super) async fn answer(&self, action: ClusterAction) -> Result<Value, PawError> {
        match action {
            ClusterAction::Apply => self.apply().await,
            ClusterAction::Status => self.status().await,
            ClusterAction::Drain => self.drain().await,
        }
    }

    /// Waits until all messages of this machine are in the stream.
    async fn drain(&self) -> Result<Value, PawError> {
        let status = self.member.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(status) = status else { return Ok(serde_json::json!({"drained": false})) };
        let bus = &self.context.bus;
        let is_drained = || -> Result<bool, PawError> {
            let rest = bus.log().history(bus.session(), status.borrow().sent, PageLimit::DEFAULT)?;
            Ok(rest.iter().all(|entry| entry.is_replicated))
        };
        let watch = Stopwatch::start();
        while !is_drained()? {
            if watch.elapsed() > DRAIN_LIMIT {
                return Ok(serde_json::json!({"drained": false}));
            }
            sleep(DRAIN_POLL).await;
        }
        Ok(serde_json::json!({"drained": true}))
    }

    /// Ends tunnels and server.
    pub(super) async fn close(&self) {
        if let Some(hub) = self.hub.lock().await.take() {
            hub.stop().await;
        }
    }
}

impl ClusterContext {
    fn load(&self) -> Result<Option<ClusterReceipt>, PawError> {
        Ok(self.receipts.load(&self.session)?.and_then(|receipt| receipt.cluster))
    }

    /// Says that removed agents of other machines are gone, because their machine may not be able to.
    async fn report_removed(&self, cluster: &ClusterReceipt) -> Result<(), PawError> {
        let records = self.bus.records();
        let others = cluster.hosts.iter().filter(|(name, _)| **name != cluster.hub);
        let is_removed = |agent: &&AgentId| cluster.agents.iter().all(|other| other.agent_id != **agent);
        let ran = |host: &HostReceipt| host.agents.difference(&host.left).cloned().collect::<Vec<_>>();
        let removed: Vec<_> = others.flat_map(|(_, host)| ran(host)).filter(|id| is_removed(&id)).collect();
        for agent in removed.iter().filter(|agent| records.get(agent).is_some()) {
            self.bus.publish(watch::gone_message(agent), clock::now()).await?;
        }
        Ok(())
    }

    fn key(&self) -> Result<SecretKey, PawError> {
        Ok(SecretKey::open(&self.dirs.data().host_key())?)
    }

    fn replicator(
        &self,
        cluster: &ClusterReceipt,
        (servers, login): (Vec<String>, Option<NatsLogin>),
        roster: tokio_watch::Receiver<Roster>,
    ) -> Result<ReplicatorSettings, PawError> {
        let nats = NatsSettings {
            servers,
            login,
            stream: stream_of(cluster)?,
            host: cluster.host.clone(),
            is_hub: cluster.is_hub(),
            replicas: usize::try_from(self.config.replicas).unwrap_or(1).max(1),
        };
        let (bus, log) = (Arc::clone(&self.bus), Arc::clone(self.bus.log()));
        Ok(ReplicatorSettings { nats, bus, log, key: self.key()?, roster })
    }
}

fn damaged() -> PawError {
    PawError::SessionError("the machines in the session's receipt are damaged".to_owned())
}

fn stream_of(cluster: &ClusterReceipt) -> Result<StreamId, PawError> {
    StreamId::parse(&cluster.stream).ok_or_else(damaged)
}

fn roster_of(cluster: &ClusterReceipt) -> Result<Roster, PawError> {
    Roster::of_receipt(cluster).ok_or_else(damaged)
}

/// The figures of replication, for people.
fn figures(status: &ReplicationStatus) -> Value {
    serde_json::json!({
        "connected": status.is_connected,
        "problem": status.problem.as_ref().map(ToString::to_string),
        "read": status.read,
        "last": status.last,
        "sent": status.sent,
        "skipped": status.skipped,
    })
}
