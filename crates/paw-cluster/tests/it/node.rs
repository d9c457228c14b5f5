//! A host of a session: its log, its bus and its replicator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_broker::log::{self, MessageLog, PageLimit, StreamId};
use paw_broker::message::{ArtifactMessage, Message};
use paw_broker::{Bus, SessionId};
use paw_cluster::nats::NatsSettings;
use paw_cluster::replicator::{ReplicationError, ReplicationStatus, Replicator, ReplicatorSettings};
use paw_cluster::roster::Roster;
use paw_core::{AgentId, HostName};
use paw_host::clock;
use paw_host::signing::SecretKey;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) const HOSTS: [&str; 3] = ["hub", "big", "gpu"];

pub(crate) fn host(name: &str) -> HostName {
    HostName::new(name).unwrap()
}

/// The agent of a host has its name.
pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

pub(crate) fn session() -> SessionId {
    SessionId::new("s")
}

pub(crate) fn log_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(name).join("broker.db")
}

pub(crate) fn key(dir: &Path, name: &str) -> SecretKey {
    SecretKey::open(&dir.join(name).join("host.key")).unwrap()
}

/// All hosts, each with its agent.
pub(crate) fn roster(dir: &Path) -> Roster {
    let mut roster = Roster::new(host(HOSTS[0]), key(dir, HOSTS[0]).public());
    for name in HOSTS {
        roster.add_host(host(name), key(dir, name).public());
        roster.grant(&host(name), agent(name));
    }
    roster
}

pub(crate) struct Node {
    pub(crate) bus: Arc<Bus>,
    pub(crate) log: Arc<dyn MessageLog>,
    pub(crate) roster: watch::Sender<Roster>,
    pub(crate) status: watch::Receiver<ReplicationStatus>,
    pub(crate) task: JoinHandle<ReplicationError>,
    pub(crate) runtime: Runtime,
    name: String,
}

impl Node {
    pub(crate) fn start(dir: &Path, name: &str, url: &str, stream: &StreamId, roster: Roster) -> Self {
        Self::start_with(log::open(&log_path(dir, name)).unwrap(), dir, name, url, stream, roster)
    }

    pub(crate) fn start_with(
        log: Arc<dyn MessageLog>,
        dir: &Path,
        name: &str,
        url: &str,
        stream: &StreamId,
        roster: Roster,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        log.begin(&session(), clock::now()).unwrap();
        let bus = Bus::open(Arc::clone(&log), session(), false).unwrap();
        let (roster, receiver) = watch::channel(roster);
        let settings = ReplicatorSettings {
            nats: NatsSettings {
                servers: vec![url.to_owned()],
                login: None,
                stream: stream.clone(),
                host: host(name),
                is_hub: name == HOSTS[0],
                replicas: 1,
            },
            bus: Arc::clone(&bus),
            log: Arc::clone(&log),
            key: key(dir, name),
            roster: receiver,
        };
        let (replicator, status) = runtime.block_on(Replicator::open(settings)).unwrap();
        let task = runtime.spawn(replicator.run());
        Self { bus, log, roster, status, task, runtime, name: name.to_owned() }
    }

    /// Publishes messages with these numbers.
    pub(crate) fn publish(&self, numbers: std::ops::RangeInclusive<u64>) {
        for number in numbers {
            self.publish_as(&self.name, number);
        }
    }

    pub(crate) fn publish_as(&self, sender: &str, number: u64) {
        let message = ArtifactMessage::new(agent(sender), number.to_string());
        self.bus.publish_blocking(message.into(), clock::now()).unwrap();
    }

    pub(crate) fn messages(&self, of: &str) -> Vec<u64> {
        messages(&*self.log, of)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
        self.bus.close();
    }
}

/// The numbers of an agent's messages in a log, in order.
pub(crate) fn messages(log: &dyn MessageLog, of: &str) -> Vec<u64> {
    let (mut found, mut since) = (Vec::new(), 0);
    loop {
        let page = log.history(&session(), since, PageLimit::DEFAULT).unwrap();
        let Some(last) = page.last() else { return found };
        since = last.seq;
        for stored in page.iter().filter(|entry| entry.sender.as_str() == of) {
            let Some(Message::Artifact(artifact)) = stored.parse(&session()).map(|stored| stored.message)
            else {
                panic!("another message");
            };
            found.push(artifact.status.parse().unwrap());
        }
    }
}
