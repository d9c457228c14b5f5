//! One look at every agent of a session, for whoever asks now: the pane it is in, what that shows, and what it means.

use std::path::PathBuf;

use jiff::Timestamp;
use paw_agent::cli;
use paw_agent::deliver::Look;
use paw_agent::hooks::notes::Notes;
use paw_agent::state::{Known, Sight, Source, State, conclude};
use paw_core::{AgentId, PawError};
use paw_session::lifecycle::Session;

use crate::tower::panes::{self, Glance};

/// An agent as it was at one moment.
#[derive(Debug, Clone)]
pub struct Swept {
    pub id: AgentId,
    pub branch: String,
    pub cli: String,
    pub worktree: PathBuf,
    pub seen: Option<Seen>,
    pub known: Known,
}

/// A pane that is there.
#[derive(Debug, Clone)]
pub struct Seen {
    pub pane: String,
    pub look: Look,
}

impl Swept {
    /// Whether it needs somebody.
    pub fn is_stuck(&self) -> bool {
        match self.known.state {
            State::WaitingApproval(_) | State::WaitingInput | State::RateLimited { .. } | State::Exited => {
                true
            }
            State::Starting | State::Working | State::Idle | State::Unknown => false,
        }
    }

    /// The last rows of its pane, of which at most `rows`.
    pub fn tail(&self, rows: usize) -> String {
        self.seen.as_ref().map(|seen| seen.look.screen.tail(rows)).unwrap_or_default()
    }
}

/// Looks at all agents at the same moment, in the order of the session.
pub fn sweep(session: &Session, now: Timestamp) -> Result<Vec<Swept>, PawError> {
    let receipt = &session.receipt;
    let glance = Glance::take(&session.tmux, receipt)?.unwrap_or_default();
    let agents: Vec<_> = receipt.agent_ids().into_iter().zip(&receipt.worktrees).collect();
    let panes: Vec<_> = agents.iter().map(|(id, agent)| glance.find(id, &agent.worktree_path)).collect();
    let there: Vec<&str> = panes.iter().copied().flatten().collect();
    let mut looks = panes::look(&session.tmux, &there)?;
    let notes = Notes::of(&session.repo.common_dir);
    let swept = agents.into_iter().zip(panes).map(|((id, agent), pane)| {
        let seen = pane.and_then(|pane| Some(Seen { pane: pane.to_owned(), look: looks.remove(pane)? }));
        let known = match &seen {
            Some(seen) => {
                let told = notes.tracker(&id).unwrap_or_default();
                // Nobody has watched: what the screen shows, it may have shown ever since something was told.
                let since = told.heard().map_or(now, |heard| heard.since);
                let sight = Sight { reading: seen.look.read(cli::descriptor(&agent.cli)), since };
                conclude(&seen.look.life(), told.heard(), Some(&sight), now)
            }
            None => gone(now),
        };
        Swept {
            branch: agent.branch.to_string(),
            cli: agent.cli.clone(),
            worktree: agent.worktree_path.clone(),
            id,
            seen,
            known,
        }
    });
    Ok(swept.collect())
}

fn gone(now: Timestamp) -> Known {
    let reason = "it has no pane: the session does not run, or the pane was closed".to_owned();
    Known { state: State::Exited, since: now, source: Source::Process, reason }
}

/// The agent of this id or branch.
pub fn require(swept: Vec<Swept>, name: &str) -> Result<Swept, PawError> {
    let known: Vec<String> = swept.iter().map(|one| one.id.to_string()).collect();
    swept.into_iter().find(|one| one.id.as_str() == name || one.branch == name).ok_or_else(|| {
        PawError::SessionError(format!("the session has no agent '{name}'"))
            .hint(format!("it has {}", known.join(", ")))
    })
}
