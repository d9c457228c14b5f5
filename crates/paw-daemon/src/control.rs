//! Queries and stops a running daemon. These functions block and need no runtime.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use paw_host::clock::Stopwatch;
use serde::Serialize;
use tonic::Request;

use crate::client::DaemonClient;
use crate::error::DaemonError;
use crate::instance_lock;
use crate::options::DaemonOptions;
use crate::proto::{StatusRequest, StopRequest};

/// The timeout of one call.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the daemon may take to exit after the grace period of its calls.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The status of a running daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    pub pid: u32,
    pub socket: PathBuf,
    pub version: String,
    pub started_at: Timestamp,
    pub uptime_seconds: u64,
    /// `None` if they cannot be counted.
    pub worktrees: Option<u32>,
    pub running_turns: u32,
}

/// The status of the daemon; `None` if it is not running.
pub fn status(options: &DaemonOptions) -> Result<Option<DaemonStatus>, DaemonError> {
    block_on(async {
        let Some((pid, mut client)) = find(options).await? else { return Ok(None) };
        let answer = client.daemon.status(with_timeout(StatusRequest {})).await;
        let answer = answer.map_err(|status| unresponsive(pid, &status))?.into_inner();
        let started = answer.started_at.unwrap_or_default();
        Ok(Some(DaemonStatus {
            pid: answer.pid,
            socket: answer.socket.into(),
            version: answer.version,
            started_at: Timestamp::new(started.seconds, started.nanos).unwrap_or_default(),
            uptime_seconds: answer.uptime_seconds,
            worktrees: answer.worktrees,
            running_turns: answer.running_turns,
        }))
    })
}

/// Stops the daemon and waits until it has exited. Returns its process id; `None` if it was not running.
pub fn stop(options: &DaemonOptions) -> Result<Option<u32>, DaemonError> {
    block_on(async {
        let Some((pid, mut client)) = find(options).await? else { return Ok(None) };
        let answer = client.daemon.stop(with_timeout(StopRequest {})).await;
        let pid = answer.map_err(|status| unresponsive(pid, &status))?.into_inner().pid;
        drop(client);
        let (watch, limit) = (Stopwatch::start(), options.grace + STOP_TIMEOUT);
        while !instance_lock::is_free(&options.data_dir)? {
            if watch.remaining(limit).is_zero() {
                return Err(DaemonError::Unresponsive {
                    pid: Some(pid),
                    reason: "it did not stop in time".to_owned(),
                });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(Some(pid))
    })
}

/// Connects to the socket that the daemon recorded, else to the default one.
async fn find(options: &DaemonOptions) -> Result<Option<(Option<u32>, DaemonClient)>, DaemonError> {
    let info = instance_lock::find_info(&options.data_dir);
    let socket = info.as_ref().map_or(&options.socket, |info| &info.socket);
    let pid = info.as_ref().map(|info| info.pid);
    match DaemonClient::connect(socket).await {
        Ok(client) => Ok(Some((pid, client))),
        Err(_) if instance_lock::is_free(&options.data_dir)? => Ok(None),
        Err(error) => Err(DaemonError::Unresponsive { pid, reason: error.to_string() }),
    }
}

fn with_timeout<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(CALL_TIMEOUT);
    request
}

fn unresponsive(pid: Option<u32>, status: &tonic::Status) -> DaemonError {
    DaemonError::Unresponsive { pid, reason: status.message().to_owned() }
}

fn block_on<T>(work: impl Future<Output = Result<T, DaemonError>>) -> Result<T, DaemonError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(DaemonError::Start)?.block_on(work)
}
