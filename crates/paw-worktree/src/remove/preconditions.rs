//! Preconditions of a removal: no uncommitted work, no lock, no running process.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use paw_host::clock::Stopwatch;
use paw_host::git::{self, DifferenceKind, Git};
use paw_host::process::{self, ProcessInfo};

use crate::error::WorktreeError;
use crate::registry::{ConversationStatus, ManagedWorktree};
use crate::rescue;
use crate::service::Worktrees;

/// How long to wait for short-lived processes to leave the worktree.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Worktrees {
    /// Fails if the worktree is locked or in use. Only processes get time to finish, so everything else is checked first.
    pub(super) fn require_unused(
        &self,
        row: &ManagedWorktree,
        entry: Option<&git::GitWorktree>,
    ) -> Result<(), WorktreeError> {
        if let Some(reason) = entry.and_then(|entry| entry.locked.clone()) {
            return Err(WorktreeError::Locked { reason });
        }
        let conversations = self.registry.conversations(Some(&row.id))?;
        let active = conversations
            .into_iter()
            .filter(|conversation| conversation.status == ConversationStatus::Active);
        let ids: Vec<_> = active.map(|conversation| conversation.id).collect();
        if !ids.is_empty() {
            return Err(WorktreeError::HasActiveConversation { ids });
        }
        let processes = find_lasting_processes(&row.path);
        if processes.is_empty() { Ok(()) } else { Err(processes_error(&processes)) }
    }
}

/// Fails if the worktree has uncommitted work. Returns its ignored files.
pub(super) fn require_no_work(row: &ManagedWorktree) -> Result<Vec<PathBuf>, WorktreeError> {
    let (mut ignored, mut files) = (Vec::new(), Vec::new());
    for difference in Git::at(&row.path).differences()? {
        let side = if difference.kind == DifferenceKind::Ignored { &mut ignored } else { &mut files };
        side.push(difference.path);
    }
    files.extend(rescue::find_ignored_repositories(&row.path, &ignored));
    if files.is_empty() { Ok(ignored) } else { Err(WorktreeError::Dirty { files }) }
}

/// A worktree inside this one would be deleted with it. Not even `force` allows that, because the user did not name
/// it.
pub(crate) fn require_no_nested_worktrees(
    row: &ManagedWorktree,
    listed: &[git::GitWorktree],
) -> Result<(), WorktreeError> {
    let others = listed.iter().filter(|entry| entry.path != row.path && entry.path.starts_with(&row.path));
    let paths: Vec<PathBuf> = others.map(|entry| entry.path.clone()).filter(|path| path.exists()).collect();
    if paths.is_empty() { Ok(()) } else { Err(WorktreeError::ContainsWorktrees { paths }) }
}

/// Processes that stay in a worktree. Short-lived ones, such as a watcher's git commands, get time to finish.
fn find_lasting_processes(path: &Path) -> Vec<ProcessInfo> {
    let watch = Stopwatch::start();
    loop {
        let processes = process::processes_in(path);
        if processes.is_empty() || watch.remaining(GRACE_PERIOD).is_zero() {
            return processes;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

pub(super) fn end_processes(processes: Vec<ProcessInfo>) -> Result<Vec<ProcessInfo>, WorktreeError> {
    let survivors = process::terminate(&processes);
    if survivors.is_empty() { Ok(processes) } else { Err(processes_error(&survivors)) }
}

fn processes_error(processes: &[ProcessInfo]) -> WorktreeError {
    let shown = processes.iter().map(|process| format!("{} (pid {})", process.command_line, process.pid));
    WorktreeError::HasProcesses { processes: shown.collect() }
}
