//! One look at every agent of a session: its pane, what the pane shows, and what that means.

use std::path::PathBuf;

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::deliver::Look;
use paw_agent::hooks::Heard;
use paw_agent::hooks::notes::Notes;
use paw_agent::screen::Reading;
use paw_agent::state::{Known, Life, Sight, Source, State, conclude};
use paw_core::{AgentId, PawError};
use paw_session::lifecycle::Session;
use paw_view::{AgentState, CliState, StateSource, Observation, SessionView, SessionSnapshot, ViewEvent};

use crate::monitor::panes::{self, PaneList};
use crate::monitor::verdict;

/// An agent as it was at one moment.
#[derive(Debug, Clone)]
pub struct AgentSnapshot {
    pub id: AgentId,
    pub branch: String,
    pub cli: String,
    pub worktree: PathBuf,
    pub pane: Option<CapturedPane>,
    pub known: Known,
}

/// A pane that is there.
#[derive(Debug, Clone)]
pub struct CapturedPane {
    pub id: String,
    pub look: Look,
}

impl AgentSnapshot {
    /// The same as plain data, for a view.
    pub fn observation(&self, now: Timestamp) -> Observation {
        let Known { state, since, source, reason } = &self.known;
        let waits_for = match state {
            State::WaitingApproval(ask) => Some(verdict::describe(ask)),
            _ => None,
        };
        let source = match source {
            Source::Told => StateSource::Hooks,
            Source::Process => StateSource::Process,
            Source::Screen => StateSource::Screen,
            Source::Nothing => StateSource::Nothing,
        };
        let state = AgentState::find(state.name()).unwrap_or(AgentState::Unknown);
        Observation { state, since: *since, at: now, source, reason: reason.clone(), waits_for }
    }

    /// The last rows of its pane, of which at most `rows`.
    pub fn tail(&self, rows: usize) -> String {
        self.pane.as_ref().map(|pane| pane.look.screen.tail(rows)).unwrap_or_default()
    }
}

/// Looks at all agents at the same moment, in the order of the session.
pub fn sweep(session: &Session, now: Timestamp) -> Result<Vec<AgentSnapshot>, PawError> {
    Ok(look(session, now)?.1)
}

/// The session with what its agents are doing, from one look at their panes, hooks and screens.
pub fn load_view(session: &Session, now: Timestamp) -> Result<SessionView, PawError> {
    let (snapshot, swept) = look(session, now)?;
    let mut view = SessionView::new(0);
    view.apply(ViewEvent::Snapshot(Box::new(snapshot)));
    for one in swept {
        let seen = one.observation(now);
        view.apply(ViewEvent::Observed { agent: one.id, seen });
    }
    Ok(view)
}

fn look(session: &Session, now: Timestamp) -> Result<(SessionSnapshot, Vec<AgentSnapshot>), PawError> {
    let mut snapshot = session.snapshot()?;
    find_unmarked(session, &mut snapshot)?;
    let panes: Vec<&str> = snapshot.agents.iter().filter_map(|(_, member)| member.pane.as_deref()).collect();
    let mut looks = panes::look(&session.tmux, &panes)?;
    let notes = Notes::of(&session.repo.common_dir);
    let swept = snapshot.agents.iter().zip(&session.receipt.worktrees).map(|((id, member), agent)| {
        let id = member.pane.clone();
        let pane = id.and_then(|id| Some(CapturedPane { look: looks.remove(&id)?, id }));
        let known = match &pane {
            Some(pane) => {
                let told = notes.tracker(id).unwrap_or_default();
                // Without an earlier look, the screen may show this since the last report of the hooks.
                let since = told.heard().map_or(now, |heard| heard.since);
                let sight = Sight { reading: read(member.process, &pane.look, &agent.cli), since };
                conclude_with(member.process, &pane.look, told.heard(), &sight, now)
            }
            None => gone(now),
        };
        AgentSnapshot {
            id: id.clone(),
            branch: agent.branch.to_string(),
            cli: agent.cli.clone(),
            worktree: agent.worktree_path.clone(),
            pane,
            known,
        }
    });
    let swept = swept.collect();
    Ok((snapshot, swept))
}

/// Old sessions do not mark their panes; those are found by their directory.
fn find_unmarked(session: &Session, snapshot: &mut SessionSnapshot) -> Result<(), PawError> {
    if session.receipt.format != 0 {
        return Ok(());
    }
    let glance = PaneList::take(&session.tmux, &session.receipt)?.unwrap_or_default();
    for ((id, member), agent) in snapshot.agents.iter_mut().zip(&session.receipt.worktrees) {
        let found = || glance.find(id, &agent.worktree_path).map(str::to_owned);
        member.pane = member.pane.take().or_else(found);
    }
    Ok(())
}

/// A shell's prompt on the screen may be the one the CLI was typed into: the process is the better evidence.
fn read(process: Option<CliState>, look: &Look, cli: &str) -> Reading {
    let reading = look.read(cli::descriptor(cli));
    if process == Some(CliState::Running) && reading.state == State::Exited {
        let reason = "it runs, and its screen shows only a shell's prompt".to_owned();
        return Reading { state: State::Unknown, reason, ..reading };
    }
    reading
}

/// Whether the process runs is decided as for `git paw status`: a CLI that is a shell script is not the shell it was
/// typed into, and in a young session that shell has not started it yet.
fn conclude_with(
    process: Option<CliState>,
    look: &Look,
    told: Option<&Heard>,
    sight: &Sight,
    now: Timestamp,
) -> Known {
    let life = match (look.life(), process) {
        (Life::Shell(_), Some(CliState::Running)) => Life::Running,
        (Life::Shell(_), Some(CliState::Starting)) => {
            let reason = "its shell has not started the CLI yet".to_owned();
            return Known { state: State::Starting, since: now, source: Source::Process, reason };
        }
        (life, _) => life,
    };
    conclude(&life, told, Some(sight), now)
}

fn gone(now: Timestamp) -> Known {
    let reason = "it has no pane: the session does not run, or the pane was closed".to_owned();
    Known { state: State::Exited, since: now, source: Source::Process, reason }
}

/// The agent of this id or branch.
pub fn require_agent(swept: Vec<AgentSnapshot>, name: &str) -> Result<AgentSnapshot, PawError> {
    let known: Vec<String> = swept.iter().map(|one| one.id.to_string()).collect();
    swept.into_iter().find(|one| one.id.as_str() == name || one.branch == name).ok_or_else(|| {
        PawError::SessionError(format!("the session has no agent '{name}'"))
            .hint(format!("it has {}", known.join(", ")))
    })
}
