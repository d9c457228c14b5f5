//! Removes agents and sessions on other machines.

use std::path::{Path, PathBuf};

use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{BranchName, HostName};
use paw_worktree::moved;
use paw_worktree::rescue::{self, Rescue};
use serde::Deserialize;

use super::{Hub, HubError, fetch_branch, push, require_host};
use crate::relocate::TakenAgent;
use crate::remote::RemoteHost;

/// What a host answers when its session was removed.
#[derive(Debug, Deserialize)]
pub(crate) struct PurgedHost {
    /// Worktrees with uncommitted changes.
    pub(crate) kept: Vec<PathBuf>,
}

/// The work of a removed agent whose branch no longer has its name on its machine.
#[derive(Debug)]
pub struct StrayWork {
    pub host: HostName,
    pub branch: BranchName,
    /// All of it, uncommitted changes included, or why it is only there.
    pub saved: Result<Rescue, HubError>,
}

impl Hub<'_> {
    /// Removes everything that the session has on a host. The branches are fetched first. A branch that does not exist there
    /// is an error, unless its agent never started or `force` is set.
    pub fn purge_host(&self, name: &HostName, force: bool) -> Result<Vec<StrayWork>, HubError> {
        let host = require_host(&self.session.repo, self.session.receipt.cluster.as_ref(), name)?;
        let agents: Vec<_> =
            self.session.receipt.remote_agents().iter().filter(|agent| agent.host == *name).collect();
        let mut stray = Vec::new();
        for agent in &agents {
            stray.extend(self.bring_branch(&host, agent, force)?);
        }
        let args = ["__host", "purge", "--force"];
        let args = if force { args.as_slice() } else { &args[..2] };
        let purged: PurgedHost = host.ask(args, &())?;
        if !purged.kept.is_empty() {
            return Err(HubError::Kept { host: name.clone(), paths: purged.kept });
        }
        self.change(|cluster| cluster.agents.retain(|agent| agent.host != *name))?;
        agents.into_iter().try_for_each(|agent| moved::forget(&self.session.repo, &agent.branch))?;
        Ok(stray)
    }

    /// Removes an agent on another machine: its pane and its worktree there. The branch is fetched first and kept. The session
    /// there ends with its last agent; that machine decides which one is the last, under the lock that adds agents there.
    pub fn remove(
        &self,
        agent: &RemoteAgentReceipt,
        (keep_worktree, force): (bool, bool),
    ) -> Result<Vec<StrayWork>, HubError> {
        let host = require_host(&self.session.repo, self.session.receipt.cluster.as_ref(), &agent.host)?;
        let stray = self.bring_branch(&host, agent, force)?;
        let flags = [(keep_worktree, "--keep-worktree"), (force, "--force")];
        let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag);
        let args: Vec<_> = ["__host", "remove", agent.agent_id.as_str()].into_iter().chain(flags).collect();
        let removed: PurgedHost = host.ask(&args, &())?;
        if !removed.kept.is_empty() {
            return Err(HubError::Kept { host: agent.host.clone(), paths: removed.kept });
        }
        self.forget(&agent.branch)?;
        moved::forget(&self.session.repo, &agent.branch)?;
        Ok(stray.into_iter().collect())
    }

    /// Brings the branch of an agent that is about to be removed.
    fn bring_branch(
        &self,
        host: &RemoteHost,
        agent: &RemoteAgentReceipt,
        force: bool,
    ) -> Result<Option<StrayWork>, HubError> {
        match fetch_branch(&self.session.repo, host, &agent.branch) {
            Ok(()) => Ok(None),
            // The command that should have started it was killed before.
            Err(HubError::NoBranch { .. }) if agent.unfinished => Ok(None),
            Err(HubError::NoBranch { .. }) if force => {
                let (host, branch, saved) =
                    (agent.host.clone(), agent.branch.clone(), self.save_stray(host, agent));
                Ok(Some(StrayWork { host, branch, saved }))
            }
            Err(error) => Err(error),
        }
    }

    /// Stops an agent and saves its worktree here as it is, whatever its branch is called now.
    fn save_stray(&self, host: &RemoteHost, agent: &RemoteAgentReceipt) -> Result<Rescue, HubError> {
        let repo = &self.session.repo;
        let _: TakenAgent = host.ask(&["__host", "take", agent.agent_id.as_str()], &())?;
        let there = moved::moved_ref(&agent.branch);
        let here = format!("refs/paw/hosts/{}/{}", host.name, agent.branch);
        let path = host.path.as_deref().unwrap_or(Path::new(""));
        repo.git().fetch_from((&host.target, path), [format!("+{there}:{here}")])?;
        let commit = repo.git().find_object(&here, "commit")?.ok_or(HubError::NoCommit)?;
        let reason = format!("its branch had another name on {}", host.name);
        let saved = rescue::store_commit(repo, &agent.branch, &commit, &reason)?;
        // A later agent of this branch starts without it.
        push(repo, host, [format!(":{there}")])?;
        Ok(saved)
    }
}
