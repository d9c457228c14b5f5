//! One agent less, while the others go on.

use std::path::PathBuf;

use paw_broker::SessionId;
use paw_broker::endpoint::PawDir;
use paw_broker::hooks;
use paw_broker::identity::Keyring;
use paw_broker::log::SqliteLog;
use paw_core::{AgentId, AgentReceipt, BranchName, PawError};
use paw_host::git::{DifferenceKind, Git};
use paw_host::process;
use paw_host::sqlite::Durability;
use paw_host::tmux::{Batch, TmuxCommand};
use paw_worktree::{Removed, Worktrees};

use super::{LifecycleError, Session};
use crate::cli_hooks;
use crate::panes::SUPERVISOR;

/// How much goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoveAgent {
    pub keep_worktree: bool,
    /// Also with uncommitted changes, which are stored first.
    pub force: bool,
}

/// What was done.
#[derive(Debug)]
pub struct RemovedAgent {
    pub agent: AgentReceipt,
    /// Nothing when the worktree was to be kept, or was gone already.
    pub worktree: Option<Removed>,
}

impl Session {
    /// Ends the agent of a branch: its pane, its processes, its worktree. The branch stays.
    pub fn remove_agent(
        &self,
        worktrees: &Worktrees,
        branch: &str,
        options: RemoveAgent,
    ) -> Result<RemovedAgent, LifecycleError> {
        let (agent, id) = self.require_agent(branch)?;
        if self.receipt.worktrees.len() == 1 {
            return Err(LifecycleError::LastAgent(agent.branch));
        }
        let path = &agent.worktree_path;
        let goes = !options.keep_worktree && path.exists();
        if goes && !options.force {
            require_clean(path)?;
        }
        let seen = self.look()?;
        if let Some(pane) = seen.as_ref().and_then(|seen| seen.find(id.as_str())) {
            let kill = TmuxCommand::new("kill-pane").args(["-t", &pane.id]);
            self.tmux.run_batch(&Batch::from_iter([kill]))?;
        }
        hooks::uninstall(&self.repo.common_dir, path)?;
        cli_hooks::remove(&self.repo, &agent);
        self.revoke(&id)?;
        let worktree = if goes {
            process::end(&process::living_in(path));
            Some(worktrees.remove_worktree(&self.repo.root, path, options.force)?)
        } else {
            None
        };
        self.change(|receipt| receipt.worktrees.retain(|one| one.branch != agent.branch))?;
        if seen.is_some() {
            self.arrange();
        }
        Ok(RemovedAgent { agent, worktree })
    }

    /// The agent of a branch, and its id.
    fn require_agent(&self, branch: &str) -> Result<(AgentReceipt, AgentId), LifecycleError> {
        let found = self.receipt.worktrees.iter().zip(self.receipt.agent_ids());
        let found = found.into_iter().find(|(agent, _)| agent.branch.as_str() == branch);
        match found {
            Some((agent, id)) => Ok((agent.clone(), id)),
            None if branch == SUPERVISOR => Err(LifecycleError::Supervisor),
            None => Err(LifecycleError::UnknownBranch {
                branch: branch.to_owned(),
                session: self.receipt.session_name.clone(),
                known: self
                    .receipt
                    .worktrees
                    .iter()
                    .map(|agent| agent.branch.clone())
                    .collect::<Vec<BranchName>>(),
            }),
        }
    }

    /// Makes the agent's token worthless.
    fn revoke(&self, agent: &AgentId) -> Result<(), LifecycleError> {
        let dir = PawDir::of(&self.repo.common_dir);
        if dir.log().exists() {
            let log = SqliteLog::open(&dir.log(), Durability::Process)?;
            let session = SessionId::new(&self.receipt.session_id());
            let revoked = Keyring::new(&log, dir.path()).revoke(&session, agent);
            revoked.map_err(|error| PawError::SessionError(error.to_string()))?;
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
