//! What is tried when an agent does not get on. Only what it was told anyway: nothing new is decided here.

use std::thread;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::deliver::{Look, Patience, deliver};
use paw_agent::state::{Life, State};
use paw_core::{AgentId, Receipt};
use paw_host::tmux::{Paste, Tmux};
use paw_session::Receipts;

use crate::stall::Remedy;

const GO_ON: &str = "Your limit should be over by now. Go on where you were.";
/// How long a prompt may take to be taken.
const GLANCES: u32 = 20;
const GLANCE: Duration = Duration::from_millis(100);

/// An agent and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patient<'a> {
    pub(super) id: &'a AgentId,
    pub(super) cli: &'a str,
    pub(super) pane: &'a str,
    /// What stands in its input.
    pub(super) typed: Option<&'a str>,
}

/// Whether what stands in an agent's input is the prompt that it still has to be told, and nobody is at it any more.
pub(super) fn is_ours(receipt: &Receipt, id: &AgentId, typed: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    let ids = receipt.agent_ids();
    let agent = ids.iter().position(|one| one == id).map(|at| &receipt.worktrees[at]);
    let Some(agent) = agent.filter(|agent| agent.boot_prompt_problem.is_some()) else { return false };
    let prompt = agent.pending_boot_prompt.as_deref().map(letters).unwrap_or_default();
    let typed = letters(typed);
    typed.len() >= 8 && prompt.ends_with(&typed)
}

pub(super) fn apply(
    remedy: Remedy,
    patient: Patient<'_>,
    tmux: &Tmux,
    receipt: &Receipt,
    receipts: &Receipts,
) {
    match remedy {
        Remedy::Send => {
            if send(tmux, patient) {
                let (id, session) = (patient.id.clone(), receipt.session_name.clone());
                let taken = |receipt: &mut Receipt| {
                    let at = receipt.agent_ids().iter().position(|one| *one == id);
                    if let Some(agent) = at.and_then(|at| receipt.worktrees.get_mut(at)) {
                        agent.pending_boot_prompt = None;
                        agent.boot_prompt_problem = None;
                    }
                };
                let told = receipts.lock().and_then(|lock| receipts.update(&session, &lock, taken));
                if let Err(error) = told {
                    tracing::warn!(target: "paw::tower", "what became of a prompt is not written down: {error}");
                }
            }
        }
        Remedy::GoOn => {
            let (tmux, pane, cli) = (tmux.clone(), patient.pane.to_owned(), cli::descriptor(patient.cli));
            // It waits until the CLI listens: an input that is empty, and nothing under way.
            let delivery = thread::Builder::new().name("paw-go-on".to_owned()).spawn(move || {
                let patience = Patience { past_limit: true, ..Patience::default() };
                if let Err(error) = deliver(&tmux, &pane, cli, GO_ON, patience) {
                    tracing::info!(target: "paw::tower", "not told to go on: {error}");
                }
            });
            drop(delivery);
        }
    }
}

/// Presses Enter if the input still holds exactly that text. Says whether the text has left it.
fn send(tmux: &Tmux, patient: Patient<'_>) -> bool {
    let Patient { cli, pane, typed, .. } = patient;
    let is_typed = |look: &Look| {
        let reading = look.read(cli::descriptor(cli));
        look.life() == Life::Running && reading.state == State::Idle && reading.typed.as_deref() == typed
    };
    let Ok(before) = Look::take(tmux, pane) else { return false };
    let pressed = typed.is_some()
        && is_typed(&before)
        && tmux.paste_if(pane, &before.condition(), b"\r", Paste::Keys).unwrap_or(false);
    pressed
        && (0..GLANCES).any(|_| {
            thread::sleep(GLANCE);
            Look::take(tmux, pane).is_ok_and(|look| !is_typed(&look))
        })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_core::{AgentReceipt, BranchName, SessionName};

    use super::*;

    #[test]
    fn only_the_prompt_that_was_given_up_on_is_ours() {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH);
        receipt.worktrees.push(AgentReceipt::new(BranchName::new("feat/x").unwrap(), "/w".into(), "claude"));
        receipt.worktrees[0].pending_boot_prompt = Some("Read AGENTS.md and begin.".into());
        let id = AgentId::new("feat-x").unwrap();
        assert!(!is_ours(&receipt, &id, "Read AGENTS.md and begin."), "somebody is still at it");
        receipt.worktrees[0].boot_prompt_problem = Some("the CLI did not take it".into());
        assert!(is_ours(&receipt, &id, "Read AGENTS.md\n and begin."));
        for typed in ["", "begin.", "Read AGENTS.md and begin. rm -rf", "something of mine"] {
            assert!(!is_ours(&receipt, &id, typed), "{typed}");
        }
        assert!(!is_ours(&receipt, &AgentId::new("nobody").unwrap(), "Read AGENTS.md and begin."));
    }
}
