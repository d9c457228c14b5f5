//! Turns changes in worktrees into status messages, without polling `git status`.
//!
//! One file system watcher serves all worktrees and watches every directory that git does not ignore
//! (`ignore_rules`). Changes are collected until they settle (`pending`); then the watcher takes a
//! [snapshot](paw_host::git::WorktreeSnapshot) of that worktree, with its dirty, untracked and committed files.
//! `publish` decides whether to send a status. If the system has no watches left, the worktree is scanned every few
//! seconds instead, and its status mentions it.

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

pub use publish::{SnapshotNote, gone_message, is_gone_message};

use crate::message::Message;

/// A worktree cannot be watched or scanned.
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

/// The settings of a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// Where the watcher keeps its copies of indexes and objects.
    pub scratch_dir: PathBuf,
    /// The refs that the work will be merged into: see [`find_bases`].
    pub bases: Vec<String>,
    /// Files and directories of git paw in a worktree, relative to it.
    pub excluded: Vec<PathBuf>,
    /// After this time, further changes to the same files are reported again. Zero: never.
    pub republish_after: Duration,
    /// How long a worktree must be quiet before it is scanned.
    pub settle: Duration,
    /// After this time a worktree is scanned even if it is not quiet.
    pub max_settle: Duration,
    /// How often a worktree is scanned that cannot be watched.
    pub poll_every: Duration,
    /// The most directories to watch, so that other programs have watches left.
    pub max_watches: usize,
    /// The copies are deleted and created again when they need about this many bytes, twice for a moment.
    pub max_scratch_bytes: u64,
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
            max_settle: Duration::from_millis(100),
            poll_every: Duration::from_secs(3),
            max_watches: usize::MAX,
            max_scratch_bytes: 28 * 1024 * 1024,
        }
    }
}

/// The refs that work is merged into: the default branch, locally and on the remote.
pub fn find_bases(git: &Git) -> Result<Vec<String>, GitError> {
    let branch = git.find_default_branch()?;
    Ok(branch
        .map_or_else(Vec::new, |branch| vec![branch.full_ref(), format!("refs/remotes/origin/{branch}")]))
}

/// What the watcher reports.
#[derive(Debug)]
pub enum WatchReport {
    Work(AgentWork),
    /// A status to publish that is not about changed files.
    Status(Message),
    /// The agent's branch has a new commit.
    Committed {
        worktree: PathBuf,
        commit: String,
    },
    /// The worktree is gone and no longer watched.
    Gone(AgentId),
    /// A problem that the user should know about.
    Notice {
        agent: Option<AgentId>,
        text: String,
    },
}

/// The work of one agent at one point in time.
#[derive(Debug)]
pub struct AgentWork {
    pub agent: AgentId,
    pub snapshot: WorkSnapshot,
    /// The files that differ from the base of the branch. Sorted.
    pub files: Vec<String>,
    /// The directories that the base has and this work has not.
    pub emptied_dirs: Vec<String>,
    /// Files whose content the snapshot does not have.
    pub left_out: Vec<String>,
    /// The status to publish. `None` if the contents changed but the list of files did not.
    pub status: Option<Message>,
}

/// The name of everything in a worktree, and the scratch repository that holds it.
#[derive(Debug, Clone)]
pub struct WorkSnapshot {
    pub scratch: Arc<ScratchRepo>,
    pub work: String,
}

enum WatchInput {
    Event(notify::Result<notify::Event>),
    Add(WatchTarget),
    Remove(AgentId),
    Stop,
}

/// A running watcher. Dropping it stops it.
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
            // Cannot fail: the receiver is still alive.
            let _ = inputs.send(WatchInput::Add(target));
        }
        let mut watching = run::WatchLoop::new(settings, inputs.clone(), Box::new(sink))?;
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopped);
        let thread = thread::spawn(move || watching.run(&inbox, &flag));
        Ok(Self { inputs, stopped, thread: Some(thread) })
    }

    /// Adds a worktree, or updates the data of a watched one.
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
