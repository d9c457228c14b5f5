//! Every pair of tasks once, with everything they have in their worktrees, committed or not.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use paw_broker::conflict::{AgentPair, FileConflict, MergeCheckResult, MergeChecker, MergeQuery};
use paw_broker::watch::WatchSettings;
use paw_host::git::{ScratchError, ScratchRepo, WorktreeSnapshotter};

use super::TaskAgent;
use super::collision::{Collision, Fits, are_related};
use crate::tasks::TaskId;
use crate::work::seen::is_ours;

/// One task's work as a commit, and the files it changes.
struct Work<'a> {
    task: &'a TaskAgent,
    commit: String,
    files: BTreeSet<String>,
}

pub(super) fn all_pairs(
    agents: &[TaskAgent],
    worktrees: &[(TaskId, PathBuf)],
    settings: &WatchSettings,
) -> Result<Vec<Collision>, ScratchError> {
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
        let files = taken.changed.iter().filter(|path| !is_ours(path));
        let files = files.map(|path| path.to_string_lossy().into_owned()).collect();
        works.push(Work { task, commit: taken.commit, files });
    }
    let pairs: Vec<(&Work<'_>, &Work<'_>)> = works
        .iter()
        .enumerate()
        .flat_map(|(at, one)| works[at + 1..].iter().map(move |other| (one, other)))
        .filter(|(one, other)| !one.files.is_disjoint(&other.files))
        .collect();
    let asks: Vec<MergeQuery> = pairs.iter().map(|(one, other)| ask(one, other)).collect();
    let verdicts = MergeChecker::default().check(&scratch, &asks);
    let found =
        pairs.iter().zip(&verdicts).flat_map(|((one, other), verdict)| collisions(one, other, verdict));
    Ok(found.collect())
}

/// In the order they stand here, so that the first lines are the first one's.
fn ask(one: &Work<'_>, other: &Work<'_>) -> MergeQuery {
    let pair = AgentPair { first: one.task.agent.clone(), second: other.task.agent.clone() };
    MergeQuery { pair, commits: (one.commit.clone(), other.commit.clone()) }
}

fn collisions(one: &Work<'_>, other: &Work<'_>, verdict: &MergeCheckResult) -> Vec<Collision> {
    let related = are_related(one.task, other.task);
    let fits = |path: &str| match verdict {
        MergeCheckResult::Clean => Fits::Yes,
        MergeCheckResult::Unknown => Fits::Unknown,
        MergeCheckResult::Conflict(clashes) => match clashes.iter().find(|clash| clash.path == path) {
            Some(FileConflict { first, second, .. }) => {
                Fits::No { own: first.clone(), others: second.clone() }
            }
            None => Fits::Yes,
        },
    };
    let shared = one.files.intersection(&other.files).map(|path| Collision {
        task: one.task.task.to_string(),
        other: format!("task {}", other.task.task),
        path: path.clone(),
        fits: fits(path),
    });
    // What both have from the same third is no collision.
    shared.filter(|collision| !(related && collision.fits == Fits::Yes)).collect()
}
