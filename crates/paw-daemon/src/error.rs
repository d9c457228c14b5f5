//! What keeps a daemon from running, or a client from reaching it. What a call cannot do is a `Refusal` in `status`.

use std::io;
use std::path::PathBuf;

use paw_core::PawError;
use paw_host::files::FileError;
use paw_worktree::WorktreeError;

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("a daemon is running already{}{}\nhint: git paw daemon stop ends it", process(*.pid), at(.socket.as_ref()))]
    AlreadyRunning { pid: Option<u32>, socket: Option<PathBuf> },
    #[error(
        "socket {} is in use by another program{}\nhint: stop that program, or set XDG_RUNTIME_DIR to another directory",
        socket.display(), process(*.pid)
    )]
    SocketTaken { socket: PathBuf, pid: Option<u32> },
    #[error("{} is there and is no socket\nhint: move it away", .0.display())]
    NotASocket(PathBuf),
    #[error(
        "the path of the socket is too long for this system: {}\nhint: set XDG_RUNTIME_DIR to a shorter directory",
        .0.display()
    )]
    PathTooLong(PathBuf),
    #[error("cannot listen on {}: {source}", socket.display())]
    Listen { socket: PathBuf, source: io::Error },
    #[error("cannot start the daemon: {0}")]
    Start(io::Error),
    #[error("the daemon stopped serving: {0}")]
    Serve(String),
    #[error("cannot describe the services: {0}")]
    Describe(String),
    #[error("cannot reach the daemon at {}: {reason}\nhint: git paw daemon run starts one", socket.display())]
    Unreachable { socket: PathBuf, reason: String },
    #[error("the daemon{} does not answer: {reason}\nhint: if it hangs, end it with kill", process(*.pid))]
    Silent { pid: Option<u32>, reason: String },
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

impl From<DaemonError> for PawError {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Worktree(error) => error.into(),
            DaemonError::File(error) => error.into(),
            other => Self::IoError(other.to_string()),
        }
    }
}
