//! What a merge does with branches whose worktrees are on other machines: `git paw __host` does it there, over ssh.

use std::cell::RefCell;
use std::collections::BTreeMap;

use paw_cluster::hub::{self, HubError};
use paw_cluster::remote::RemoteHost;
use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{BranchName, Diagnostic as _, HostName};
use paw_session::lifecycle::Session;
use paw_supervisor::merge::RemoteWorktrees;
use paw_worktree::advance::AdvanceResult;
use serde::{Deserialize, Serialize};

/// What the machine of a branch answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RebaseObstacle {
    pub(crate) obstacle: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RebasedBranch {
    pub(crate) rebased: AdvanceResult,
}

/// The rebased commit of a branch on its machine, until the branch is moved to it.
pub(crate) fn rebased_ref(branch: &BranchName) -> String {
    format!("refs/paw/rebased/{branch}")
}

/// The agents of a session on other machines.
#[derive(Debug)]
pub(crate) struct HostWorktrees<'a> {
    session: &'a Session,
    /// The commit of the base that each machine has. `None` if the machine refused it or cannot be reached; it is not asked
    /// again in this merge.
    pushed: RefCell<BTreeMap<HostName, Option<String>>>,
}

impl<'a> HostWorktrees<'a> {
    /// `None` if all agents are on this machine.
    pub(crate) fn find(session: &'a Session) -> Option<Self> {
        let has_some = !session.receipt.remote_agents().is_empty();
        has_some.then(|| Self { session, pushed: RefCell::default() })
    }

    fn agent(&self, branch: &BranchName) -> Option<&RemoteAgentReceipt> {
        self.session.receipt.remote_agents().iter().find(|agent| agent.branch == *branch)
    }

    fn host(&self, name: &HostName) -> Result<RemoteHost, HubError> {
        hub::require_host(&self.session.repo, self.session.receipt.cluster.as_ref(), name)
    }

    /// Runs `act` with the machine of a branch. Its error is one line.
    fn on_host<T>(
        &self,
        branch: &BranchName,
        act: impl FnOnce(&RemoteHost) -> Result<T, HubError>,
    ) -> Result<T, String> {
        let agent = self.agent(branch).ok_or_else(|| format!("{branch} is on this machine"))?;
        let done = self.host(&agent.host).and_then(|host| act(&host));
        done.map_err(|error| error.report().message)
    }
}

impl RemoteWorktrees for HostWorktrees<'_> {
    fn has(&self, branch: &BranchName) -> bool {
        self.agent(branch).is_some()
    }

    fn fetch(&self, branch: &BranchName) -> Result<(), String> {
        self.on_host(branch, |host| hub::fetch_branch(&self.session.repo, host, branch))
    }

    fn tell(&self, branch: &BranchName, text: &str) -> Result<(), String> {
        let id = self.agent(branch).map(|agent| agent.agent_id.to_string()).unwrap_or_default();
        self.on_host(branch, |host| {
            Ok(host.run(&["tell", &id, "--stdin"], text.as_bytes().to_vec()).map(drop)?)
        })
    }

    fn find_obstacle(&self, branch: &BranchName) -> Result<Option<String>, String> {
        self.on_host(branch, |host| {
            let answer: RebaseObstacle = host.ask(&["__host", "rebase", branch.as_str()], &())?;
            Ok(answer.obstacle.map(|why| format!("on {}: {why}", host.name)))
        })
    }

    fn move_branch(&self, branch: &BranchName, (from, to): (&str, &str)) -> Result<AdvanceResult, String> {
        self.on_host(branch, |host| {
            hub::push(&self.session.repo, host, [format!("+{to}:{}", rebased_ref(branch))])?;
            let answer: RebasedBranch =
                host.ask(&["__host", "rebase", branch.as_str(), "--from", from, "--to", to], &())?;
            Ok(match answer.rebased {
                AdvanceResult::Refused(why) => AdvanceResult::Refused(format!("on {}: {why}", host.name)),
                other => other,
            })
        })
    }

    fn push_base(&self, base: &BranchName) -> Vec<String> {
        let Ok(Some(tip)) = self.session.repo.git().find_tip(base) else { return Vec::new() };
        let mut pushed = self.pushed.borrow_mut();
        let mut notes = Vec::new();
        for agent in self.session.receipt.remote_agents() {
            let name = &agent.host;
            if pushed.get(name).is_some_and(|known| known.as_ref().is_none_or(|known| *known == tip)) {
                continue;
            }
            let refs = format!("{0}:{0}", base.full_ref());
            let done = self.host(name).and_then(|host| hub::push(&self.session.repo, &host, [refs]));
            if let Err(error) = &done {
                let why = error.report().message;
                notes.push(format!("{name} does not have the merged commits yet: {why}"));
            }
            pushed.insert(name.clone(), done.is_ok().then(|| tip.clone()));
        }
        notes
    }
}
