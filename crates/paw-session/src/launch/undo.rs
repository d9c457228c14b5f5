//! What a start has made so far, and how it is taken back.

use std::path::PathBuf;

use paw_broker::hooks;
use paw_core::{PawError, Receipt, SessionName};
use paw_host::git::Repo;
use paw_host::locks::ExcludeLock;
use paw_worktree::WorktreeCreation;

use super::{Doors, broker, own_files};
use crate::briefing;
use crate::recover::Living;

/// One thing that was made.
#[derive(Debug)]
pub(crate) enum Step {
    Worktree(WorktreeCreation),
    /// Our own files, from git.
    Hidden,
    Receipt(SessionName),
    /// A receipt was written in the place of another one, perhaps under another name.
    ReceiptBefore {
        before: Box<Receipt>,
        now: SessionName,
    },
    Tokens(Receipt),
    Briefings(Receipt),
    Hooks(Vec<PathBuf>),
    Session(Receipt),
}

/// Everything that was made, in order.
#[derive(Debug)]
pub(crate) struct Undo<'a> {
    doors: Doors<'a>,
    repo: &'a Repo,
    steps: Vec<Step>,
}

impl<'a> Undo<'a> {
    pub(crate) fn new(doors: Doors<'a>, repo: &'a Repo) -> Self {
        Self { doors, repo, steps: Vec::new() }
    }

    /// Remembers a step. One that may be half done when it fails is remembered before it is tried.
    pub(crate) fn add(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Takes everything back, the last thing first. What cannot be is said, and the rest goes on.
    pub(crate) fn roll_back(self) {
        for step in self.steps.into_iter().rev() {
            if let Err(error) = take_back(self.doors, self.repo, &step) {
                tracing::warn!(target: "paw::session", "not taken back: {error}");
            }
        }
    }
}

fn take_back(doors: Doors<'_>, repo: &Repo, step: &Step) -> Result<(), PawError> {
    match step {
        Step::Worktree(made) => doors.worktrees.undo_worktree(made),
        Step::Hidden => Ok(own_files::show(&ExcludeLock::wait(&repo.common_dir)?)?),
        Step::Receipt(name) => Ok(doors.receipts.delete(name, &doors.receipts.lock()?)?),
        Step::ReceiptBefore { before, now } => {
            Ok(doors.receipts.replace(now, before, &doors.receipts.lock()?)?)
        }
        Step::Tokens(receipt) => Ok(broker::revoke(repo, receipt)?),
        Step::Briefings(receipt) => {
            let agents = receipt.worktrees.iter().map(|agent| agent.worktree_path.as_path());
            let dirs = agents.filter(|dir| dir.is_dir()).chain([repo.root.as_path()]);
            for dir in dirs {
                briefing::remove(repo, dir)?;
            }
            Ok(())
        }
        Step::Hooks(worktrees) => {
            worktrees.iter().try_for_each(|worktree| Ok(hooks::uninstall(&repo.common_dir, worktree)?))
        }
        // A session of that name may be somebody else's.
        Step::Session(receipt) if Living::load(doors)?.is_marked(receipt) => {
            Ok(doors.tmux.kill_session(&receipt.session_name)?)
        }
        Step::Session(_) => Ok(()),
    }
}
