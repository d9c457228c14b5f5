//! Remedies for a stalled agent. They only repeat what the agent was asked to do before.

use std::thread;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::deliver::{DeliveryOptions, PaneSnapshot, deliver};
use paw_agent::state::{AgentActivity, PaneProcess};
use paw_core::{AgentId, Receipt};
use paw_host::tmux::{PasteMode, Tmux};
use paw_session::Receipts;

use crate::stall::Remedy;

const RESUME_PROMPT: &str = "Your rate limit should have reset. Continue where you left off.";
/// How often, and at which interval, to check that a prompt was sent.
const GLANCES: u32 = 20;
const GLANCE: Duration = Duration::from_millis(100);

/// The agent that a remedy is applied to.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemedyTarget<'a> {
    pub(super) id: &'a AgentId,
    pub(super) cli: &'a str,
    pub(super) pane: &'a str,
    /// The text in its input.
    pub(super) typed: Option<&'a str>,
}

/// Whether the text in an agent's input is its boot prompt, whose delivery was given up.
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
    target: RemedyTarget<'_>,
    tmux: &Tmux,
    receipt: &Receipt,
    receipts: &Receipts,
) {
    match remedy {
        Remedy::Send => {
            if send(tmux, target) {
                let (id, session) = (target.id.clone(), receipt.session_name.clone());
                let taken = |receipt: &mut Receipt| {
                    let at = receipt.agent_ids().iter().position(|one| *one == id);
                    if let Some(agent) = at.and_then(|at| receipt.worktrees.get_mut(at)) {
                        agent.pending_boot_prompt = None;
                        agent.boot_prompt_problem = None;
                    }
                };
                let updated = receipts.lock().and_then(|lock| receipts.update(&session, &lock, taken));
                if let Err(error) = updated {
                    tracing::warn!(target: "paw::monitor", "cannot record that the boot prompt was sent: {error}");
                }
            }
        }
        Remedy::Resume => {
            let (tmux, pane, cli) = (tmux.clone(), target.pane.to_owned(), cli::descriptor(target.cli));
            // `deliver` waits until the CLI is idle with an empty input.
            let delivery = thread::Builder::new().name("paw-resume".to_owned()).spawn(move || {
                let patience = DeliveryOptions { ignore_rate_limit: true, ..DeliveryOptions::default() };
                if let Err(error) = deliver(&tmux, &pane, cli, RESUME_PROMPT, patience) {
                    tracing::info!(target: "paw::monitor", "cannot resume the agent: {error}");
                }
            });
            drop(delivery);
        }
    }
}

/// Presses Enter if the input still contains exactly that text. Returns whether the text was sent.
fn send(tmux: &Tmux, target: RemedyTarget<'_>) -> bool {
    let RemedyTarget { cli, pane, typed, .. } = target;
    let is_typed = |look: &PaneSnapshot| {
        let reading = look.read(cli::descriptor(cli));
        look.process() == PaneProcess::Running
            && reading.state == AgentActivity::Idle
            && reading.typed.as_deref() == typed
    };
    let Ok(before) = PaneSnapshot::capture(tmux, pane) else { return false };
    let pressed = typed.is_some()
        && is_typed(&before)
        && tmux.paste_if(pane, &before.condition(), b"\r", PasteMode::Keys).unwrap_or(false);
    pressed
        && (0..GLANCES).any(|_| {
            thread::sleep(GLANCE);
            PaneSnapshot::capture(tmux, pane).is_ok_and(|look| !is_typed(&look))
        })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_core::{AgentReceipt, BranchName, SessionName};

    use super::*;

    #[test]
    fn only_a_boot_prompt_whose_delivery_failed_is_ours() {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH);
        receipt.worktrees.push(AgentReceipt::new(BranchName::new("feat/x").unwrap(), "/w".into(), "claude"));
        receipt.worktrees[0].pending_boot_prompt = Some("Read AGENTS.md and begin.".into());
        let id = AgentId::new("feat-x").unwrap();
        assert!(!is_ours(&receipt, &id, "Read AGENTS.md and begin."), "it is still being delivered");
        receipt.worktrees[0].boot_prompt_problem = Some("the CLI did not take it".into());
        assert!(is_ours(&receipt, &id, "Read AGENTS.md\n and begin."));
        for typed in ["", "begin.", "Read AGENTS.md and begin. rm -rf", "something of mine"] {
            assert!(!is_ours(&receipt, &id, typed), "{typed}");
        }
        assert!(!is_ours(&receipt, &AgentId::new("other").unwrap(), "Read AGENTS.md and begin."));
    }
}
