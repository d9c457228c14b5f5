//! Changes in worktrees become status messages, without ever polling `git status` while nothing happens.
//!
//! One file system watcher serves all worktrees, with a watch on every directory that git does not ignore
//! (`rules`). What happened is gathered until it settles (`pending`), then that one worktree is looked at: through
//! [`WorktreeSnapshot`](paw_host::git::WorktreeSnapshot), which sees dirty, untracked and committed files alike. Whether that is
//! worth a message is decided in `publish`. Where the system has no watches left, a worktree is looked at every few
//! seconds instead, and its status says so.

mod directories;
mod ignore_rules;
mod pending;
mod publish;
mod run;
mod walk;
mod worktree;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paw_core::paths::CheckoutDir;
use paw_core::{AgentId, Diagnostic, ErrorCode, ErrorReport};
use paw_host::git::{Git, GitError, ScratchError, ScratchRepo};

pub use publish::{gone_message, is_gone_message};

use crate::message::Message;

/// The `source` in the payload of a status that comes from here and not from the agent itself.
pub const SOURCE: &str = "watcher";

/// A worktree that cannot be watched, or not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error("{} is not a worktree of this repository", .0.display())]
    Foreign(PathBuf),
}

impl Diagnostic for WatchError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Git(error) => error.report(),
            Self::Scratch(error) => error.report(),
            Self::Foreign(_) => ErrorReport::new(ErrorCode::InvalidArgument, self),
        }
    }
}

/// A worktree to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchTarget {
    pub agent: AgentId,
    pub worktree: PathBuf,
    pub cli: Option<String>,
}

/// How to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    /// The repository that all worktrees belong to.
    pub common_dir: PathBuf,
    /// Where our own copies of indexes and objects live while we watch.
    pub scratch_dir: PathBuf,
    /// What the work will be merged into, as full refs: see [`find_bases`].
    pub bases: Vec<String>,
    /// Our own files in a worktree, or directories of them, relative to it.
    pub excluded: Vec<PathBuf>,
    /// Say "working" again for the same files after this long. Zero: never.
    pub republish_after: Duration,
    /// How long it must be quiet before a worktree is looked at.
    pub settle: Duration,
    /// How long it may go on before a worktree is looked at all the same.
    pub settle_at_most: Duration,
    /// How often a worktree is looked at that cannot be watched.
    pub poll_every: Duration,
    /// More directories than this are not watched, so that other programs find some left.
    pub most_watches: usize,
    /// Our copies are thrown away and made anew when they hold about this many bytes.
    pub most_scratch_bytes: u64,
}

impl WatchSettings {
    pub fn new(common_dir: impl Into<PathBuf>, scratch_dir: impl Into<PathBuf>) -> Self {
        Self {
            common_dir: common_dir.into(),
            scratch_dir: scratch_dir.into(),
            bases: Vec::new(),
            excluded: vec![PathBuf::from(CheckoutDir::NAME)],
            republish_after: Duration::from_mins(1),
            settle: Duration::from_millis(20),
            settle_at_most: Duration::from_millis(100),
            poll_every: Duration::from_secs(3),
            most_watches: usize::MAX,
            most_scratch_bytes: 512 * 1024 * 1024,
        }
    }
}

/// The refs that work is merged into: the default branch here, and as the remote has it.
pub fn find_bases(git: &Git) -> Result<Vec<String>, GitError> {
    let branch = git.find_default_branch()?;
    Ok(branch
        .map_or_else(Vec::new, |branch| vec![branch.full_ref(), format!("refs/remotes/origin/{branch}")]))
}

/// What the watcher has to tell.
#[derive(Debug)]
pub enum WatchReport {
    Work(AgentWork),
    /// Something to publish that is no change of the work.
    Status(Message),
    /// The worktree is gone, and no longer watched.
    Gone(AgentId),
    /// Something people should know.
    Notice {
        agent: Option<AgentId>,
        text: String,
    },
}

/// The work of one agent at one moment.
#[derive(Debug)]
pub struct AgentWork {
    pub agent: AgentId,
    pub snapshot: WorkSnapshot,
    /// Every file that differs from where the branch began. Sorted.
    pub files: Vec<String>,
    /// What to publish, if anything: the files may be the same while what is in them changed.
    pub status: Option<Message>,
}

/// A commit that holds everything somebody has in a worktree, in the repository that knows it.
#[derive(Debug, Clone)]
pub struct WorkSnapshot {
    pub scratch: Arc<ScratchRepo>,
    pub commit: String,
}

enum WatchInput {
    Event(notify::Result<notify::Event>),
    Add(WatchTarget),
    Remove(AgentId),
    Stop,
}

/// A running watcher. Ends when it is dropped.
#[derive(Debug)]
pub struct Watcher {
    inputs: Sender<WatchInput>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts watching. `sink` is called on the watcher's own thread.
    pub fn start(
        settings: WatchSettings,
        targets: impl IntoIterator<Item = WatchTarget>,
        sink: impl FnMut(WatchReport) + Send + 'static,
    ) -> Result<Self, ScratchError> {
        let (inputs, inbox) = mpsc::channel();
        for target in targets {
            // The receiver is right here.
            let _ = inputs.send(WatchInput::Add(target));
        }
        let mut watching = run::WatchLoop::new(settings, inputs.clone(), Box::new(sink))?;
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopped);
        let thread = thread::spawn(move || watching.run(&inbox, &flag));
        Ok(Self { inputs, stopped, thread: Some(thread) })
    }

    /// Watches one more, or again with other facts.
    pub fn add(&self, target: WatchTarget) {
        let _ = self.inputs.send(WatchInput::Add(target));
    }

    pub fn remove(&self, agent: AgentId) {
        let _ = self.inputs.send(WatchInput::Remove(agent));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = self.inputs.send(WatchInput::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
