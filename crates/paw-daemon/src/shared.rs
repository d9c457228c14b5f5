//! The state that the three services share, and how they run blocking work.

use std::sync::Arc;

use jiff::Timestamp;
use paw_agent::{CliInfo, detect_clis};
use paw_host::clock::Stopwatch;
use paw_host::config;
use paw_host::trust::TrustStore;
use paw_worktree::Worktrees;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::options::DaemonOptions;
use crate::status::CallError;
use crate::turn::Turns;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DaemonOptions,
    pub(crate) worktrees: Worktrees,
    pub(crate) trust: TrustStore,
    pub(crate) turns: Arc<Turns>,
    /// Cancelled when the daemon shuts down.
    pub(crate) stopping: CancellationToken,
    /// Jobs that continue even if their client disconnects.
    pub(crate) jobs: TaskTracker,
    pub(crate) started_at: Timestamp,
    pub(crate) uptime: Stopwatch,
}

impl Shared {
    /// Runs blocking work to completion, even if the client disconnects.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, Status> {
        let shared = Arc::clone(self);
        let done = self.jobs.spawn_blocking(move || work(&shared)).await;
        done.map_err(|error| Status::internal(format!("the daemon failed: {error}")))?.map_err(Status::from)
    }

    /// Finds a CLI by name. Ignores the repository's configuration, which could name any program.
    pub(crate) fn require_cli(&self, name: &str) -> Result<CliInfo, CallError> {
        let layers = config::load_layers(None, Some(&self.options.user_config)).map_err(CallError::Config)?;
        let clis = layers.resolve().map_err(CallError::Config)?.clis;
        let found = detect_clis(&clis, &self.options.search_path).clis;
        let installed = found.iter().map(|cli| cli.binary_name.clone()).collect();
        found
            .into_iter()
            .find(|cli| cli.binary_name == name)
            .ok_or_else(|| CallError::NoCli { cli: name.to_owned(), installed })
    }
}
