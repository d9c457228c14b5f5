//! Plans a start completely before it changes anything.

mod error;
mod named_agent;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::detect::CliInfo;
use paw_agent::hooks::HookEnvironment;
use paw_agent::hooks::install::{with_hooks, with_supervisor_hooks};
use paw_agent::launch::{command_line, supervisor_command_line};
use paw_core::config::{Approval, LayoutMode, PawConfig, SupervisorConfig, WorktreePlacement};
use paw_core::paths::CheckoutDir;
use paw_core::receipt::ClusterReceipt;
use paw_core::{
    AgentId, AgentReceipt, BranchName, HostName, ProjectName, Receipt, SessionMode, SessionName,
    SupervisorReceipt,
};
use paw_host::git::{GitWorktree, Repo};
use paw_worktree::check;
use paw_worktree::session::{self, SessionWorktree};

pub use error::PlanError;
pub use named_agent::{AgentTask, AgentsFileError, NamedAgent, parse_agents_file, split_host};

use crate::layout::{Layout, TopRow};
use crate::specs::SpecEntry;

/// A requested agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRequest {
    pub branch: BranchName,
    /// The name of its CLI.
    pub cli: String,
    pub spec: Option<SpecEntry>,
    /// The user's own words about what to do.
    pub task: Option<String>,
    /// The machine it should run on, if it is another one. A plan has only agents of this machine.
    pub host: Option<HostName>,
}

/// A request to start a session, with all prompts answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRequest {
    pub agents: Vec<AgentRequest>,
    /// Agents on other machines start after the session.
    pub has_remote: bool,
    /// The name of the supervisor's CLI, for a session with a supervisor.
    pub supervisor: Option<String>,
    /// `git paw start --unattended` takes the role of the supervisor.
    pub unattended: bool,
    /// The hub looks after the agents.
    pub has_hub_supervisor: bool,
    /// Rebase existing branches onto the default branch.
    pub rebase: bool,
}

impl StartRequest {
    fn is_supervised(&self) -> bool {
        self.supervisor.is_some() || self.unattended || self.has_hub_supervisor
    }
}

/// The repository, configuration and installed CLIs that a plan is made for.
#[derive(Debug)]
pub struct PlanContext<'a> {
    pub repo: &'a Repo,
    pub config: &'a PawConfig,
    pub clis: &'a [CliInfo],
    pub hooks: &'a HookEnvironment,
    /// As git lists them, main checkout first.
    pub worktrees: &'a [GitWorktree],
    /// The local branches.
    pub branches: &'a [BranchName],
}

/// The plan of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlan {
    pub id: AgentId,
    pub branch: BranchName,
    pub cli: String,
    /// The shell command that starts the CLI, exactly as it will be typed.
    pub command: String,
    pub dir: PathBuf,
    pub spec: Option<SpecEntry>,
    pub task: Option<String>,
    /// The configured path of the CLI's settings file in a worktree.
    pub settings_path: Option<PathBuf>,
}

/// The configured address and log of the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerPlan {
    pub bind: String,
    pub port: u16,
    pub log: PathBuf,
}

/// A session that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionPlan {
    pub session: SessionName,
    pub project: ProjectName,
    pub repo: Repo,
    pub agents: Vec<AgentPlan>,
    pub supervisor: Option<SupervisorReceipt>,
    pub broker: Option<BrokerPlan>,
    pub rebase: bool,
    pub placement: WorktreePlacement,
    pub mouse: bool,
    /// Whether pane borders show the agent.
    pub borders: bool,
    pub layout: LayoutMode,
    pub log_dir: Option<PathBuf>,
    pub tmux_socket: Option<String>,
    /// Whether to reject an agent's commits on other branches.
    pub guard: bool,
    /// `git paw start --unattended` takes the role of the supervisor.
    pub unattended: bool,
    /// The session of another machine that this one is a part of.
    pub cluster: Option<ClusterReceipt>,
}

impl SessionPlan {
    pub fn mode(&self) -> SessionMode {
        if self.supervisor.is_some() { SessionMode::Supervisor } else { SessionMode::Bare }
    }

    /// The worktrees to create, in the order of the agents.
    pub fn worktrees(&self) -> Vec<SessionWorktree> {
        let wanted = |agent: &AgentPlan| SessionWorktree {
            branch: agent.branch.clone(),
            rebase_onto_main: self.rebase,
            placement: self.placement,
        };
        self.agents.iter().map(wanted).collect()
    }

    /// The receipt of the planned session: no branches created yet, the broker on its configured port.
    pub fn receipt(&self, created_at: Timestamp) -> Receipt {
        let mut receipt =
            Receipt::new(self.session.clone(), self.repo.root.clone(), self.project.as_str(), created_at);
        receipt.mode = self.mode();
        receipt.unattended = self.unattended;
        receipt.cluster.clone_from(&self.cluster);
        receipt.supervisor.clone_from(&self.supervisor);
        receipt.mouse = self.mouse;
        receipt.borders = self.borders;
        receipt.layout = self.layout;
        receipt.log_dir.clone_from(&self.log_dir);
        receipt.tmux_socket.clone_from(&self.tmux_socket);
        if let Some(broker) = &self.broker {
            receipt.broker_port = Some(broker.port);
            receipt.broker_bind = Some(broker.bind.clone());
            receipt.broker_log_path = Some(broker.log.clone());
        }
        receipt.dashboard_pane = TopRow::of(receipt.mode, receipt.has_broker()).dashboard();
        let agent = |agent: &AgentPlan| {
            let mut row = AgentReceipt::new(agent.branch.clone(), agent.dir.clone(), &agent.cli);
            row.agent_id = Some(agent.id.clone());
            row.command = Some(agent.command.clone());
            row.spec = agent.spec.as_ref().map(|spec| spec.id.clone());
            row.sent_spec = agent.spec.as_ref().filter(|spec| spec.is_sent()).map(SpecEntry::to_receipt);
            row.task.clone_from(&agent.task);
            row.settings_path.clone_from(&agent.settings_path);
            row
        };
        receipt.worktrees = self.agents.iter().map(agent).collect();
        receipt
    }
}

/// Plans a session. Reports every problem that can be detected before the first worktree is created.
pub fn plan(
    request: &StartRequest,
    context: &PlanContext<'_>,
    is_name_taken: impl Fn(&SessionName) -> bool,
    exists: impl Fn(&Path) -> bool,
) -> Result<SessionPlan, PlanError> {
    let config = context.config;
    let supervisor = config.supervisor.clone().unwrap_or_default();
    let supervised = request.supervisor.is_some();
    let broker = supervised || request.unattended || config.broker.enabled;
    // The dashboard shows agents on other machines.
    if request.agents.is_empty() && !(request.has_remote && broker) {
        return Err(PlanError::NoAgents);
    }
    let mode = if supervised { SessionMode::Supervisor } else { SessionMode::Bare };
    Layout::new(config.layout.mode, TopRow::of(mode, broker), request.agents.len())?;
    check_branches(&request.agents, context)?;
    let agents = plan_agents(request, context, &supervisor, broker)?;
    check_directories(&agents, context, exists)?;
    let project = check::project_name(context.repo);
    let broker = broker.then(|| BrokerPlan {
        bind: config.broker.bind.clone(),
        port: config.broker.port,
        log: CheckoutDir::of(&context.repo.root).audit_trail(),
    });
    let log_dir = config.logging.as_ref().filter(|logging| logging.enabled);
    let supervising = |name: &String| {
        let approval = supervisor.approval.unwrap_or(supervisor.agent_approval);
        let (cli, found) = (cli::descriptor(name), find_cli(context, name)?);
        let command = supervisor_command_line(cli, found, config.clis.get(name), approval);
        let command = with_supervisor_hooks(command, cli, context.hooks, &context.repo.common_dir);
        Ok::<_, PlanError>(SupervisorReceipt { cli: name.clone(), command, ..SupervisorReceipt::default() })
    };
    Ok(SessionPlan {
        session: SessionName::for_project(&project).first_free(is_name_taken),
        project,
        repo: context.repo.clone(),
        agents,
        supervisor: request.supervisor.as_ref().map(supervising).transpose()?,
        broker,
        rebase: request.rebase,
        placement: config.worktree_placement(),
        mouse: config.mouse(),
        borders: config.layout.border_affordances,
        layout: config.layout.mode,
        log_dir: log_dir.map(|logging| context.repo.root.join(&logging.log_dir)),
        tmux_socket: config.tmux.socket.clone(),
        guard: request.is_supervised() && supervisor.strict_branch_guard,
        unattended: request.unattended,
        cluster: None,
    })
}

fn plan_agents(
    request: &StartRequest,
    context: &PlanContext<'_>,
    supervisor: &SupervisorConfig,
    broker: bool,
) -> Result<Vec<AgentPlan>, PlanError> {
    // Without a supervisor, agents ask the user in their panes.
    let approval = if request.is_supervised() { supervisor.agent_approval } else { Approval::Manual };
    let mut agents: Vec<AgentPlan> = Vec::with_capacity(request.agents.len());
    for wanted in &request.agents {
        let id = AgentId::for_branch(&wanted.branch, |id| agents.iter().any(|agent| agent.id == *id));
        let mut command = cli_command(context, &wanted.cli, approval)?;
        if broker {
            let cli = cli::descriptor(&wanted.cli);
            command = with_hooks(command, cli, context.hooks, &context.repo.common_dir);
        }
        agents.push(AgentPlan {
            id,
            branch: wanted.branch.clone(),
            cli: wanted.cli.clone(),
            command,
            dir: session::directory(context.repo, &wanted.branch, context.config.worktree_placement()),
            spec: wanted.spec.clone(),
            task: wanted.task.clone(),
            settings_path: context.config.clis.get(&wanted.cli).and_then(|cli| cli.settings_path.clone()),
        });
    }
    Ok(agents)
}

fn cli_command(context: &PlanContext<'_>, name: &str, approval: Approval) -> Result<String, PlanError> {
    let found = find_cli(context, name)?;
    Ok(command_line(cli::descriptor(name), found, context.config.clis.get(name), approval))
}

fn find_cli<'a>(context: &PlanContext<'a>, name: &str) -> Result<&'a CliInfo, PlanError> {
    let cli = context.clis.iter().find(|cli| cli.binary_name == name);
    cli.ok_or_else(|| PlanError::UnknownCli(name.to_owned()))
}

/// Rejects duplicate branches, the branch of the main checkout, and branches that git cannot store together.
fn check_branches(wanted: &[AgentRequest], context: &PlanContext<'_>) -> Result<(), PlanError> {
    for (at, agent) in wanted.iter().enumerate() {
        let branch = &agent.branch;
        if wanted[..at].iter().any(|other| other.branch == *branch) {
            return Err(PlanError::BranchTwice(branch.clone()));
        }
        let others = wanted[..at].iter().map(|other| &other.branch).chain(context.branches);
        for other in others {
            if is_below(branch, other) || is_below(other, branch) {
                return Err(PlanError::BranchConflict { wanted: branch.clone(), other: other.clone() });
            }
        }
        let Some(main) = context.worktrees.first() else { continue };
        if main.branch() == Some(branch) {
            return Err(PlanError::OwnCheckout { branch: branch.clone(), path: main.path.clone() });
        }
    }
    Ok(())
}

/// git stores branches as files, so `feat` and `feat/a` cannot both exist.
fn is_below(branch: &BranchName, other: &BranchName) -> bool {
    branch.as_str().strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
}

/// Rejects shared directories, and existing directories that are not the branch's own worktree.
fn check_directories(
    agents: &[AgentPlan],
    context: &PlanContext<'_>,
    exists: impl Fn(&Path) -> bool,
) -> Result<(), PlanError> {
    for (at, agent) in agents.iter().enumerate() {
        if let Some(other) = agents[..at].iter().find(|other| other.dir == agent.dir) {
            let (one, other) = (other.branch.clone(), agent.branch.clone());
            return Err(PlanError::SameDirectory { one, other, dir: agent.dir.clone() });
        }
        let linked = context.worktrees.iter().skip(1).filter(|worktree| worktree.prunable.is_none());
        let mut linked = linked.filter(|worktree| worktree.branch() == Some(&agent.branch));
        match linked.next() {
            Some(own) if is_same_dir(&own.path, &agent.dir) => {}
            Some(other) if exists(&other.path) => {
                let (branch, path) = (agent.branch.clone(), other.path.clone());
                return Err(PlanError::CheckedOutElsewhere { branch, path });
            }
            _ if exists(&agent.dir) => {
                let (branch, dir) = (agent.branch.clone(), agent.dir.clone());
                return Err(PlanError::DirectoryTaken { branch, dir });
            }
            _ => {}
        }
    }
    Ok(())
}

/// git lists real paths; the planned path may contain a symbolic link.
fn is_same_dir(listed: &Path, planned: &Path) -> bool {
    listed == planned || planned.canonicalize().is_ok_and(|planned| planned == listed)
}

#[cfg(test)]
mod tests;
