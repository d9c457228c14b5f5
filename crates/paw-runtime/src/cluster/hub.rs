//! The hub: its NATS server, a tunnel to each host, and the roster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use paw_cluster::credentials;
use paw_cluster::link::{self, HubNews};
use paw_cluster::nats::{NatsSettings, NatsStream};
use paw_cluster::replicator::{ReplicationProblem, ReplicationStatus, Replicator};
use paw_cluster::roster::Roster;
use paw_cluster::server::OwnServer;
use paw_cluster::tunnel::{Tunnel, TunnelEndpoint, TunnelSettings, TunnelState};
use paw_core::paths::PawDir;
use paw_core::receipt::{ClusterReceipt, HostReceipt};
use paw_core::{ErrorCode, HostName, PawError};
use paw_host::clock;
use paw_host::files::{self, Access};
use paw_host::git::Repo;
use paw_host::ssh::SshTarget;
use paw_view::HostReach;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::news;
use super::snapshots::SnapshotFetcher;
use super::{Cluster, ClusterContext, damaged, figures, roster_of, stream_of};

/// How long a change may take to be stored in the stream.
const ANNOUNCE_LIMIT: Duration = Duration::from_secs(20);
const STATUS_LIMIT: Duration = Duration::from_secs(3);

/// What runs on the hub.
#[derive(Debug)]
pub(super) struct RunningHub {
    repo: Repo,
    /// Missing if the user's servers are used.
    server: Option<OwnServer>,
    tunnels: BTreeMap<HostName, Tunnel>,
    reaches: Arc<HostReaches>,
    roster: watch::Sender<Roster>,
    status: watch::Receiver<ReplicationStatus>,
    nats: NatsSettings,
    snapshots: Arc<SnapshotFetcher>,
    news: HubNews,
    tasks: [JoinHandle<()>; 2],
}

impl Cluster {
    /// Uses the machines in the receipt. Returns when the stream has them.
    pub(super) async fn apply(&self) -> Result<Value, PawError> {
        let Some(cluster) = self.context.load()?.filter(ClusterReceipt::is_hub) else {
            return Ok(json!({"hosts": []}));
        };
        let mut status = {
            let mut hub = self.hub.lock().await;
            if let Some(hub) = &mut *hub {
                hub.update(&cluster)?;
                self.context.report_removed(&cluster).await?;
            } else {
                *hub = Some(self.start(&cluster).await?);
            }
            hub.as_ref().ok_or_else(damaged)?.status.clone()
        };
        let is_announced = |status: &ReplicationStatus| status.announced >= cluster.version;
        let is_copy = |status: &ReplicationStatus| status.problem == Some(ReplicationProblem::OtherHub);
        let decided = status.wait_for(|status| is_announced(status) || is_copy(status));
        // What could not be stored in time, or never will be.
        let _ = timeout(ANNOUNCE_LIMIT, decided).await;
        let status = status.borrow().clone();
        if is_announced(&status) {
            return Ok(json!({"announced": cluster.version}));
        }
        let is_copy = is_copy(&status);
        let problem = status.problem.map_or_else(|| "no answer".to_owned(), |problem| problem.to_string());
        if is_copy {
            return Err(PawError::new(ErrorCode::FailedPrecondition, problem).hint(link::COPY_HINT));
        }
        Err(PawError::new(
            ErrorCode::FailedPrecondition,
            format!(
                "the NATS server did not store the new agent within {} s: {problem}",
                ANNOUNCE_LIMIT.as_secs()
            ),
        )
        .hint("see 'git paw cluster status'"))
    }

    pub(super) async fn status(&self) -> Result<Value, PawError> {
        let Some(cluster) = self.context.load()? else { return Ok(json!({"stream": null, "hosts": []})) };
        let hub = self.hub.lock().await;
        let Some(hub) = &*hub else {
            let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return Ok(json!({
                "stream": format!("PAW_{}", cluster.stream),
                "host": cluster.host,
                "hub": cluster.hub,
                "replication": {"connected": false, "problem": failure},
                "hosts": self.hosts(&cluster, (&BTreeMap::new(), 0)),
            }));
        };
        let status = hub.status.borrow().clone();
        let readers = hub.readers().await.unwrap_or_default();
        Ok(json!({
            "stream": format!("PAW_{}", cluster.stream),
            "host": cluster.host,
            "hub": cluster.hub,
            "servers": hub.nats.servers,
            "own_server": hub.server.is_some(),
            "version": cluster.version,
            "announced": status.announced,
            "replication": figures(&status),
            "hosts": self.hosts(&cluster, (&readers, status.last)),
        }))
    }

    /// The machines of the session, given how far each has read and the last entry of the stream.
    fn hosts(&self, cluster: &ClusterReceipt, (readers, last): (&BTreeMap<String, u64>, u64)) -> Vec<Value> {
        let reaches = self.reaches.load();
        let host = |(name, receipt): (&HostName, &HostReceipt)| {
            let read = readers.get(name.as_str()).copied();
            let reach = reaches.get(name);
            json!({
                "name": name,
                "ssh": receipt.ssh,
                "path": receipt.path,
                "agents": cluster.agents_on(name).map(|agent| &agent.agent_id).collect::<Vec<_>>(),
                "reachable": if *name == cluster.hub { Some(true) } else { reach.map(|reach| reach.is_reachable) },
                "since": reach.map(|reach| reach.since),
                "problem": reach.and_then(|reach| reach.problem.clone()),
                "read": read,
                "lag": read.map(|read| last.saturating_sub(read)),
            })
        };
        cluster.hosts.iter().map(host).collect()
    }

    /// Starts the hub. A failure is shown as the reason why no machine can be reached.
    async fn start(&self, cluster: &ClusterReceipt) -> Result<RunningHub, PawError> {
        let started = RunningHub::start(&self.context, cluster, Arc::clone(&self.reaches)).await;
        let failure = started.as_ref().err().map(ToString::to_string);
        for agent in cluster.agents.iter().filter(|_| failure.is_some()) {
            let reason = failure.clone().unwrap_or_default();
            self.reaches.note(&agent.host, TunnelState::Lost { reason });
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        started
    }
}

impl RunningHub {
    async fn start(
        context: &ClusterContext,
        cluster: &ClusterReceipt,
        reaches: Arc<HostReaches>,
    ) -> Result<Self, PawError> {
        let server = if context.config.servers.is_empty() {
            let (dir, stream) = (PawDir::of(&context.repo.common_dir), stream_of(cluster)?);
            let (hub, hosts) = (cluster.hub.clone(), cluster.hosts.keys().cloned().collect::<Vec<_>>());
            let started = spawn_blocking(move || OwnServer::start(&dir, &stream, &hub, &hosts)).await;
            Some(started.map_err(|error| PawError::internal(error.to_string()))??)
        } else {
            None
        };
        let access = match &server {
            Some(server) => (vec![server.url()], server.login(&cluster.hub)),
            None => credentials::load_access(&context.config)?,
        };
        let (roster, receiver) = watch::channel(roster_of(cluster)?);
        let settings = context.replicator(cluster, access, receiver)?;
        let nats = settings.nats.clone();
        let (replicator, status) = Replicator::open(settings).await?;
        let task = tokio::spawn(async move {
            let error = replicator.run().await;
            tracing::warn!(target: "paw::cluster", "messages are no longer replicated: {error}");
        });
        let session = (context.receipts.clone(), context.session.clone());
        let snapshots = SnapshotFetcher::new(context.repo.clone(), session, context.monitor.clone());
        snapshots.judge_fetched(cluster);
        let follow = tokio::spawn(Arc::clone(&snapshots).follow(Arc::clone(&context.bus)));
        let repo = context.repo.clone();
        let (tunnels, tasks) = (BTreeMap::new(), [task, follow]);
        let news = news::news_of(context);
        let mut hub = Self { repo, server, tunnels, reaches, roster, status, nats, snapshots, news, tasks };
        hub.connect(cluster)?;
        Ok(hub)
    }

    /// Follows a changed receipt.
    fn update(&mut self, cluster: &ClusterReceipt) -> Result<(), PawError> {
        if let Some(server) = &mut self.server {
            server.set_hosts(&cluster.hosts.keys().cloned().collect::<Vec<_>>())?;
        }
        self.roster.send_replace(roster_of(cluster)?);
        self.connect(cluster)
    }

    /// Keeps a tunnel to each host that has agents, or has something of agents that have moved.
    fn connect(&mut self, cluster: &ClusterReceipt) -> Result<(), PawError> {
        let has_left =
            |name: &HostName| cluster.hosts.get(name).is_some_and(|host| !host.to_clean.is_empty());
        let wanted = |name: &HostName| cluster.agents_on(name).next().is_some() || has_left(name);
        self.tunnels.retain(|name, _| wanted(name));
        for (name, host) in cluster.hosts.iter().filter(|(name, _)| wanted(name)) {
            let (Some(ssh), Some(path)) = (&host.ssh, &host.path) else { continue };
            if self.tunnels.contains_key(name) {
                // A lost machine is cleaned up when it is connected again.
                if has_left(name) && self.reaches.is_reachable(name) {
                    self.snapshots.clean_left(name);
                }
                continue;
            }
            let endpoint = if let Some(server) = &self.server {
                let login = server.login(name).ok_or_else(damaged)?;
                TunnelEndpoint::Forwarded { port: server.port(), login }
            } else {
                let (servers, login) = (self.nats.servers.clone(), self.nats.login.clone());
                TunnelEndpoint::Direct { servers, login }
            };
            let target: SshTarget = ssh.parse()?;
            let settings = TunnelSettings {
                host: name.clone(),
                target,
                path: path.clone(),
                hub: self.repo.clone(),
                endpoint,
                shared: self.reaches.dir.host_socket(name),
                news: self.news.clone(),
            };
            let (reaches, snapshots) = (Arc::clone(&self.reaches), Arc::clone(&self.snapshots));
            let host = name.clone();
            let tunnel = Tunnel::start(settings, move |state| {
                if state == TunnelState::Connected {
                    snapshots.fetch_from(&host);
                    snapshots.clean_left(&host);
                }
                reaches.note(&host, state);
            });
            self.tunnels.insert(name.clone(), tunnel);
        }
        Ok(())
    }

    /// How far each host has read.
    async fn readers(&self) -> Result<BTreeMap<String, u64>, PawError> {
        let asked = async {
            let stream = NatsStream::connect(self.nats.clone()).await?;
            stream.wait_until_connected().await;
            stream.readers().await
        };
        let late = |_| PawError::SessionError("the NATS server does not answer".to_owned());
        Ok(timeout(STATUS_LIMIT, asked).await.map_err(late)??.into_iter().collect())
    }

    pub(super) async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let (tunnels, server) = (self.tunnels, self.server);
        let _ = spawn_blocking(move || drop((tunnels, server))).await;
    }
}

/// Which hosts can be reached, in a file for every view.
#[derive(Debug)]
pub(super) struct HostReaches {
    dir: PawDir,
    known: Mutex<BTreeMap<HostName, HostReach>>,
}

impl HostReaches {
    pub(super) fn new(dir: PawDir) -> Self {
        Self { dir, known: Mutex::default() }
    }

    fn load(&self) -> BTreeMap<HostName, HostReach> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_reachable(&self, host: &HostName) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(host).is_some_and(|reach| reach.is_reachable)
    }

    fn note(&self, host: &HostName, state: TunnelState) {
        let (is_reachable, problem) = match state {
            TunnelState::Connected => (true, None),
            TunnelState::Lost { reason } => (false, Some(reason)),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(host).filter(|before| before.is_reachable == is_reachable);
        let since = before.map_or_else(clock::now, |before| before.since);
        known.insert(host.clone(), HostReach { is_reachable, since, problem });
        let text = serde_json::to_vec(&*known).unwrap_or_default();
        if let Err(error) = files::write_atomic(&self.dir.hosts(), &text, Access::Private) {
            tracing::warn!(target: "paw::cluster", "{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_unreachable_since_the_first_failure() {
        let temp = tempfile::tempdir().unwrap();
        let reaches = HostReaches::new(PawDir::at(temp.path()));
        let host = HostName::new("big").unwrap();
        let lost = |reason: &str| TunnelState::Lost { reason: reason.to_owned() };
        reaches.note(&host, TunnelState::Connected);
        reaches.note(&host, lost("one"));
        let first = reaches.load()[&host].clone();
        reaches.note(&host, lost("two"));
        let second = reaches.load()[&host].clone();
        assert_eq!((first.since, second.problem.as_deref()), (second.since, Some("two")));
        assert!(
            std::fs::read_to_string(temp.path().join("hosts.json")).unwrap().contains("\"reachable\":false")
        );
    }
}
