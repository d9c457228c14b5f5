//! Compares every pair of tasks, with all committed and uncommitted changes in their worktrees.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use paw_broker::conflict::{AgentPair, FileConflict, MergeCheckResult, MergeChecker, MergeQuery};
use paw_broker::watch::WatchSettings;
use paw_host::git::{ScratchError, ScratchRepo, WorktreeSnapshotter};

use super::TaskAgent;
use super::conflict::{Mergeability, TaskConflict, are_related};
use crate::tasks::TaskId;
use crate::work::snapshot::is_own_file;

/// One task's changes, and the changed files.
struct TaskWork<'a> {
    task: &'a TaskAgent,
    work: String,
    files: BTreeSet<String>,
}

pub(super) fn all_pairs(
    agents: &[TaskAgent],
    worktrees: &[(TaskId, PathBuf)],
    settings: &WatchSettings,
) -> Result<Vec<TaskConflict>, ScratchError> {
    let there: Vec<(&TaskAgent, &PathBuf)> = agents
        .iter()
        .filter_map(|agent| Some((agent, &worktrees.iter().find(|(task, _)| *task == agent.task)?.1)))
        .filter(|(_, worktree)| worktree.is_dir())
        .collect();
    if there.len() < 2 {
        return Ok(Vec::new());
    }
    let scratch = Arc::new(ScratchRepo::open(&settings.common_dir, &settings.scratch_dir)?);
    let mut works = Vec::new();
    for (task, worktree) in there {
        let excluded = settings.excluded.clone();
        let mut snapshot =
            WorktreeSnapshotter::new(Arc::clone(&scratch), task.agent.as_str(), worktree, excluded)?;
        let taken = snapshot.take_whole(&settings.bases)?;
        let files = taken.changed.iter().filter(|path| !is_own_file(path));
        let files = files.map(|path| path.to_string_lossy().into_owned()).collect();
        works.push(TaskWork { task, work: taken.work, files });
    }
    let pairs: Vec<(&TaskWork<'_>, &TaskWork<'_>)> = works
        .iter()
        .enumerate()
        .flat_map(|(at, one)| works[at + 1..].iter().map(move |other| (one, other)))
        .filter(|(one, other)| !one.files.is_disjoint(&other.files))
        .collect();
    let asks: Vec<MergeQuery> = pairs.iter().map(|(one, other)| ask(one, other)).collect();
    let verdicts = MergeChecker::default().check(&scratch, &asks);
    let found =
        pairs.iter().zip(&verdicts).flat_map(|((one, other), verdict)| find_conflicts(one, other, verdict));
    Ok(found.collect())
}

/// In plan order, so that the first line ranges belong to the first task.
fn ask(one: &TaskWork<'_>, other: &TaskWork<'_>) -> MergeQuery {
    let pair = AgentPair { first: one.task.agent.clone(), second: other.task.agent.clone() };
    MergeQuery { pair, works: (one.work.clone(), other.work.clone()) }
}

fn find_conflicts(one: &TaskWork<'_>, other: &TaskWork<'_>, verdict: &MergeCheckResult) -> Vec<TaskConflict> {
    let related = are_related(one.task, other.task);
    let fits = |path: &str| match verdict {
        MergeCheckResult::Clean => Mergeability::Yes,
        MergeCheckResult::Unknown => Mergeability::Unknown,
        MergeCheckResult::Conflict(clashes) => match clashes.iter().find(|clash| clash.path == path) {
            Some(FileConflict { first, second, .. }) => {
                Mergeability::No { own: first.clone(), others: second.clone() }
            }
            None => Mergeability::Yes,
        },
    };
    let shared = one.files.intersection(&other.files).map(|path| TaskConflict {
        task: one.task.task.to_string(),
        other: format!("task {}", other.task.task),
        path: path.clone(),
        fits: fits(path),
    });
    // Changes that both inherited from a common dependency are not a conflict.
    shared.filter(|conflict| !(related && conflict.fits == Mergeability::Yes)).collect()
}
