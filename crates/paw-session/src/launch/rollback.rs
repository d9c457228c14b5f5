//! The completed steps of a start, and how to undo them.

use std::path::PathBuf;

use paw_broker::hooks;
use paw_core::{PawError, Receipt, SessionName};
use paw_host::git::Repo;
use paw_host::locks::ExcludeLock;
use paw_worktree::WorktreeCreation;

use super::{LaunchServices, broker, exclude_rules};
use crate::briefing;
use crate::recover::RunningSessions;
use crate::session_process;

/// One completed step.
#[derive(Debug)]
pub(crate) enum RollbackStep {
    Worktree(WorktreeCreation),
    /// Our rules in `info/exclude`.
    ExcludeRules,
    Receipt(SessionName),
    /// The receipt `before` was replaced, perhaps under a new name.
    ReceiptBefore {
        before: Box<Receipt>,
        now: SessionName,
    },
    Tokens(Receipt),
    Briefings(Receipt),
    Hooks(Vec<PathBuf>),
    Session(Receipt),
    /// The session's process.
    Process,
}

/// The completed steps, in order.
#[derive(Debug)]
pub(crate) struct Rollback<'a> {
    services: LaunchServices<'a>,
    repo: &'a Repo,
    steps: Vec<RollbackStep>,
}

impl<'a> Rollback<'a> {
    pub(crate) fn new(services: LaunchServices<'a>, repo: &'a Repo) -> Self {
        Self { services, repo, steps: Vec::new() }
    }

    /// Records a step. A step that can fail halfway is recorded before it runs.
    pub(crate) fn add(&mut self, step: RollbackStep) {
        self.steps.push(step);
    }

    /// Undoes every step, last one first. Logs failures and continues.
    pub(crate) fn run(self) {
        for step in self.steps.into_iter().rev() {
            if let Err(error) = undo_step(self.services, self.repo, &step) {
                tracing::warn!(target: "paw::session", "rollback failed: {error}");
            }
        }
    }
}

fn undo_step(services: LaunchServices<'_>, repo: &Repo, step: &RollbackStep) -> Result<(), PawError> {
    match step {
        RollbackStep::Worktree(made) => services.worktrees.undo_worktree(made),
        RollbackStep::ExcludeRules => Ok(exclude_rules::remove(&ExcludeLock::wait(&repo.common_dir)?)?),
        RollbackStep::Receipt(name) => Ok(services.receipts.delete(name, &services.receipts.lock()?)?),
        RollbackStep::ReceiptBefore { before, now } => {
            Ok(services.receipts.replace(now, before, &services.receipts.lock()?)?)
        }
        RollbackStep::Tokens(receipt) => Ok(broker::revoke(repo, receipt)?),
        RollbackStep::Briefings(receipt) => {
            let agents = receipt.worktrees.iter().map(|agent| agent.worktree_path.as_path());
            let dirs = agents.filter(|dir| dir.is_dir()).chain([repo.root.as_path()]);
            for dir in dirs {
                briefing::remove(repo, dir)?;
            }
            Ok(())
        }
        RollbackStep::Hooks(worktrees) => {
            worktrees.iter().try_for_each(|worktree| Ok(hooks::uninstall(&repo.common_dir, worktree)?))
        }
        // Another program may own a session of that name.
        RollbackStep::Session(receipt) => {
            let running = RunningSessions::load(services.tmux)?;
            let ours = running.find_marked(receipt);
            ours.map_or(Ok(()), |ours| Ok(services.tmux.kill_target(&ours.target())?))
        }
        RollbackStep::Process => {
            session_process::end(repo);
            Ok(())
        }
    }
}
