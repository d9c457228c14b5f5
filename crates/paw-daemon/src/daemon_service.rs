//! `DaemonService`: status and stop.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use crate::proto::daemon_service_server::DaemonService;
use crate::proto::{StatusRequest, StatusResponse, StopRequest, StopResponse};
use crate::shared::Shared;
use crate::wire;

#[derive(Debug)]
pub(crate) struct DaemonHandler(pub(crate) Arc<Shared>);

#[tonic::async_trait]
impl DaemonService for DaemonHandler {
    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let status = self.0.run_blocking(|shared| {
            let listed = shared.worktrees.list(None);
            Ok(StatusResponse {
                pid: std::process::id(),
                socket: shared.options.socket.to_string_lossy().into_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: Some(wire::timestamp(shared.started_at)),
                uptime_seconds: shared.uptime.elapsed().as_secs(),
                worktrees: listed.ok().map(|listing| count(listing.worktrees.len())),
                running_turns: count(shared.turns.count()),
            })
        });
        Ok(Response::new(status.await?))
    }

    async fn stop(&self, _: Request<StopRequest>) -> Result<Response<StopResponse>, Status> {
        tracing::info!("stop requested");
        self.0.stopping.cancel();
        Ok(Response::new(StopResponse { pid: std::process::id() }))
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
