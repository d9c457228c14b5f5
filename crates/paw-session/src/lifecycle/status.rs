//! The state of a session as a view: its receipt compared with tmux, the disk and the broker.

use std::collections::BTreeMap;
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use jiff::{SignedDuration, Timestamp};
use paw_broker::SessionId;
use paw_core::paths::PawDir;
use paw_core::receipt::RemoteAgentReceipt;
use paw_core::{AgentId, AgentReceipt, BranchName, HostName, Receipt};
use paw_host::clock;
use paw_host::files;
use paw_host::git::find_linked_admin_dir;
use paw_view::{
    AgentState, BrokerView, CliState, HostReach, MemberHost, Observation, PromptDelivery, SessionFacts,
    SessionMember, SessionMembers, SessionSnapshot, SessionView, StateSource, SupervisorView, ViewEvent,
    WorktreeState,
};

use super::window::{PaneActivity, TmuxWindow};
use super::{LifecycleError, Session};
use crate::messages;
use crate::panes::{DASHBOARD, SUPERVISOR};

/// The agents of a session, as far as the receipt knows them.
pub fn members(receipt: &Receipt) -> SessionMembers {
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids());
    let member = |agent: &AgentReceipt| SessionMember {
        prompt: Some(prompt(agent.pending_boot_prompt.as_ref(), agent.boot_prompt_problem.as_ref())),
        ..SessionMember::new(agent.branch.clone(), agent.cli.clone())
    };
    agents.map(|(agent, id)| (id, member(agent))).collect()
}

/// The supervisor of a session, as far as the receipt knows it.
pub fn supervisor(receipt: &Receipt) -> Option<SupervisorView> {
    receipt.supervisor.as_ref().map(|supervisor| SupervisorView {
        cli: supervisor.cli.clone(),
        pane: None,
        state: CliState::Absent,
        prompt: prompt(supervisor.pending_boot_prompt.as_ref(), supervisor.boot_prompt_problem.as_ref()),
    })
}

impl Session {
    /// The session without its messages.
    pub fn view(&self) -> Result<SessionView, LifecycleError> {
        let mut view = SessionView::new(0);
        view.apply(ViewEvent::Snapshot(Box::new(self.snapshot()?)));
        Ok(view)
    }

    /// Adds the state that its messages contain. If the log cannot be read, the rest of the view is still shown.
    pub fn add_messages(&self, view: &mut SessionView) {
        let session = SessionId::new(&self.receipt.session_id());
        let listed: Vec<_> = view.agents.iter().filter(|agent| agent.member.is_some()).cloned().collect();
        if let Err(error) = messages::load(&self.repo.common_dir, Some(&session), view) {
            tracing::warn!(target: "paw::session", "cannot read the messages: {error}");
        }
        // An agent that was removed and added again has said farewell before.
        for (place, agent) in listed.into_iter().enumerate() {
            match view.agents.iter_mut().find(|known| known.id == agent.id) {
                Some(known) => known.member = known.member.take().or(agent.member),
                None => view.agents.insert(place.min(view.agents.len()), agent),
            }
        }
    }

    /// Compares the receipt with tmux, the disk and the broker, without running git.
    pub fn snapshot(&self) -> Result<SessionSnapshot, LifecycleError> {
        let receipt = &self.receipt;
        // Checks the worktrees and the broker while waiting for tmux.
        let (state, worktrees, broker) = thread::scope(|scope| {
            let others = scope.spawn(|| {
                let state = |agent: &AgentReceipt| worktree_state(&agent.worktree_path, &agent.branch);
                let worktrees: Vec<_> = receipt.worktrees.iter().map(state).collect();
                (worktrees, receipt.has_broker().then(|| self.broker_view()))
            });
            let state = self.state();
            let (worktrees, broker) = others.join().unwrap_or_else(|panic| resume_unwind(panic));
            (state, worktrees, broker)
        });
        let (status, window) = state?;
        // A process that has died no longer updates what it noted at the panes.
        let is_watched = self.is_process_running().unwrap_or(false);
        let pane = |mark: &str| {
            window.as_ref().and_then(|window| window.find_pane(mark)).map(|pane| pane.id.clone())
        };
        let broker = broker.map(|broker| BrokerView { pane: pane(DASHBOARD), ..broker });
        let supervisor = supervisor(receipt).map(|supervisor| SupervisorView {
            pane: pane(SUPERVISOR),
            state: cli_state(window.as_ref(), SUPERVISOR, is_watched),
            ..supervisor
        });
        let agent = |((agent, (id, member)), worktree): (
            (&AgentReceipt, (AgentId, SessionMember)),
            WorktreeState,
        )| {
            let member = SessionMember {
                worktree_path: Some(agent.worktree_path.clone()),
                worktree: Some(worktree),
                pane: pane(id.as_str()),
                process: Some(cli_state(window.as_ref(), id.as_str(), is_watched)),
                spec: agent.spec.clone(),
                ..member
            };
            (id, member)
        };
        let session = SessionFacts {
            session: receipt.session_name.to_string(),
            repository: self.repo.root.clone(),
            status: Some(status),
            recorded: Some(receipt.status),
            tmux_running: Some(window.is_some()),
            mode: Some(receipt.mode),
            created_at: Some(receipt.created_at),
            broker,
        };
        let agents = receipt.worktrees.iter().zip(members(receipt)).zip(worktrees).map(agent);
        let agents = agents.chain(self.remote_members()).collect();
        let observed = window.filter(|_| is_watched).map(|window| observations(&window, receipt));
        Ok(SessionSnapshot { session, supervisor, agents, observed: observed.unwrap_or_default() })
    }
}

impl Session {
    /// Since when another machine of the session cannot be reached.
    pub fn unreachable_since(&self, host: &HostName) -> Option<Timestamp> {
        let reach = self.load_reaches().remove(host)?;
        (!reach.is_reachable).then_some(reach.since)
    }

    fn load_reaches(&self) -> BTreeMap<HostName, HostReach> {
        let reaches = files::load_text(&PawDir::of(&self.repo.common_dir).hosts()).ok().flatten();
        reaches.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// The agents on other machines. Only their messages say what they do.
    fn remote_members(&self) -> SessionMembers {
        let agents = self.receipt.remote_agents();
        if agents.is_empty() {
            return Vec::new();
        }
        let reaches = self.load_reaches();
        let member = |agent: &RemoteAgentReceipt| {
            let host = MemberHost { name: agent.host.clone(), reach: reaches.get(&agent.host).cloned() };
            let member = SessionMember::new(agent.branch.clone(), agent.cli.clone());
            let spec = agent.spec.clone();
            (agent.agent_id.clone(), SessionMember { host: Some(host), spec, ..member })
        };
        agents.iter().map(member).collect()
    }
}

/// What the session's process noted at the panes.
fn observations(window: &TmuxWindow, receipt: &Receipt) -> Vec<(AgentId, Observation)> {
    let observed = |id: AgentId| {
        let PaneActivity { state, since, need } = window.find_pane(id.as_str())?.activity.clone()?;
        let waits_for = need.clone().filter(|_| state == AgentState::WaitingApproval);
        let (source, reason) = (StateSource::Messages, need.unwrap_or_default());
        Some((id, Observation { state, since, at: since, source, reason, waits_for }))
    };
    let supervisor = receipt.supervisor.as_ref().map(|_| AgentId::supervisor());
    receipt.agent_ids().into_iter().chain(supervisor).filter_map(observed).collect()
}

fn prompt(pending: Option<&String>, problem: Option<&String>) -> PromptDelivery {
    match (pending, problem) {
        (None, _) => PromptDelivery::Delivered,
        (Some(_), None) => PromptDelivery::Pending,
        (Some(_), Some(problem)) => PromptDelivery::Failed { prompt_problem: problem.clone() },
    }
}

fn cli_state(window: Option<&TmuxWindow>, mark: &str, is_watched: bool) -> CliState {
    let Some((window, pane)) = window.and_then(|window| Some((window, window.find_pane(mark)?))) else {
        return CliState::Absent;
    };
    if !pane.is_idle() {
        return CliState::Running;
    }
    // The session's process has not seen the CLI of a new pane yet.
    let seen = pane.activity.as_ref().map(|activity| activity.state);
    let is_new = is_watched && matches!(seen, None | Some(AgentState::Starting));
    if !pane.dead && (is_new || is_starting(window, clock::now())) {
        CliState::Starting
    } else {
        CliState::Ended
    }
}

/// A login shell can take seconds to start on a busy machine.
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(10);

fn is_starting(window: &TmuxWindow, now: Timestamp) -> bool {
    window.created.is_some_and(|created| now.duration_since(created) < STARTUP_GRACE)
}

/// Reads git's files directly, because running git takes longer than all other checks together.
fn worktree_state(path: &Path, branch: &BranchName) -> WorktreeState {
    if !path.exists() {
        return WorktreeState::Missing;
    }
    let Some(head) =
        find_linked_admin_dir(path).and_then(|admin| fs::read_to_string(admin.join("HEAD")).ok())
    else {
        return WorktreeState::NotAWorktree;
    };
    match head.trim_end().strip_prefix("ref: refs/heads/") {
        // With the reftable format, HEAD does not contain the branch.
        Some(name) if name == branch.as_str() || name == ".invalid" => WorktreeState::Present,
        Some(other) => WorktreeState::OtherBranch(other.to_owned()),
        None => WorktreeState::Detached,
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::WindowPane;
    use super::*;

    #[test]
    fn new_agent_of_an_old_session_is_starting_until_its_cli_was_seen() {
        let pane = |activity: Option<AgentState>| {
            let since = Timestamp::UNIX_EPOCH;
            let activity = activity.map(|state| PaneActivity { state, since, need: None });
            let window =
                TmuxWindow { panes: vec![WindowPane::shell("feat-x", activity)], ..TmuxWindow::default() };
            move |is_watched| cli_state(Some(&window), "feat-x", is_watched)
        };
        assert_eq!([pane(None)(true), pane(Some(AgentState::Starting))(true)], [CliState::Starting; 2]);
        assert_eq!([pane(Some(AgentState::Idle))(true), pane(None)(false)], [CliState::Ended; 2]);
    }

    #[test]
    fn cli_counts_as_starting_in_the_first_ten_seconds_of_a_session() {
        let born = Timestamp::from_second(100).unwrap();
        let window = TmuxWindow { created: Some(born), ..TmuxWindow::default() };
        assert!(is_starting(&window, born) && is_starting(&window, Timestamp::from_second(109).unwrap()));
        assert!(!is_starting(&window, Timestamp::from_second(110).unwrap()));
        assert!(!is_starting(&TmuxWindow::default(), born));
    }
}
