//! Pending prompts in a receipt. Pure.

use paw_core::Receipt;
use paw_core::receipt::PromptProgress;

use crate::panes::SUPERVISOR;

/// A prompt that was not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingPrompt {
    /// The owner of the pane.
    pub(super) mark: String,
    pub(super) cli: String,
    pub(super) text: String,
    pub(super) problem: Option<String>,
    pub(super) progress: Option<PromptProgress>,
}

impl PendingPrompt {
    /// Whether both are the same prompt for the same agent.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.mark, &self.cli, &self.text) == (&other.mark, &other.cli, &other.text)
    }
}

/// A change of a pending prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptChange {
    Progress(PromptProgress),
    Delivered,
    /// Why it is not delivered; `None` if there is no reason to worry any more.
    Problem(Option<String>),
}

pub(super) fn find_pending(receipt: &Receipt) -> Vec<PendingPrompt> {
    let supervisor = receipt.supervisor.iter().filter_map(|it| {
        Some(PendingPrompt {
            mark: SUPERVISOR.to_owned(),
            cli: it.cli.clone(),
            text: it.pending_boot_prompt.clone()?,
            problem: it.boot_prompt_problem.clone(),
            progress: it.boot_prompt_progress,
        })
    });
    let agents = receipt.worktrees.iter().zip(receipt.agent_ids()).filter_map(|(it, id)| {
        Some(PendingPrompt {
            mark: id.to_string(),
            cli: it.cli.clone(),
            text: it.pending_boot_prompt.clone()?,
            problem: it.boot_prompt_problem.clone(),
            progress: it.boot_prompt_progress,
        })
    });
    supervisor.chain(agents).collect()
}

/// Applies a change to the receipt. Returns whether this prompt is still the pending one; another one stays as it is.
pub(super) fn apply(receipt: &mut Receipt, of: &PendingPrompt, change: &PromptChange) -> bool {
    let ids = receipt.agent_ids();
    let (prompt, problem, progress) = if of.mark == SUPERVISOR {
        let Some(it) = &mut receipt.supervisor else { return false };
        (&mut it.pending_boot_prompt, &mut it.boot_prompt_problem, &mut it.boot_prompt_progress)
    } else {
        let Some(at) = ids.iter().position(|id| id.as_str() == of.mark) else { return false };
        let it = &mut receipt.worktrees[at];
        (&mut it.pending_boot_prompt, &mut it.boot_prompt_problem, &mut it.boot_prompt_progress)
    };
    if prompt.as_deref() != Some(of.text.as_str()) {
        return false;
    }
    match change {
        PromptChange::Progress(reached) => *progress = Some(*reached),
        PromptChange::Delivered => (*prompt, *problem, *progress) = (None, None, None),
        PromptChange::Problem(reason) => problem.clone_from(reason),
    }
    true
}

#[cfg(test)]
mod tests {
    use paw_core::receipt::PromptStage;
    use paw_core::{AgentReceipt, BranchName, SessionMode, SessionName, SupervisorReceipt};

    use super::*;

    fn receipt() -> Receipt {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
        receipt.mode = SessionMode::Supervisor;
        receipt.supervisor = Some(SupervisorReceipt {
            cli: "claude".into(),
            pending_boot_prompt: Some("watch".into()),
            ..SupervisorReceipt::default()
        });
        receipt.worktrees = ["feat/a", "feat/b"]
            .map(|branch| AgentReceipt::new(BranchName::new(branch).unwrap(), "/w".into(), "codex"))
            .into();
        receipt.worktrees[1].pending_boot_prompt = Some("begin".into());
        receipt
    }

    #[test]
    fn pending_prompts_are_those_not_delivered_yet() {
        let marks: Vec<_> =
            find_pending(&receipt()).into_iter().map(|one| (one.mark, one.cli, one.text)).collect();
        let expected = [("supervisor", "claude", "watch"), ("feat-b", "codex", "begin")];
        assert_eq!(marks, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn a_delivery_is_recorded_in_the_receipt_with_its_progress_and_its_problem() {
        let mut receipt = receipt();
        let pending = find_pending(&receipt);
        let progress = PromptProgress { stage: PromptStage::Typing, at: receipt.created_at };
        assert!(apply(&mut receipt, &pending[1], &PromptChange::Progress(progress)));
        assert!(apply(&mut receipt, &pending[1], &PromptChange::Problem(Some("a shell is in front".into()))));
        assert_eq!(receipt.worktrees[1].pending_boot_prompt.as_deref(), Some("begin"), "it is retried");
        assert_eq!(receipt.worktrees[1].boot_prompt_problem.as_deref(), Some("a shell is in front"));
        assert_eq!(find_pending(&receipt)[1].progress, Some(progress));
        for one in &pending {
            assert!(apply(&mut receipt, one, &PromptChange::Delivered));
        }
        assert_eq!(find_pending(&receipt), []);
        let agent = &receipt.worktrees[1];
        assert_eq!((&agent.boot_prompt_problem, agent.boot_prompt_progress), (&None, None));
    }

    #[test]
    fn a_prompt_that_was_replaced_during_its_delivery_stays_pending() {
        let mut receipt = receipt();
        let pending = find_pending(&receipt);
        receipt.worktrees[1].pending_boot_prompt = Some("something else".into());
        assert!(!apply(&mut receipt, &pending[1], &PromptChange::Delivered));
        assert_eq!(receipt.worktrees[1].pending_boot_prompt.as_deref(), Some("something else"));
    }
}
