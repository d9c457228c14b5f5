//! What a session is doing: the receipt, held against tmux, the disk and the broker. No git is asked.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use jiff::{SignedDuration, Timestamp};
use paw_core::{AgentId, AgentReceipt, BranchName, SessionMode, SessionName, SessionStatus};
use paw_host::clock;
use paw_host::git::admin_dir_named_in;
use serde::Serialize;

use super::window::Seen;
use super::{LifecycleError, Session, broker};
use crate::panes::{DASHBOARD, SUPERVISOR};

/// Everything there is to say, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    pub session: SessionName,
    pub status: SessionStatus,
    /// What the last command left it in; differs when tmux or the machine has died since.
    pub recorded: SessionStatus,
    pub tmux_running: bool,
    pub mode: SessionMode,
    pub repository: PathBuf,
    pub created_at: Timestamp,
    pub broker: Option<BrokerView>,
    pub supervisor: Option<SupervisorView>,
    pub worktrees: Vec<AgentView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokerView {
    /// Where it answers; where it would, when it does not run.
    pub url: Option<String>,
    pub port: Option<u16>,
    pub running: bool,
    /// The pane it runs in.
    pub pane: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SupervisorView {
    pub cli: String,
    pub pane: Option<String>,
    pub state: CliState,
    #[serde(flatten)]
    pub prompt: Prompt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentView {
    pub agent_id: String,
    pub branch: BranchName,
    pub cli: String,
    pub worktree_path: PathBuf,
    pub worktree: WorktreeState,
    pub pane: Option<String>,
    pub state: CliState,
    #[serde(flatten)]
    pub prompt: Prompt,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// Whether somebody is at work in a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CliState {
    /// The session is so young that its shells may not have come to it yet.
    Starting,
    Running,
    /// Only a shell is left in its pane.
    Ended,
    /// It has no pane.
    Absent,
}

/// What became of the words that an agent is started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "prompt", rename_all = "lowercase")]
pub enum Prompt {
    Delivered,
    Pending,
    /// It was tried, and is tried again at the next start.
    Failed {
        prompt_problem: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeState {
    Present,
    /// Its directory is gone.
    Missing,
    /// There is a directory, but it is no worktree.
    NotAWorktree,
    OtherBranch(String),
    Detached,
}

impl std::fmt::Display for WorktreeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Present => f.write_str("present"),
            Self::Missing => f.write_str("missing"),
            Self::NotAWorktree => f.write_str("not a worktree"),
            Self::OtherBranch(branch) => write!(f, "on {branch}"),
            Self::Detached => f.write_str("detached"),
        }
    }
}

impl Session {
    pub fn overview(&self) -> Result<Overview, LifecycleError> {
        let receipt = &self.receipt;
        // While tmux answers, the worktrees are looked at and the broker is asked.
        let (state, worktrees, answering) = thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let state = |agent: &AgentReceipt| worktree_state(&agent.worktree_path, &agent.branch);
                let worktrees: Vec<_> = receipt.worktrees.iter().map(state).collect();
                let asked = receipt.has_broker().then(|| broker::find_answering(&self.repo));
                (worktrees, asked.flatten())
            });
            let state = self.state();
            let (worktrees, answering) = beside.join().unwrap_or_else(|panic| resume_unwind(panic));
            (state, worktrees, answering)
        });
        let (status, seen) = state?;
        let pane = |mark: &str| seen.as_ref().and_then(|seen| seen.find(mark)).map(|pane| pane.id.clone());
        let broker = receipt.has_broker().then(|| BrokerView {
            running: answering.is_some(),
            port: answering.as_deref().and_then(port).or(receipt.broker_port),
            url: answering.or_else(|| receipt.broker_url()),
            pane: pane(DASHBOARD),
        });
        let supervisor = receipt.supervisor.as_ref().map(|supervisor| SupervisorView {
            cli: supervisor.cli.clone(),
            pane: pane(SUPERVISOR),
            state: cli_state(seen.as_ref(), SUPERVISOR),
            prompt: prompt(supervisor.pending_boot_prompt.as_ref(), supervisor.boot_prompt_problem.as_ref()),
        });
        let agent = |((agent, id), worktree): ((&AgentReceipt, AgentId), WorktreeState)| AgentView {
            pane: pane(id.as_str()),
            state: cli_state(seen.as_ref(), id.as_str()),
            agent_id: id.into(),
            branch: agent.branch.clone(),
            cli: agent.cli.clone(),
            worktree,
            worktree_path: agent.worktree_path.clone(),
            prompt: prompt(agent.pending_boot_prompt.as_ref(), agent.boot_prompt_problem.as_ref()),
            spec: agent.spec.clone(),
        };
        Ok(Overview {
            session: receipt.session_name.clone(),
            status,
            recorded: receipt.status,
            tmux_running: seen.is_some(),
            mode: receipt.mode,
            repository: self.repo.root.clone(),
            created_at: receipt.created_at,
            broker,
            supervisor,
            worktrees: receipt.worktrees.iter().zip(receipt.agent_ids()).zip(worktrees).map(agent).collect(),
        })
    }
}

fn port(url: &str) -> Option<u16> {
    paw_broker::endpoint::address(url).map(|address| address.port())
}

fn prompt(pending: Option<&String>, problem: Option<&String>) -> Prompt {
    match (pending, problem) {
        (None, _) => Prompt::Delivered,
        (Some(_), None) => Prompt::Pending,
        (Some(_), Some(problem)) => Prompt::Failed { prompt_problem: problem.clone() },
    }
}

fn cli_state(seen: Option<&Seen>, mark: &str) -> CliState {
    match seen.and_then(|seen| seen.find(mark)) {
        None => CliState::Absent,
        Some(pane) if !pane.is_idle() => CliState::Running,
        Some(pane) if !pane.dead && seen.is_some_and(|seen| is_young(seen, clock::now())) => {
            CliState::Starting
        }
        Some(_) => CliState::Ended,
    }
}

/// A login shell with all its files takes seconds on a busy machine.
const YOUTH: SignedDuration = SignedDuration::from_secs(10);

fn is_young(seen: &Seen, now: Timestamp) -> bool {
    seen.created.is_some_and(|created| now.duration_since(created) < YOUTH)
}

/// Read from git's own files: asking git itself takes longer than everything else together.
fn worktree_state(path: &Path, branch: &BranchName) -> WorktreeState {
    if !path.exists() {
        return WorktreeState::Missing;
    }
    let Some(head) = admin_dir_named_in(path).and_then(|admin| fs::read_to_string(admin.join("HEAD")).ok())
    else {
        return WorktreeState::NotAWorktree;
    };
    match head.trim_end().strip_prefix("ref: refs/heads/") {
        // A repository that keeps its refs in tables does not say it there.
        Some(name) if name == branch.as_str() || name == ".invalid" => WorktreeState::Present,
        Some(other) => WorktreeState::OtherBranch(other.to_owned()),
        None => WorktreeState::Detached,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_in_a_session_of_a_few_seconds_has_not_come_to_its_cli_yet() {
        let born = Timestamp::from_second(100).unwrap();
        let seen = Seen { created: Some(born), ..Seen::default() };
        assert!(is_young(&seen, born) && is_young(&seen, Timestamp::from_second(109).unwrap()));
        assert!(!is_young(&seen, Timestamp::from_second(110).unwrap()));
        assert!(!is_young(&Seen::default(), born));
    }
}
