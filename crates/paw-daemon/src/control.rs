//! For commands: how is the daemon, and stop it. These block, and need no runtime.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use paw_host::clock::Stopwatch;
use serde::Serialize;
use tonic::Request;

use crate::claim;
use crate::client::DaemonClient;
use crate::error::DaemonError;
use crate::options::DaemonOptions;
use crate::proto::{StatusRequest, StopRequest};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a daemon may take to go, beyond the grace its calls have.
const FAREWELL: Duration = Duration::from_secs(15);
const GLANCE: Duration = Duration::from_millis(20);

/// A running daemon, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    pub pid: u32,
    pub socket: PathBuf,
    pub version: String,
    pub started_at: Timestamp,
    pub uptime_seconds: u64,
    /// Nothing when they cannot be counted.
    pub worktrees: Option<u32>,
    pub running_turns: u32,
}

/// The running daemon, or nothing when there is none.
pub fn status(options: &DaemonOptions) -> Result<Option<DaemonStatus>, DaemonError> {
    wait(async {
        let Some((pid, mut client)) = find(options).await? else { return Ok(None) };
        let answer = client.daemon.status(patiently(StatusRequest {})).await;
        let answer = answer.map_err(|status| silent(pid, &status))?.into_inner();
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

/// Stops the daemon and waits until it is gone. Returns its process id, or nothing when there was none.
pub fn stop(options: &DaemonOptions) -> Result<Option<u32>, DaemonError> {
    wait(async {
        let Some((pid, mut client)) = find(options).await? else { return Ok(None) };
        let answer = client.daemon.stop(patiently(StopRequest {})).await;
        let pid = answer.map_err(|status| silent(pid, &status))?.into_inner().pid;
        drop(client);
        let (watch, limit) = (Stopwatch::start(), options.grace + FAREWELL);
        while !claim::is_free(&options.data_dir)? {
            if watch.remaining(limit).is_zero() {
                return Err(DaemonError::Silent {
                    pid: Some(pid),
                    reason: "it did not stop in time".to_owned(),
                });
            }
            tokio::time::sleep(GLANCE).await;
        }
        Ok(Some(pid))
    })
}

/// Where the daemon said it listens, else where it would.
async fn find(options: &DaemonOptions) -> Result<Option<(Option<u32>, DaemonClient)>, DaemonError> {
    let note = claim::find_note(&options.data_dir);
    let socket = note.as_ref().map_or(&options.socket, |note| &note.socket);
    let pid = note.as_ref().map(|note| note.pid);
    match DaemonClient::connect(socket).await {
        Ok(client) => Ok(Some((pid, client))),
        Err(_) if claim::is_free(&options.data_dir)? => Ok(None),
        Err(error) => Err(DaemonError::Silent { pid, reason: error.to_string() }),
    }
}

fn patiently<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(PATIENCE);
    request
}

fn silent(pid: Option<u32>, status: &tonic::Status) -> DaemonError {
    DaemonError::Silent { pid, reason: status.message().to_owned() }
}

fn wait<T>(work: impl Future<Output = Result<T, DaemonError>>) -> Result<T, DaemonError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(DaemonError::Start)?.block_on(work)
}
