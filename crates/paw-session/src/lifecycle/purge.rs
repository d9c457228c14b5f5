//! Purges a session: ends it and removes everything except work.
//!
//! Uncommitted changes are stored first. A branch is deleted only if the session created it and all of its commits are on
//! another branch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use paw_broker::SessionId;
use paw_broker::hooks;
use paw_broker::log::{self};
use paw_core::paths::CheckoutDir;
use paw_core::paths::PawDir;
use paw_core::{AgentReceipt, BranchName, Receipt, SessionStatus};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, FileError};
use paw_host::locks::WorktreesLock;
use paw_host::process;
use paw_host::tmux::{Tmux, TmuxError};
use paw_worktree::{RemoveOptions, RemovedWorktree, Worktrees};

use super::unmerged::holds_own_commits;
use super::window::TmuxWindow;
use super::{LifecycleError, Session};
use crate::cli_hooks;
use crate::launch::unfinished;
use crate::receipts::Receipts;

/// Progress of a purge, reported while it runs.
#[derive(Debug)]
pub enum PurgeProgress<'a> {
    Removing(&'a Path),
    Removed {
        took: Duration,
        removed: &'a RemovedWorktree,
    },
    /// The worktree was not removed.
    Kept {
        path: &'a Path,
        problem: String,
    },
    /// The directory was already missing.
    Gone(&'a Path),
    BranchDeleted(&'a BranchName),
    BranchKept {
        branch: &'a BranchName,
        why: &'static str,
    },
    Warning(String),
}

/// The result of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeResult {
    /// Worktrees that could not be removed. If there are any, the receipt is kept, too.
    pub kept: Vec<PathBuf>,
}

impl Session {
    /// Ends the session and removes what it created. `force` also removes worktrees with uncommitted changes.
    pub fn purge(
        &self,
        worktrees: &Worktrees,
        force: bool,
        own_pane: Option<&str>,
        report: &mut dyn FnMut(PurgeProgress<'_>),
    ) -> Result<PurgeResult, LifecycleError> {
        let window = self.find_window()?;
        let inside = window.as_ref().is_some_and(|window| window.contains(own_pane));
        self.end_processes(window.as_ref(), own_pane)?;
        if self.moved_from.is_some() {
            self.repo.git().repair_worktrees(&WorktreesLock::wait(&self.repo.common_dir)?)?;
        }
        let mut receipt = self.receipt.clone();
        unfinished::record_created_branches(worktrees, &mut receipt)?;
        let mut kept = Vec::new();
        for agent in &receipt.worktrees {
            if self.remove_agent_worktree(worktrees, agent, force, report) {
                self.delete_branch(agent, report)?;
            } else {
                kept.push(agent.clone());
            }
        }
        self.remove_session_files(report);
        let paths = kept.iter().map(|agent| agent.worktree_path.clone()).collect();
        if kept.is_empty() {
            self.receipts.delete(&self.receipt.session_name, &self.receipts.lock()?)?;
        } else {
            self.change(|receipt| {
                receipt.status = SessionStatus::Stopped;
                receipt.worktrees = kept;
            })?;
        }
        if let Some(window) = window.filter(|_| inside) {
            self.tmux.kill_target(&window.session)?;
        }
        Ok(PurgeResult { kept: paths })
    }

    /// Removes one worktree and ends the processes in it. Returns whether the worktree was removed.
    fn remove_agent_worktree(
        &self,
        worktrees: &Worktrees,
        agent: &AgentReceipt,
        force: bool,
        report: &mut dyn FnMut(PurgeProgress<'_>),
    ) -> bool {
        let path = &agent.worktree_path;
        if let Err(error) = hooks::uninstall(&self.repo.common_dir, path) {
            report(PurgeProgress::Warning(error.to_string()));
        }
        if let Some(warning) = cli_hooks::remove(&self.repo, agent) {
            report(PurgeProgress::Warning(warning));
        }
        if !path.exists() {
            report(PurgeProgress::Gone(path));
            return forget(worktrees, self, path, report);
        }
        report(PurgeProgress::Removing(path));
        let watch = Stopwatch::start();
        process::terminate(&process::processes_in(path));
        if self.moved_from.is_some() {
            forget_moved(worktrees, path);
        }
        if let Err(error) = self.remove_briefing(path) {
            report(PurgeProgress::Warning(error.to_string()));
        }
        match worktrees.remove_worktree(&self.repo.root, path, force) {
            Ok(removed) => {
                report(PurgeProgress::Removed { took: watch.elapsed(), removed: &removed });
                true
            }
            Err(error) => {
                report(PurgeProgress::Kept { path, problem: error.to_string() });
                false
            }
        }
    }

    fn delete_branch(
        &self,
        agent: &AgentReceipt,
        report: &mut dyn FnMut(PurgeProgress<'_>),
    ) -> Result<(), LifecycleError> {
        let (git, branch) = (self.repo.git(), &agent.branch);
        if !agent.branch_created || !git.has_ref(&branch.full_ref())? {
            return Ok(());
        }
        // Checked after each deletion: of two branches with the same commit, one must stay.
        if holds_own_commits(&git, branch)? {
            report(PurgeProgress::BranchKept { branch, why: "it has commits that no other branch has" });
        } else if git.delete_branch(branch).is_ok() {
            report(PurgeProgress::BranchDeleted(branch));
        } else {
            report(PurgeProgress::BranchKept { branch, why: "it is in use elsewhere" });
        }
        Ok(())
    }

    /// Removes hooks, briefing, messages and the audit trail. Reports failures and continues.
    fn remove_session_files(&self, report: &mut dyn FnMut(PurgeProgress<'_>)) {
        let mut warn = |problem: Option<String>| {
            if let Some(problem) = problem {
                report(PurgeProgress::Warning(problem));
            }
        };
        match self.strip_briefing() {
            Ok(warnings) => warnings.into_iter().for_each(|warning| warn(Some(warning))),
            Err(error) => warn(Some(error.to_string())),
        }
        for warning in cli_hooks::remove_shared(&self.repo, &self.receipt) {
            warn(Some(warning));
        }
        warn(self.clear_messages().err().map(|error| error.to_string()));
        warn(self.clear_audit_trail().err().map(|error| error.to_string()));
        let dir = PawDir::of(&self.repo.common_dir);
        for path in [dir.nats(), dir.hosts()] {
            warn(files::remove_all(&path).err().map(|error| error.to_string()));
        }
    }

    fn clear_messages(&self) -> Result<(), LifecycleError> {
        if let Some(log) = log::find(&PawDir::of(&self.repo.common_dir).log())? {
            log.purge(&SessionId::new(&self.receipt.session_id()))?;
        }
        Ok(())
    }

    /// Deletes only a file in this repository's `.git-paw` directory, even if the receipt names another one.
    fn clear_audit_trail(&self) -> Result<(), LifecycleError> {
        let ours = CheckoutDir::of(&self.repo.root);
        let recorded = self.receipt.broker_log_path.clone();
        let path =
            recorded.filter(|path| path.parent() == Some(ours.path())).unwrap_or_else(|| ours.audit_trail());
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(FileError { action: "remove", path, source }.into())
            }
            _ => Ok(()),
        }
    }
}

/// Removes a worktree whose directory is missing from git and the registry.
fn forget(
    worktrees: &Worktrees,
    session: &Session,
    path: &Path,
    report: &mut dyn FnMut(PurgeProgress<'_>),
) -> bool {
    let rows = worktrees.list(Some(&session.repo.root)).map(|listing| listing.worktrees);
    let row = rows.map(|rows| rows.into_iter().find(|row| row.path == path));
    let forgotten = match row {
        Ok(Some(row)) => worktrees.remove(row.id.as_str(), None, RemoveOptions::default()).map(drop),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    match forgotten {
        Ok(()) => true,
        Err(error) => {
            report(PurgeProgress::Kept { path, problem: error.to_string() });
            false
        }
    }
}

/// Drops the registry row of a worktree whose repository has moved, so that the worktree can be removed as this
/// repository's. The directory is left alone.
fn forget_moved(worktrees: &Worktrees, path: &Path) {
    let rows = worktrees.list(None).map(|listing| listing.worktrees).unwrap_or_default();
    for row in rows.iter().filter(|row| row.path == path && !row.common_dir.exists()) {
        let options = RemoveOptions { force: true, ..RemoveOptions::default() };
        if let Err(error) = worktrees.remove(row.id.as_str(), None, options) {
            tracing::warn!(target: "paw::session", "{error}");
        }
    }
}

/// The sessions of all repositories that cannot be resumed.
pub fn find_stale(receipts: &Receipts) -> Result<Vec<Receipt>, LifecycleError> {
    let mut stale = Vec::new();
    for receipt in receipts.all()?.receipts {
        let tmux = Tmux::on_socket(receipt.tmux_socket.clone());
        let is_alive = match TmuxWindow::find(&tmux, &receipt) {
            Ok(window) => window.is_some(),
            Err(TmuxError::NotInstalled) => false,
            Err(error) => return Err(error.into()),
        };
        if is_stale(&receipt, Path::exists, is_alive) {
            stale.push(receipt);
        }
    }
    Ok(stale)
}

/// Whether a receipt is stale: nothing is running, and its repository or all of its worktrees are missing.
fn is_stale(receipt: &Receipt, exists: impl Fn(&Path) -> bool, is_alive: bool) -> bool {
    let has_worktree = || receipt.worktrees.iter().any(|agent| exists(&agent.worktree_path));
    !is_alive && (!exists(&receipt.repo_path) || !has_worktree())
}
