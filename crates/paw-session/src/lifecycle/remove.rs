//! Removes an agent from a session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paw_broker::SessionId;
use paw_broker::hooks;
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::paths::PawDir;
use paw_core::{AgentId, AgentReceipt, PawError};
use paw_host::git::{DifferenceKind, Git};
use paw_host::process;
use paw_host::tmux::{Batch, TmuxCommand};
use paw_worktree::{RemovedWorktree, Worktrees, moved};

use super::{LifecycleError, Session};
use crate::panes::SUPERVISOR;
use crate::{briefing, cli_hooks};

/// What to remove with the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveAgentOptions<'a> {
    pub keep_worktree: bool,
    /// Remove a worktree with uncommitted changes, too; they are stored first.
    pub force: bool,
    /// The pane this process runs in. If it is the agent's pane, it is closed last.
    pub own_pane: Option<&'a str>,
}

/// The result of a removal.
#[derive(Debug)]
pub struct RemovedAgent {
    pub agent: AgentReceipt,
    /// `None` if the worktree was kept or was already missing.
    pub worktree: Option<RemovedWorktree>,
}

impl Session {
    /// Removes an agent: its pane, processes and worktree. The branch stays.
    pub fn remove_agent(
        &self,
        worktrees: &Worktrees,
        name: &str,
        options: RemoveAgentOptions<'_>,
    ) -> Result<RemovedAgent, LifecycleError> {
        let (agent, id) = self.require_agent(name)?;
        if self.receipt.worktrees.len() == 1 && self.receipt.remote_agents().is_empty() {
            return Err(LifecycleError::LastAgent(agent.branch));
        }
        let path = &agent.worktree_path;
        let removes_worktree = !options.keep_worktree && path.exists();
        if removes_worktree && !options.force {
            require_clean(path)?;
        }
        let window = self.find_window()?;
        let pane =
            window.as_ref().and_then(|window| window.find_pane(id.as_str())).map(|pane| pane.id.as_str());
        let own = pane.filter(|pane| options.own_pane == Some(*pane));
        if let Some(pane) = pane.filter(|_| own.is_none()) {
            self.kill_pane(pane)?;
        }
        hooks::uninstall(&self.repo.common_dir, path)?;
        cli_hooks::remove(&self.repo, &agent);
        self.revoke(&id)?;
        let worktree = if removes_worktree {
            process::terminate(&process::processes_in(path));
            let force = self.remove_briefing(path)? || options.force;
            Some(worktrees.remove_worktree(&self.repo.root, path, force)?)
        } else {
            None
        };
        moved::forget(&self.repo, &agent.branch)?;
        self.change(|receipt| receipt.worktrees.retain(|one| one.branch != agent.branch))?;
        if let Some(own) = own {
            // Moved to its own window first, so that the other panes can be arranged before this process ends.
            let _ = self.tmux.run(&TmuxCommand::new("break-pane").args(["-d", "-s", own]));
        }
        if window.is_some() {
            self.rearrange_panes();
        }
        own.map_or(Ok(()), |own| self.kill_pane(own))?;
        Ok(RemovedAgent { agent, worktree })
    }

    /// Ends an agent and keeps its worktree, so that nothing there changes any more. `git paw start` brings it back.
    pub fn stop_agent(&self, name: &str) -> Result<(), LifecycleError> {
        let (agent, id) = self.require_agent(name)?;
        let window = self.find_window()?;
        if let Some(pane) = window.as_ref().and_then(|window| window.find_pane(id.as_str())) {
            self.kill_pane(&pane.id)?;
        }
        process::terminate(&process::processes_in(&agent.worktree_path));
        Ok(())
    }

    /// Removes our text from the briefing files. If a file has other content, adds it to git's index although our rules
    /// ignore its name, so that it is stored like any other work. Returns whether there was such a file.
    pub(super) fn remove_briefing(&self, worktree: &Path) -> Result<bool, LifecycleError> {
        let files = briefing::remove(&self.repo, worktree)?.files;
        let left: Vec<_> =
            files.into_iter().filter(|file| file.exists()).map(PathBuf::into_os_string).collect();
        if left.is_empty() {
            return Ok(false);
        }
        Git::at(worktree)
            .plumb(None, ["add", "--force", "--"].map(OsString::from).into_iter().chain(left))?;
        Ok(true)
    }

    fn kill_pane(&self, pane: &str) -> Result<(), LifecycleError> {
        let kill = TmuxCommand::new("kill-pane").args(["-t", pane]);
        Ok(self.tmux.run_batch(&Batch::from_iter([kill])).map(drop)?)
    }

    /// The agent with this name, and its id.
    pub(super) fn require_agent(&self, name: &str) -> Result<(AgentReceipt, AgentId), LifecycleError> {
        match self.receipt.find_named(name) {
            Ok((agent, id)) => Ok((agent.clone(), id)),
            Err(_) if name == SUPERVISOR => Err(LifecycleError::Supervisor),
            Err(error) => Err(PawError::from(error).into()),
        }
    }

    /// Revokes the agent's token.
    fn revoke(&self, agent: &AgentId) -> Result<(), LifecycleError> {
        let dir = PawDir::of(&self.repo.common_dir);
        if let Some(log) = log::find(&dir.log())? {
            let session = SessionId::new(&self.receipt.session_id());
            Keyring::new(&log, dir.path()).revoke(&session, agent)?;
        }
        Ok(())
    }
}

fn require_clean(path: &std::path::Path) -> Result<(), LifecycleError> {
    let changed = Git::at(path).differences()?.into_iter();
    let files: Vec<PathBuf> =
        changed.filter(|found| found.kind != DifferenceKind::Ignored).map(|found| found.path).collect();
    if files.is_empty() { Ok(()) } else { Err(LifecycleError::Dirty { path: path.to_path_buf(), files }) }
}
