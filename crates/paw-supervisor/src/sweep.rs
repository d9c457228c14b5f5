//! A snapshot of every agent of a session: its pane, what the pane shows, and the state that follows from it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::deliver::PaneSnapshot;
use paw_agent::hooks::ReportedState;
use paw_agent::hooks::notes::HookNotes;
use paw_agent::screen::{ApprovalSubject, ScreenReading};
use paw_agent::state::{
    AgentActivity, ObservationSource, ObservedState, PaneProcess, ScreenObservation, infer_state,
};
use paw_core::receipt::find_agent;
use paw_core::{AgentId, PawError};
use paw_session::lifecycle::Session;
use paw_view::{AgentState, CliState, Observation, SessionSnapshot, SessionView, StateSource, ViewEvent};

use crate::monitor::panes::PaneList;
use crate::monitor::verdict;

/// One agent at one moment.
#[derive(Debug, Clone)]
pub struct AgentSnapshot {
    pub id: AgentId,
    pub branch: String,
    pub cli: String,
    pub worktree: PathBuf,
    pub pane: Option<CapturedPane>,
    pub known: ObservedState,
}

/// A pane and its captured content.
#[derive(Debug, Clone)]
pub struct CapturedPane {
    pub id: String,
    pub look: PaneSnapshot,
}

impl AgentSnapshot {
    /// The snapshot as plain data for a [`SessionView`].
    pub fn observation(&self, now: Timestamp) -> Observation {
        observe(&self.known, now)
    }

    /// Whether its state is known, and its prompt could be read whole.
    pub fn is_readable(&self) -> bool {
        match &self.known.state {
            AgentActivity::Unknown => false,
            // It may be a pane that is too small.
            AgentActivity::Starting => {
                self.pane.as_ref().is_none_or(|pane| !pane.look.screen.rows().is_empty())
            }
            AgentActivity::WaitingApproval(ask) => !matches!(ask.subject, ApprovalSubject::Unreadable(_)),
            _ => true,
        }
    }

    /// The last `rows` rows of its pane.
    pub fn tail(&self, rows: usize) -> String {
        self.pane.as_ref().map(|pane| pane.look.screen.tail(rows)).unwrap_or_default()
    }
}

/// A state as plain data for a [`SessionView`].
pub(crate) fn observe(known: &ObservedState, now: Timestamp) -> Observation {
    let ObservedState { state, since, source, reason } = known;
    let waits_for = match state {
        AgentActivity::WaitingApproval(ask) => Some(verdict::describe(ask)),
        _ => None,
    };
    let source = match source {
        ObservationSource::Hooks => StateSource::Hooks,
        ObservationSource::Process => StateSource::Process,
        ObservationSource::Screen => StateSource::Screen,
        ObservationSource::Nothing => StateSource::Nothing,
    };
    let state = AgentState::find(state.name()).unwrap_or(AgentState::Unknown);
    Observation { state, since: *since, at: now, source, reason: reason.clone(), waits_for }
}

/// Captures all agents at the same moment, in the order of the session.
pub fn sweep(session: &Session, now: Timestamp) -> Result<Vec<AgentSnapshot>, PawError> {
    Ok(capture(session, now)?.agents)
}

/// Captures the agent that `name` means, or the supervisor.
pub fn find(session: &Session, name: &str, now: Timestamp) -> Result<AgentSnapshot, PawError> {
    let SessionCapture { agents, supervisor, .. } = capture(session, now)?;
    match supervisor.filter(|_| name == AgentId::SUPERVISOR) {
        Some(supervisor) => Ok(supervisor),
        None => require_agent(agents, name),
    }
}

/// The session with the state of its agents, from one capture of their panes and hooks. The session's process reads a pane that
/// is too narrow in a wide window, so what it has noted counts where the pane itself cannot be read.
pub fn load_view(session: &Session, now: Timestamp) -> Result<SessionView, PawError> {
    let SessionCapture { snapshot, agents, supervisor } = capture(session, now)?;
    let noted: BTreeMap<AgentId, AgentState> =
        snapshot.observed.iter().map(|(id, seen)| (id.clone(), seen.state)).collect();
    let mut view = SessionView::new(0);
    view.apply(ViewEvent::Snapshot(Box::new(snapshot)));
    let supervisor = supervisor.filter(|supervisor| supervisor.pane.is_some());
    let is_news = |one: &AgentSnapshot| match noted.get(&one.id) {
        Some(AgentState::Unknown) => one.is_readable() || one.known.state == AgentActivity::Unknown,
        Some(_) => one.is_readable(),
        None => true,
    };
    for one in agents.into_iter().chain(supervisor).filter(is_news) {
        let seen = one.observation(now);
        view.apply(ViewEvent::Observed { agent: one.id, seen });
    }
    Ok(view)
}

/// A session with everything its panes show, at one moment.
struct SessionCapture {
    snapshot: SessionSnapshot,
    agents: Vec<AgentSnapshot>,
    supervisor: Option<AgentSnapshot>,
}

/// One whose pane is captured.
struct PaneOwner {
    id: AgentId,
    branch: String,
    cli: String,
    worktree: PathBuf,
    pane: Option<String>,
    process: Option<CliState>,
}

fn capture(session: &Session, now: Timestamp) -> Result<SessionCapture, PawError> {
    let mut snapshot = session.snapshot()?;
    find_unmarked(session, &mut snapshot)?;
    let agents = snapshot.agents.iter().zip(&session.receipt.worktrees);
    let agents = agents.map(|((id, member), agent)| PaneOwner {
        id: id.clone(),
        branch: agent.branch.to_string(),
        cli: agent.cli.clone(),
        worktree: agent.worktree_path.clone(),
        pane: member.pane.clone(),
        process: member.process,
    });
    let supervisor = snapshot.supervisor.as_ref().map(|supervisor| PaneOwner {
        id: AgentId::supervisor(),
        branch: String::new(),
        cli: supervisor.cli.clone(),
        worktree: session.repo.root.clone(),
        pane: supervisor.pane.clone(),
        process: Some(supervisor.state),
    });
    let (agents, has_supervisor) =
        (agents.chain(supervisor).collect::<Vec<_>>(), snapshot.supervisor.is_some());
    let panes: Vec<&str> = agents.iter().filter_map(|agent| agent.pane.as_deref()).collect();
    let mut looks = PaneSnapshot::capture_all(&session.tmux, &panes)?;
    let notes = HookNotes::of(&session.repo.common_dir);
    let mut agents: Vec<_> =
        agents.into_iter().map(|owner| owner.conclude(&mut looks, &notes, now)).collect();
    let supervisor = if has_supervisor { agents.pop() } else { None };
    Ok(SessionCapture { snapshot, agents, supervisor })
}

impl PaneOwner {
    /// What it does, by its hooks and its pane.
    fn conclude(
        self,
        looks: &mut BTreeMap<String, PaneSnapshot>,
        notes: &HookNotes,
        now: Timestamp,
    ) -> AgentSnapshot {
        let Self { id, branch, cli, worktree, pane, process } = self;
        let pane = pane.and_then(|id| Some(CapturedPane { look: looks.remove(&id)?, id }));
        let known = match &pane {
            Some(pane) => {
                let reported = notes.tracker(&id).unwrap_or_default();
                // Without an earlier capture, assume the screen has shown this since the last hook event.
                let since = reported.state().map_or(now, |state| state.since);
                let sight = ScreenObservation { reading: read(process, &pane.look, &cli), since };
                conclude_with(process, &pane.look, reported.state(), &sight, now)
            }
            None => gone(now),
        };
        AgentSnapshot { id, branch, cli, worktree, pane, known }
    }
}

/// Sessions in the old format do not mark their panes, so panes are matched by directory.
fn find_unmarked(session: &Session, snapshot: &mut SessionSnapshot) -> Result<(), PawError> {
    if session.receipt.format != 0 {
        return Ok(());
    }
    let panes = PaneList::load(&session.tmux, &session.receipt)?.unwrap_or_default();
    for ((id, member), agent) in snapshot.agents.iter_mut().zip(&session.receipt.worktrees) {
        let found = || panes.find(id, &agent.worktree_path).map(str::to_owned);
        member.pane = member.pane.take().or_else(found);
    }
    Ok(())
}

/// A shell prompt on the screen may be the one the CLI was started from, so a running process wins.
fn read(process: Option<CliState>, look: &PaneSnapshot, cli: &str) -> ScreenReading {
    let reading = look.read(cli::descriptor(cli));
    if process == Some(CliState::Running) && reading.state == AgentActivity::Exited {
        let reason = "the CLI is running, but its screen shows only a shell prompt".to_owned();
        return ScreenReading { state: AgentActivity::Unknown, reason, ..reading };
    }
    reading
}

/// Decides whether the process is running in the same way as `git paw status`: a CLI that is a shell script differs from
/// the shell it was started from, and in a new session the shell may not have started the CLI yet.
fn conclude_with(
    process: Option<CliState>,
    look: &PaneSnapshot,
    reported: Option<&ReportedState>,
    sight: &ScreenObservation,
    now: Timestamp,
) -> ObservedState {
    let life = match (look.process(), process) {
        (PaneProcess::Shell(_), Some(CliState::Running)) => PaneProcess::Running,
        (PaneProcess::Shell(_), Some(CliState::Starting)) => {
            let reason = "the shell has not started the CLI yet".to_owned();
            return ObservedState {
                state: AgentActivity::Starting,
                since: now,
                source: ObservationSource::Process,
                reason,
            };
        }
        (life, _) => life,
    };
    infer_state(&life, reported, Some(sight), now)
}

fn gone(now: Timestamp) -> ObservedState {
    let reason = "no pane: the session is not running, or the pane was closed".to_owned();
    ObservedState { state: AgentActivity::Exited, since: now, source: ObservationSource::Process, reason }
}

/// Finds an agent by id, branch or a unique prefix.
pub fn require_agent(mut swept: Vec<AgentSnapshot>, name: &str) -> Result<AgentSnapshot, PawError> {
    let names: Vec<_> = swept.iter().map(|one| (one.id.as_str(), one.branch.as_str())).collect();
    let index = find_agent(name, &names)?;
    Ok(swept.swap_remove(index))
}
