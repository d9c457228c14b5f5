//! PaneBuilder new worktrees ready before an agent gets them.

use std::sync::Mutex;
use std::thread;

use paw_core::Diagnostic as _;
use paw_worktree::{CreatedWorktree, Preparation, WorktreeCreation, Worktrees};

use super::LaunchProgress;
use crate::plan::SessionPlan;

/// How many setups run at the same time.
const PARALLEL_SETUPS: usize = 4;

/// Runs the setup of every new worktree. A failed setup is only reported, because the agent may be able to fix it.
pub(crate) fn prepare(
    worktrees: &Worktrees,
    plan: &SessionPlan,
    made: &[WorktreeCreation],
    preparation: &Preparation,
    on_progress: &(dyn Fn(LaunchProgress) + Sync),
) -> Vec<String> {
    if preparation.copy.is_empty() && preparation.setup.is_empty() {
        return Vec::new();
    }
    let fresh: Vec<_> = made.iter().zip(&plan.agents).filter(|(made, _)| !made.resumed).collect();
    let waiting = Mutex::new(fresh.into_iter());
    let notes = Mutex::new(Vec::new());
    let next = || waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..PARALLEL_SETUPS {
            scope.spawn(|| {
                while let Some((made, agent)) = next() {
                    let branch = agent.branch.to_string();
                    let on_line = |line: &str| {
                        on_progress(LaunchProgress::Setup { branch: branch.clone(), line: line.to_owned() });
                    };
                    let found = prepare_one(worktrees, plan, made, preparation, on_line);
                    let found = found.into_iter().map(|note| format!("{branch}: {note}"));
                    notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    notes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn prepare_one(
    worktrees: &Worktrees,
    plan: &SessionPlan,
    made: &WorktreeCreation,
    preparation: &Preparation,
    on_line: impl FnMut(&str),
) -> Vec<String> {
    let row = match worktrees.registry().find(&made.id) {
        Ok(Some(row)) => row,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![error.report().to_string()],
    };
    let created = CreatedWorktree { worktree: row, repo: plan.repo.clone(), notes: Vec::new() };
    match worktrees.prepare(&created, preparation, on_line) {
        Ok(prepared) => {
            let setup = prepared.setup.problem().map(|problem| problem.to_string());
            prepared.notes.into_iter().chain(setup).collect()
        }
        Err(error) => vec![error.report().to_string()],
    }
}
