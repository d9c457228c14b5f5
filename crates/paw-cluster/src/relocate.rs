//! An agent that moves: it is stopped where it runs, its work is brought to the hub, and it starts again on another machine.

use std::collections::BTreeSet;
use std::path::Path;

use paw_broker::SessionId;
use paw_broker::log::{self, ReadMark};
use paw_core::paths::PawDir;
use paw_core::receipt::{ClusterReceipt, RemoteAgentReceipt};
use paw_core::{AgentId, BranchName, HostName, PawError, SessionName};
use paw_host::files::{self, Lock};
use paw_host::git::{KeptWork, Repo};
use paw_session::Receipts;
use paw_session::lifecycle::Session;
use paw_worktree::diff::WorkDiff;
use paw_worktree::moved;
use serde::{Deserialize, Serialize};

use crate::hub::{self, Hub, HubError, PurgedHost, leave_others};
use crate::remote::{RemoteError, RemoteHost};
use crate::snapshot::{self, FetchedSnapshot};

/// What the machine of an agent answers when it was stopped there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenAgent {
    pub cli: String,
    pub task: Option<String>,
    /// What it has read. Empty on a hub whose messages have no ids yet.
    #[serde(default)]
    pub read: Vec<ReadMark>,
}

/// What the hub tells a machine about an agent that comes there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivingAgent {
    /// The name of the machine in the session.
    pub host: HostName,
    pub read: Vec<ReadMark>,
}

/// What an agent of this machine has read.
pub(crate) fn load_read(session: &Session, agent: &AgentId) -> Result<Vec<ReadMark>, HubError> {
    let Some(log) = log::find(&PawDir::of(&session.repo.common_dir).log())? else { return Ok(Vec::new()) };
    let own = match &session.receipt.cluster {
        Some(cluster) => cluster.host.clone(),
        None => HostName::new(ClusterReceipt::HUB)?,
    };
    Ok(log.load_read_marks(&SessionId::new(&session.receipt.session_id()), agent, &own)?)
}

/// An agent comes to this machine: its inbox continues after the messages that it has read.
pub fn expect(repo: &Repo, agent: &AgentId, arriving: &ArrivingAgent) -> Result<(), HubError> {
    let dir = PawDir::of(&repo.common_dir);
    files::create_private_dir(dir.path())?;
    Ok(log::open(&dir.log())?.save_read_marks(agent, &arriving.host, &arriving.read)?)
}

/// Stops an agent of this machine and stores all of its work for a move. The worktree stays as it is.
pub fn take(session: &Session, name: &str) -> Result<TakenAgent, HubError> {
    let (agent, id) = session
        .receipt
        .find_named(name)
        .map_err(|error| HubError::Lifecycle(PawError::from(error).into()))?;
    let (branch, path) = (&agent.branch, &agent.worktree_path);
    // Checked first, because a stopped agent that cannot move would have been stopped for nothing.
    keep(&session.repo, path, branch)?;
    session.stop_agent(name)?;
    keep(&session.repo, path, branch)?;
    Ok(TakenAgent { cli: agent.cli.clone(), task: agent.task.clone(), read: load_read(session, &id)? })
}

fn keep(repo: &Repo, worktree: &Path, branch: &BranchName) -> Result<(), HubError> {
    let work = WorkDiff::take(repo, worktree)?;
    if !work.left_out().is_empty() {
        return Err(HubError::LeftOut { branch: branch.clone(), files: work.left_out().to_vec() });
    }
    match work.keep(&moved::moved_ref(branch), snapshot::LARGEST)? {
        KeptWork::Stored(_) | KeptWork::Unchanged(_) => Ok(()),
        KeptWork::TooLarge(bytes) => Err(HubError::TooLarge { branch: branch.clone(), bytes }),
    }
}

/// Where the work of an agent on another machine comes from.
#[derive(Debug)]
pub enum MovedWork {
    /// From its machine, where it was stopped.
    Live(TakenAgent),
    /// Its machine was not asked, or did not answer, for this reason. Without a snapshot, only the commits on the hub are known.
    Last { reason: String, snapshot: Option<FetchedSnapshot> },
}

/// Stops an agent on another machine and brings its work to the hub; if the machine cannot be reached, uses the last snapshot.
/// If the work cannot be brought, the agent runs there again.
pub fn bring(repo: &Repo, host: &RemoteHost, agent: &RemoteAgentReceipt) -> Result<MovedWork, HubError> {
    // Checked first, because the agent would have been stopped for nothing.
    hub::require_free(repo, &agent.branch)?;
    match host.ask(&["__host", "take", agent.agent_id.as_str()], &()) {
        Ok(taken) => match fetch_taken(repo, host, &agent.branch) {
            Ok(()) => Ok(MovedWork::Live(taken)),
            Err(error) => {
                host.run(&["start"], Vec::new())?;
                Err(error)
            }
        },
        Err(RemoteError::Ssh(error)) if error.is_unreachable() => {
            bring_last(repo, &host.name, agent, error.to_string())
        }
        Err(error) => Err(error.into()),
    }
}

/// The last snapshot of an agent, without asking its machine for this `reason`.
pub fn bring_last(
    repo: &Repo,
    host: &HostName,
    agent: &RemoteAgentReceipt,
    reason: String,
) -> Result<MovedWork, HubError> {
    let snapshot = snapshot::load(repo, host).remove(&agent.agent_id);
    if let Some(snapshot) = &snapshot {
        use_snapshot(repo, &agent.branch, &snapshot.commit)?;
    }
    Ok(MovedWork::Last { reason, snapshot })
}

fn fetch_taken(repo: &Repo, host: &RemoteHost, branch: &BranchName) -> Result<(), HubError> {
    hub::fetch_branch(repo, host, branch)?;
    let path = host.path.clone().unwrap_or_default();
    let refs = [format!("+{0}:{0}", moved::moved_ref(branch))];
    Ok(repo.git().fetch_from((&host.target, &path), refs)?)
}

/// Makes a snapshot the work that moves. The branch gets the commits before it; a branch that has other commits is stored first.
fn use_snapshot(repo: &Repo, branch: &BranchName, commit: &str) -> Result<(), HubError> {
    let git = repo.git();
    let base = git.find_object(&format!("{commit}^"), "commit")?.ok_or(HubError::NoCommit)?;
    let tip = git.find_tip(branch)?.ok_or(HubError::NoCommit)?;
    if tip != base {
        if git.is_ancestor(&base, &tip)? {
            // The commits on the hub are newer than the snapshot.
            return Ok(moved::forget(repo, branch)?);
        }
        hub::move_branch(repo, branch, (&tip, &base), "its agent moved, with other commits")?;
    }
    git.run(["update-ref", moved::moved_ref(branch).as_str(), commit])?;
    Ok(())
}

impl Hub<'_> {
    /// An agent of another machine is about to run on the hub. It has read these messages, unless its machine cannot be reached.
    pub fn take_back(&self, agent: &RemoteAgentReceipt, read: Option<Vec<ReadMark>>) -> Result<(), HubError> {
        if let Some(read) = read {
            let arriving = ArrivingAgent { host: HostName::new(ClusterReceipt::HUB)?, read };
            expect(&self.session.repo, &agent.agent_id, &arriving)?;
        }
        self.change(|cluster| {
            cluster.version += 1;
            cluster.agents.retain(|other| other.branch != agent.branch);
            leave_others(cluster, &agent.agent_id, None);
        })
    }

    /// The agent did not start elsewhere and stays where it was.
    pub fn put_back(&self, agent: &RemoteAgentReceipt) -> Result<(), HubError> {
        self.change(|cluster| {
            cluster.version += 1;
            cluster.agents.retain(|other| other.branch != agent.branch);
            cluster.agents.push(agent.clone());
            if let Some(host) = cluster.hosts.get_mut(&agent.host) {
                host.left.remove(&agent.agent_id);
            }
        })
    }

    /// An agent is removed although its machine cannot be used; the hub cleans that up when it answers as before.
    pub fn forget_lost(&self, agent: &RemoteAgentReceipt) -> Result<(), HubError> {
        self.forget(&agent.branch)?;
        moved::forget(&self.session.repo, &agent.branch)?;
        self.clean_later(&agent.host, &agent.agent_id)
    }

    /// The machine that an agent has left was not asked; the hub cleans it up when it is connected.
    pub fn clean_later(&self, host: &HostName, agent: &AgentId) -> Result<(), HubError> {
        self.change(|cluster| {
            if let Some(host) = cluster.hosts.get_mut(host) {
                host.to_clean.insert(agent.clone());
            }
        })
    }
}

/// Removes an agent that has moved from the machine it left. Uncommitted changes are stored there first. A machine without
/// agents keeps nothing of the session; returns whether that is so.
pub fn clean(
    repo: &Repo,
    (receipts, session): (&Receipts, &SessionName),
    (name, agent): (&HostName, &AgentId),
) -> Result<bool, HubError> {
    // An agent that starts there now must be seen, or must not have started.
    let _one_at_a_time = Lock::wait(&PawDir::of(&repo.common_dir).hosts_lock())?;
    let Some(cluster) = load_cluster(receipts, session)? else { return Ok(false) };
    if cluster.agents_on(name).any(|other| other.agent_id == *agent) {
        return Ok(false);
    }
    let host = hub::require_host(repo, Some(&cluster), name)?;
    let has_others = cluster.agents_on(name).next().is_some();
    let remove = ["__host", "remove", agent.as_str(), "--force"];
    let args = if has_others { &remove[..] } else { &["__host", "purge", "--force"] };
    let purged: PurgedHost = host.ask(args, &())?;
    if purged.kept.is_empty() {
        return Ok(!has_others);
    }
    Err(HubError::Kept { host: host.name, paths: purged.kept })
}

/// Removes the agents that moved away while a machine could not be reached.
pub fn clean_left(
    repo: &Repo,
    (receipts, session): (&Receipts, &SessionName),
    name: &HostName,
) -> Result<(), HubError> {
    let left = || {
        let cluster = load_cluster(receipts, session)?;
        let host = cluster.and_then(|mut cluster| cluster.hosts.remove(name));
        Ok::<_, HubError>(host.map(|host| host.to_clean).unwrap_or_default())
    };
    let mut left = left()?;
    while let Some(agent) = left.pop_first() {
        let mut cleaned = BTreeSet::from([agent.clone()]);
        if clean(repo, (receipts, session), (name, &agent))? {
            cleaned.append(&mut left);
        }
        let lock = receipts.lock()?;
        receipts.update(session, &lock, |receipt| {
            let host = receipt.cluster.as_mut().and_then(|cluster| cluster.hosts.get_mut(name));
            if let Some(host) = host {
                host.to_clean.retain(|agent| !cleaned.contains(agent));
            }
        })?;
    }
    Ok(())
}

fn load_cluster(receipts: &Receipts, session: &SessionName) -> Result<Option<ClusterReceipt>, HubError> {
    Ok(receipts.load(session)?.and_then(|receipt| receipt.cluster))
}

/// How the first prompt of a moved agent begins.
const CONTINUE: &str = "Continue a task that began on another machine.";

/// The first prompt of a moved agent.
pub fn moved_task(task: Option<&str>) -> String {
    let task = match task {
        // It moves again.
        Some(task) if task.starts_with(CONTINUE) => task.split_once("\n\n").map(|(_, task)| task),
        task => task,
    };
    let begin = format!(
        "{CONTINUE} Its commits are on this branch and its uncommitted changes are in this worktree: look at 'git status', \
         'git diff' and 'git log' first. 'git paw inbox' has the messages that were not read there."
    );
    task.map_or(begin.clone(), |task| format!("{begin}\n\n{task}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_moves_twice_is_introduced_once() {
        let once = moved_task(Some("build it\n\nwell"));
        assert!(once.starts_with(CONTINUE) && once.ends_with("\n\nbuild it\n\nwell"), "{once}");
        assert_eq!(moved_task(Some(&once)), once);
        assert!(!moved_task(None).contains('\n'));
    }
}
