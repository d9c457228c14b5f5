//! Replication on a machine that is not the hub: as long as the hub is connected.

use std::sync::PoisonError;
use std::time::Duration;

use paw_cluster::link::HostLink;
use paw_cluster::replicator::Replicator;
use paw_core::paths::PawDir;
use paw_core::receipt::ClusterReceipt;
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Cluster, roster_of};

/// Reading one small file costs next to nothing.
const POLL: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(5);

impl Cluster {
    /// Replicates until the session is purged.
    pub(super) async fn replicate(&self, cluster: ClusterReceipt) {
        let context = &self.context;
        let dir = PawDir::of(&context.repo.common_dir);
        let roster = match roster_of(&cluster) {
            Ok(roster) => roster,
            Err(error) => return tracing::error!(target: "paw::cluster", "{error}"),
        };
        // Changes come through the stream.
        let (_sender, roster) = watch::channel(roster);
        loop {
            let link = wait_for(&dir).await;
            let settings =
                context.replicator(&cluster, (link.servers.clone(), link.login.clone()), roster.clone());
            let opened = match settings {
                Ok(settings) => Replicator::open(settings).await.map_err(Into::into),
                Err(error) => Err(error),
            };
            match opened {
                Ok((replicator, status)) => {
                    *self.member.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
                    tokio::select! {
                        error = replicator.run() => {
                            return tracing::warn!(target: "paw::cluster", "messages are no longer replicated: {error}");
                        }
                        () = changed(&dir, &link) => {}
                    }
                }
                Err(error) => {
                    tracing::warn!(target: "paw::cluster", "messages are not replicated: {error}");
                    sleep(RETRY).await;
                }
            }
        }
    }
}

async fn wait_for(dir: &PawDir) -> HostLink {
    loop {
        if let Ok(Some(link)) = HostLink::load(dir) {
            return link;
        }
        sleep(POLL).await;
    }
}

async fn changed(dir: &PawDir, link: &HostLink) {
    while HostLink::load(dir).ok().flatten().as_ref() == Some(link) {
        sleep(POLL).await;
    }
}
