//! Errors of starting, stopping and reaching the daemon. Errors of calls are `CallError` in `status`.

use std::io;
use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::FileError;
use paw_worktree::WorktreeError;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("a daemon is already running{}{}", process(*.pid), at(.socket.as_ref()))]
    AlreadyRunning { pid: Option<u32>, socket: Option<PathBuf> },
    #[error("socket {} is in use by another program{}", socket.display(), process(*.pid))]
    SocketTaken { socket: PathBuf, pid: Option<u32> },
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    #[error("the socket path is too long: {}", .0.display())]
    PathTooLong(PathBuf),
    #[error("cannot listen on {}: {source}", socket.display())]
    Listen { socket: PathBuf, source: io::Error },
    #[error("cannot start the daemon: {0}")]
    Start(io::Error),
    #[error("the daemon stopped serving: {0}")]
    Serve(String),
    #[error("cannot set up gRPC reflection: {0}")]
    Describe(String),
    #[error("cannot reach the daemon at {}: {reason}", socket.display())]
    Unreachable { socket: PathBuf, reason: String },
    #[error("the daemon{} does not respond: {reason}", process(*.pid))]
    Unresponsive { pid: Option<u32>, reason: String },
    #[error("the daemon failed: {0}")]
    Failed(#[from] tokio::task::JoinError),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error(transparent)]
    File(#[from] FileError),
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

fn at(socket: Option<&PathBuf>) -> String {
    socket.map(|socket| format!(" on {}", socket.display())).unwrap_or_default()
}

impl Diagnostic for DaemonError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::Internal, self);
        match self {
            Self::AlreadyRunning { .. } => report.hint("run `git paw daemon stop` to stop it"),
            Self::SocketTaken { .. } => {
                report.hint("stop that program, or set XDG_RUNTIME_DIR to another directory")
            }
            Self::NotASocket(_) => report.hint("move or delete it"),
            Self::PathTooLong(_) => report.hint("set XDG_RUNTIME_DIR to a shorter directory"),
            Self::Unreachable { .. } => report.hint("run `git paw daemon run` to start it"),
            Self::Unresponsive { .. } => report.hint("if it hangs, end it with `kill`"),
            Self::Listen { .. } | Self::Start(_) | Self::Serve(_) | Self::Describe(_) | Self::Failed(_) => {
                report
            }
            Self::Worktree(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}
