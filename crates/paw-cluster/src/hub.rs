//! Agents on other machines, as the hub starts and removes them.

mod branches;
mod error;
mod removal;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use branches::find_or_create;
pub use branches::{fetch_branch, fetch_rescues, push};
pub(crate) use branches::{move_branch, require_free};
pub use error::HubError;
use paw_broker::log::{ReadMark, StreamId};
use paw_core::paths::PawDir;
use paw_core::receipt::{ClusterReceipt, HostReceipt, HubSupervision, RemoteAgentReceipt, SpecReceipt};
use paw_core::{AgentId, BranchName, HostName, PawError, Receipt};
use paw_host::files::{Dirs, Lock};
use paw_host::git::{Git, Repo};
use paw_host::signing::SecretKey;
use paw_host::ssh::SshTarget;
use paw_session::lifecycle::{LifecycleError, Session};
use paw_worktree::check;
use paw_worktree::moved;
pub(crate) use removal::PurgedHost;
pub use removal::StrayWork;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::link;
use crate::relocate::{self, ArrivingAgent};
use crate::remote::{PrepareRequest, PreparedHost, RemoteHost};

/// An agent that should run on another machine.
#[derive(Debug, Clone)]
pub struct RemoteAgentRequest {
    pub host: HostName,
    pub target: SshTarget,
    pub branch: BranchName,
    pub cli: String,
    pub task: Option<String>,
    pub spec: Option<SpecReceipt>,
    /// It runs somewhere else now, and its work is stored as that of an agent that moves.
    pub is_moved: bool,
    /// What it has read elsewhere. If it runs on the hub, its log says so; if its machine cannot be reached, it is not known.
    pub read: KnownRead,
    /// The repository's own commands may run there.
    pub trust: bool,
    /// How this session looks after its agents, if it does.
    pub supervision: Option<HubSupervision>,
}

impl RemoteAgentRequest {
    /// Checks that the session has no agent of this branch. One that a killed command did not finish there is completed.
    fn require_free(&self, receipt: &Receipt) -> Result<(), LifecycleError> {
        let is_unfinished = |agent: &RemoteAgentReceipt| agent.unfinished && agent.host == self.host;
        let elsewhere = receipt.cluster.as_ref().and_then(|cluster| cluster.find_agent(&self.branch));
        let is_taken = elsewhere.is_some_and(|agent| !is_unfinished(agent));
        if !self.is_moved && (is_taken || receipt.find_agent(&self.branch).is_some()) {
            return Err(LifecycleError::AgentExists(self.branch.clone()));
        }
        Ok(())
    }
}

/// What a killed command has done already.
#[derive(Debug, Clone, Copy)]
struct StartProgress {
    /// The session there has the agent.
    is_there: bool,
    /// The hub has work of the agent from the machine that it left.
    has_moved_work: bool,
}

/// Where it is known what an agent that moves has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownRead {
    Nowhere,
    Here,
    Marks(Vec<ReadMark>),
}

/// What an agent on another machine has to do. It is the input of the command that starts it there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubAssignment {
    pub task: Option<String>,
    /// The content of its spec. The commits that are pushed may not have it.
    pub spec: Option<SpecReceipt>,
}

/// A session that runs agents on other machines.
#[derive(Debug)]
pub struct Hub<'a> {
    pub session: &'a Session,
    pub dirs: &'a Dirs,
}

impl Hub<'_> {
    /// Checks what can be checked before a machine is reached.
    pub fn require_room_for(&self, request: &RemoteAgentRequest) -> Result<AgentId, HubError> {
        let receipt = &self.session.receipt;
        if !receipt.has_broker() {
            return Err(HubError::NoBroker);
        }
        if receipt.cluster.as_ref().is_some_and(|cluster| !cluster.is_hub()) {
            return Err(HubError::NotTheHub);
        }
        if request.host.as_str() == ClusterReceipt::HUB {
            return Err(HubError::OwnName(request.host.clone()));
        }
        request.require_free(receipt)?;
        let branch = request.branch.clone();
        // The other machine gives the agent this id, because it knows no other agent that has it.
        let id = AgentId::for_branch(&branch, |_| false);
        let remote = receipt.remote_agents().iter().map(|agent| (&agent.branch, agent.agent_id.clone()));
        let local = receipt.worktrees.iter().map(|agent| &agent.branch).zip(receipt.agent_ids());
        if remote.chain(local).any(|(of, other)| other == id && *of != branch) {
            return Err(HubError::IdTaken { branch, id });
        }
        Ok(id)
    }

    /// Checks that a machine can be reached and has a place for the session.
    pub fn require_ready(&self, name: &HostName, target: &SshTarget) -> Result<(), HubError> {
        if !self.session.receipt.has_broker() {
            return Err(HubError::NoBroker);
        }
        let git = self.session.repo.git();
        let host = self.new_host(name, target);
        self.prepare(&host, &git, git.find_default_branch()?.as_ref()).map(drop)
    }

    /// Starts an agent on another machine: clone, branch, announcement, worktree and pane there. If a step fails, the agent is
    /// not part of the session. An agent that a killed command did not finish is completed, and stays unfinished if a step
    /// fails. `announce` tells the session's process that the receipt has changed, and waits until other
    /// machines can know it.
    pub fn add(
        &self,
        request: &RemoteAgentRequest,
        announce: &dyn Fn() -> Result<(), PawError>,
    ) -> Result<RemoteAgentReceipt, HubError> {
        let agent_id = self.require_room_for(request)?;
        let git = self.session.repo.git();
        // Two commands at once would both start the session there.
        let _one_at_a_time = Lock::wait(&PawDir::of(&self.session.repo.common_dir).hosts_lock())?;
        let checked_out = |worktree: &paw_host::git::GitWorktree| worktree.branch() == Some(&request.branch);
        if let Some(worktree) = git.worktrees()?.into_iter().find(checked_out).filter(|_| !request.is_moved) {
            return Err(HubError::CheckedOut { branch: request.branch.clone(), path: worktree.path });
        }
        let main = git.find_default_branch()?;
        let mut host = self.new_host(&request.host, &request.target);
        let prepared = self.prepare(&host, &git, main.as_ref())?;
        host.path = Some(prepared.path.clone());
        let (tip, branch_created) = find_or_create(&git, &request.branch)?;
        // The command before this one may have changed it.
        let receipt = self.session.receipts.load(&self.session.receipt.session_name)?;
        let receipt = &receipt.ok_or(HubError::Purged)?;
        let before = receipt.cluster.as_ref().and_then(|cluster| cluster.find_agent(&request.branch));
        let unfinished = before.filter(|before| before.unfinished && before.host == request.host);
        let task = request.task.clone().or_else(|| unfinished.and_then(|before| before.task.clone()));
        let request = &RemoteAgentRequest { task, ..request.clone() };
        let progress = StartProgress {
            is_there: unfinished.is_some() && prepared.agents.contains(&request.branch),
            // A move that was killed.
            has_moved_work: request.is_moved
                || unfinished.is_some() && git.has_ref(&moved::moved_ref(&request.branch))?,
        };
        let was_created = before.is_some_and(|agent| agent.branch_created)
            || receipt.find_agent(&request.branch).is_some_and(|agent| agent.branch_created);
        let agent = RemoteAgentReceipt {
            host: request.host.clone(),
            agent_id,
            branch: request.branch.clone(),
            cli: request.cli.clone(),
            task: request.task.clone(),
            spec: request.spec.as_ref().map(|spec| spec.id.clone()),
            branch_created: branch_created || was_created,
            unfinished: true,
        };
        let started = self.record(&agent, request, &prepared).and_then(|cluster| {
            let started = announce().map_err(HubError::Announce);
            let started = started.and_then(|()| {
                self.start(
                    &host,
                    (request, &agent.agent_id),
                    (main.as_ref(), &prepared),
                    (&cluster, progress),
                )
            });
            if started.is_err() {
                self.forget(&agent.branch)?;
                before.map_or(Ok(()), |before| self.put_back(before))?;
            }
            started
        });
        if let Err(error) = started {
            if branch_created {
                git.delete_ref(&request.branch.full_ref(), &tip)?;
            }
            return Err(error);
        }
        let agent = RemoteAgentReceipt { unfinished: false, ..agent };
        let was_killed_move = progress.has_moved_work && !request.is_moved;
        self.change(|cluster| {
            if let Some(stored) = cluster.agents.iter_mut().find(|stored| stored.branch == agent.branch) {
                stored.unfinished = false;
            }
            let left = cluster.hosts.values_mut().filter(|host| host.left.contains(&agent.agent_id));
            for host in left.filter(|_| was_killed_move) {
                host.to_clean.insert(agent.agent_id.clone());
            }
        })?;
        if was_killed_move {
            moved::forget(&self.session.repo, &agent.branch)?;
            // The agent runs. What it left is removed at the latest when the session's process starts again.
            let _ = announce();
        }
        Ok(agent)
    }

    /// A machine whose clone is not known yet.
    fn new_host(&self, name: &HostName, target: &SshTarget) -> RemoteHost {
        let hub = link::hub_identity(&self.session.repo);
        RemoteHost { name: name.clone(), target: target.clone(), path: None, hub }
    }

    fn prepare(
        &self,
        host: &RemoteHost,
        git: &Git,
        main: Option<&BranchName>,
    ) -> Result<PreparedHost, HubError> {
        let setting = |key: &str| git.find(["config", "--get", key]);
        let main = main.cloned().map_or_else(|| BranchName::new("main"), Ok)?;
        let request = PrepareRequest {
            hub: host.hub.clone(),
            repository: self.clone_name()?,
            main,
            user_name: setting("user.name")?,
            user_email: setting("user.email")?,
        };
        let prepared: PreparedHost = host.ask(&["__host", "prepare"], &request)?;
        // Another command may have started the session there since this one began.
        let receipt = self.session.receipts.load(&self.session.receipt.session_name)?;
        let own = receipt.and_then(|receipt| Some(receipt.cluster?.stream));
        if prepared.has_session && prepared.stream != own {
            return Err(HubError::OtherSession { host: host.name.clone(), path: prepared.path });
        }
        Ok(prepared)
    }

    /// The name of the clone: one per repository of this user on this machine.
    fn clone_name(&self) -> Result<String, HubError> {
        let key = SecretKey::open(&self.dirs.data().host_key())?.public().to_string();
        let root = self.session.repo.common_dir.display().to_string();
        let hash = Sha256::new().chain_update(key).chain_update(root).finalize();
        let hash = hash.iter().take(4).fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        let project = check::project_name(&self.session.repo);
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_-".contains(*c);
        let plain: String = project.as_str().chars().filter(is_plain).collect();
        Ok(format!("{}-{hash}", if plain.is_empty() { "repository" } else { &plain }))
    }

    /// Writes the agent, its host and its permission into the receipt. Returns them.
    fn record(
        &self,
        agent: &RemoteAgentReceipt,
        request: &RemoteAgentRequest,
        prepared: &PreparedHost,
    ) -> Result<ClusterReceipt, HubError> {
        let own_key = SecretKey::open(&self.dirs.data().host_key())?.public().to_string();
        let hub = HostName::new(ClusterReceipt::HUB)?;
        let receipts = &self.session.receipts;
        let lock = receipts.lock()?;
        let cluster = receipts.update(&self.session.receipt.session_name, &lock, |receipt| {
            // The receipt may be newer than the one that was checked.
            request.require_free(receipt)?;
            let cluster = receipt.cluster.get_or_insert_with(|| new_cluster(hub, own_key));
            cluster.version += 1;
            let host = HostReceipt {
                key: prepared.key.clone(),
                agents: BTreeSet::new(),
                left: BTreeSet::new(),
                to_clean: BTreeSet::new(),
                ssh: Some(request.target.to_string()),
                path: Some(prepared.path.clone()),
            };
            let known = cluster.hosts.entry(request.host.clone()).or_insert(host.clone());
            (known.key, known.ssh, known.path) = (host.key, host.ssh, host.path);
            known.agents.insert(agent.agent_id.clone());
            known.left.remove(&agent.agent_id);
            known.to_clean.remove(&agent.agent_id);
            leave_others(cluster, &agent.agent_id, Some(&agent.host));
            cluster.agents.retain(|other| other.branch != agent.branch);
            cluster.agents.push(agent.clone());
            Ok::<_, LifecycleError>(cluster.clone())
        })?;
        Ok(cluster.ok_or(HubError::Purged)??)
    }

    fn start(
        &self,
        host: &RemoteHost,
        (request, agent_id): (&RemoteAgentRequest, &AgentId),
        (main, prepared): (Option<&BranchName>, &PreparedHost),
        (cluster, progress): (&ClusterReceipt, StartProgress),
    ) -> Result<(), HubError> {
        if progress.is_there {
            supervise(host, request.supervision.as_ref())?;
            host.run(&["start"], Vec::new())?;
            return Ok(());
        }
        let git = self.session.repo.git();
        let mut refs = vec![format!("{0}:{0}", request.branch.full_ref())];
        if let Some(main) = main.filter(|main| **main != request.branch)
            && git.has_ref(&main.full_ref())?
        {
            refs.insert(0, format!("{0}:{0}", main.full_ref()));
        }
        if progress.has_moved_work {
            refs.push(format!("+{0}:{0}", moved::moved_ref(&request.branch)));
        }
        push(&self.session.repo, host, refs)?;
        let read = match &request.read {
            KnownRead::Nowhere => None,
            KnownRead::Here => Some(relocate::load_read(self.session, agent_id)?),
            KnownRead::Marks(marks) => Some(marks.clone()),
        };
        if let Some(read) = read {
            let arriving = ArrivingAgent { host: host.name.clone(), read };
            let input = serde_json::to_vec(&arriving).unwrap_or_default();
            host.run(&["__host", "expect", agent_id.as_str()], input)?;
        }
        let agent = format!("{}={}", request.branch, request.cli);
        let mut args = if prepared.has_session {
            supervise(host, request.supervision.as_ref())?;
            // It may be paused or stopped.
            host.run(&["start"], Vec::new())?;
            vec!["add", &agent, "--no-rebase"]
        } else {
            host.run(&["__host", "invite"], invitation(cluster, request))?;
            vec!["start", "--no-supervisor", "--no-rebase", "--branches", &agent]
        };
        if request.trust {
            args.push("--trust");
        }
        args.push("--from-hub");
        let assignment = HubAssignment { task: request.task.clone(), spec: request.spec.clone() };
        host.run(&args, serde_json::to_vec(&assignment).unwrap_or_default())?;
        Ok(())
    }

    /// The agent is no longer part of the session. Its host keeps the permission, because messages may still be on their way.
    pub(crate) fn forget(&self, branch: &BranchName) -> Result<(), HubError> {
        self.change(|cluster| cluster.agents.retain(|agent| agent.branch != *branch))
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ClusterReceipt)) -> Result<(), HubError> {
        let receipts = &self.session.receipts;
        let lock = receipts.lock()?;
        receipts.update(&self.session.receipt.session_name, &lock, |receipt| {
            if let Some(cluster) = &mut receipt.cluster {
                change(cluster);
            }
        })?;
        Ok(())
    }
}

fn new_cluster(hub: HostName, key: String) -> ClusterReceipt {
    let (agents, left, to_clean) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let own = HostReceipt { key, agents, left, to_clean, ssh: None, path: None };
    ClusterReceipt {
        stream: StreamId::random().to_string(),
        host: hub.clone(),
        hub: hub.clone(),
        version: 1,
        hosts: BTreeMap::from([(hub, own)]),
        agents: Vec::new(),
        supervision: None,
    }
}

/// The machines that an agent has left.
pub(crate) fn leave_others(cluster: &mut ClusterReceipt, agent: &AgentId, now_on: Option<&HostName>) {
    for (name, host) in &mut cluster.hosts {
        if Some(name) != now_on && host.agents.contains(agent) {
            host.left.insert(agent.clone());
        }
    }
}

/// Tells a host that has joined the session already how the hub looks after its agents.
pub fn supervise(host: &RemoteHost, supervision: Option<&HubSupervision>) -> Result<(), HubError> {
    host.run(&["__host", "supervise"], serde_json::to_vec(&supervision).unwrap_or_default())?;
    Ok(())
}

/// What a host gets to know about the session: names, keys, and how the hub looks after it.
fn invitation(cluster: &ClusterReceipt, request: &RemoteAgentRequest) -> Vec<u8> {
    let (host, supervision) = (request.host.clone(), request.supervision.clone());
    let mut copy = ClusterReceipt { host, supervision, agents: Vec::new(), ..cluster.clone() };
    for other in copy.hosts.values_mut() {
        (other.ssh, other.path) = (None, None);
    }
    serde_json::to_vec(&copy).unwrap_or_default()
}

/// A machine of the session, by the receipt.
pub fn require_host(
    repo: &Repo,
    cluster: Option<&ClusterReceipt>,
    name: &HostName,
) -> Result<RemoteHost, HubError> {
    let host = cluster.and_then(|cluster| cluster.hosts.get(name));
    let ssh = host.and_then(|host| host.ssh.as_deref()).unwrap_or_default();
    let path = host.and_then(|host| host.path.clone());
    Ok(RemoteHost { name: name.clone(), target: ssh.parse()?, path, hub: link::hub_identity(repo) })
}
