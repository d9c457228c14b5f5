//! Asks git whether the work of pairs of agents merges.
//!
//! The last answer about each pair is kept. Agents edit one file at a time, so the next question is mostly about that file alone
//! ([`paw_host::git::ReducedMerge`]), or needs no answer of git at all.

use std::collections::HashMap;

use paw_core::AgentId;
use paw_core::text::plural;
use paw_host::git::{
    ConflictLines, MergeConflict, MergedFiles, ReducedMerge, ScratchError, ScratchRepo, TrialMerge,
};

use super::{AgentPair, FileConflict, LineRange, MergeCheckResult, MergeQuery};

/// Files whose conflicting lines are located in one call.
const MAX_FILES: usize = 64;
/// Files whose conflicting lines are kept.
const MAX_LOCATED: usize = 2048;
/// Pairs of commits whose merge base is kept.
const MAX_BASES: usize = 2048;
/// git's names for conflicts of the edits of one file. Other ones are about more than one file.
const SINGLE_FILE: [&str; 2] = ["contents", "binary"];

/// The contents of a conflicting file: in the merge base, and on both sides.
type Contents = [Option<String>; 3];
type CommitPair = (String, String);

/// Checks pairs of agents.
#[derive(Debug, Default)]
pub struct MergeChecker {
    last: HashMap<AgentPair, JudgedPair>,
    /// By the HEADs of both; `None` if there is not exactly one.
    bases: HashMap<CommitPair, Option<String>>,
    located: HashMap<Contents, ConflictLines>,
    /// The commits of works, in the scratch repository that was used last.
    commits: HashMap<String, String>,
    counts: MergeCounts,
}

/// How often pairs were judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeCounts {
    /// Everything that both have changed was merged.
    pub whole: u64,
    /// Only files that have changed since.
    pub reduced: u64,
    /// How often git was asked for conflicting lines.
    pub located: u64,
}

/// The last answer about a pair.
#[derive(Debug)]
struct JudgedPair {
    works: (String, String),
    conflicts: Vec<MergeConflict>,
}

/// What a query needs.
enum MergeTask {
    /// The answer is known: these conflicts, and no others.
    Known(Vec<MergeConflict>),
    Whole(Option<CommitPair>),
    /// The merge of some files, whose conflicts replace those known before.
    Reduced(ReducedMerge, CommitPair),
}

impl MergeTask {
    fn commits(&self) -> Option<&CommitPair> {
        match self {
            Self::Known(_) => None,
            Self::Whole(commits) => commits.as_ref(),
            Self::Reduced(_, commits) => Some(commits),
        }
    }
}

impl MergeChecker {
    /// The result of every query, in the same order; [`MergeCheckResult::Unknown`] where git fails.
    pub fn check(&mut self, scratch: &ScratchRepo, queries: &[MergeQuery]) -> Vec<MergeCheckResult> {
        self.check_with_lines(scratch, queries, |_, _| true)
    }

    /// Like [`Self::check`], with the conflicting lines of only those files of a pair that `needs_lines` selects.
    pub fn check_with_lines(
        &mut self,
        scratch: &ScratchRepo,
        queries: &[MergeQuery],
        needs_lines: impl Fn(&AgentPair, &str) -> bool,
    ) -> Vec<MergeCheckResult> {
        let merges = self.merge(scratch, queries).unwrap_or_else(|error| {
            tracing::warn!("cannot check {} for conflicts: {error}", plural(queries.len(), "pair"));
            vec![TrialMerge::Unknown; queries.len()]
        });
        let answers: Vec<(&MergeQuery, &TrialMerge)> = queries.iter().zip(&merges).collect();
        let unlocated = answers.iter().flat_map(|(query, merge)| {
            let needs = |conflict: &&MergeConflict| needs_lines(&query.pair, &path_of(conflict));
            conflicts(merge).iter().filter(needs)
        });
        self.locate(scratch, &unlocated.collect::<Vec<_>>());
        let results = merges.iter().map(|merge| self.result(merge)).collect();
        for (query, merge) in queries.iter().zip(merges) {
            let conflicts = match merge {
                TrialMerge::Clean => Vec::new(),
                TrialMerge::Conflicts(conflicts) => conflicts,
                // A missing object may appear later.
                TrialMerge::Unknown => {
                    self.last.remove(&query.pair);
                    continue;
                }
            };
            self.last.insert(query.pair.clone(), JudgedPair { works: query.works.clone(), conflicts });
        }
        results
    }

    pub fn counts(&self) -> MergeCounts {
        self.counts
    }

    /// Forgets an agent that left the session.
    pub fn forget(&mut self, agent: &AgentId) {
        self.last.retain(|pair, _| !pair.contains(agent));
    }

    fn merge(
        &mut self,
        scratch: &ScratchRepo,
        queries: &[MergeQuery],
    ) -> Result<Vec<TrialMerge>, ScratchError> {
        let mut commits = HashMap::new();
        let tasks: Vec<MergeTask> =
            queries.iter().map(|query| self.task(scratch, query, &mut commits)).collect();
        let pairs: Vec<CommitPair> = tasks.iter().filter_map(MergeTask::commits).cloned().collect();
        let attributes = queries.first().map_or("", |query| split(&query.works.0).0);
        let is_whole = |task: &MergeTask| matches!(task, MergeTask::Whole(_));
        let files = if tasks.iter().any(is_whole) { MergedFiles::Many } else { MergedFiles::Few };
        let mut merges = scratch.merge_pairs(&pairs, attributes, files)?.into_iter();
        if !commits.is_empty() {
            self.commits = commits;
        }
        let mut answer = |(task, query): (MergeTask, &MergeQuery)| {
            let merge = task.commits().and_then(|_| merges.next());
            match task {
                MergeTask::Known(conflicts) => merge_of(conflicts),
                MergeTask::Whole(_) => {
                    self.counts.whole += 1;
                    merge.unwrap_or(TrialMerge::Unknown)
                }
                MergeTask::Reduced(reduced, _) => {
                    self.counts.reduced += 1;
                    let found = match merge {
                        Some(TrialMerge::Clean) => Vec::new(),
                        Some(TrialMerge::Conflicts(found)) => found,
                        Some(TrialMerge::Unknown) | None => return TrialMerge::Unknown,
                    };
                    let mut conflicts = self.others(&query.pair, &reduced);
                    conflicts.extend(found);
                    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
                    merge_of(conflicts)
                }
            }
        };
        Ok(tasks.into_iter().zip(queries).map(&mut answer).collect())
    }

    fn task(
        &mut self,
        scratch: &ScratchRepo,
        query: &MergeQuery,
        commits: &mut HashMap<String, String>,
    ) -> MergeTask {
        match self.reduce(scratch, query) {
            Ok(Some(reduced)) => match reduced.commits.clone() {
                Some(commits) => return MergeTask::Reduced(reduced, commits),
                None => return MergeTask::Known(self.others(&query.pair, &reduced)),
            },
            Ok(None) => {}
            // The last works may be in a scratch repository that was replaced.
            Err(error) => tracing::debug!("merging everything: {error}"),
        }
        // A work that git cannot make a commit of makes only its own pairs unknown.
        let mut commit = |work: &String| {
            let known = commits.get(work).or_else(|| self.commits.get(work));
            let known = known.filter(|commit| scratch.has_commit(commit)).cloned();
            let commit = known.map_or_else(|| scratch.commit_work(work), Ok).ok()?;
            commits.insert(work.clone(), commit.clone());
            Some(commit)
        };
        let (first, second) = (commit(&query.works.0), commit(&query.works.1));
        MergeTask::Whole(first.zip(second))
    }

    /// The part of a query that the last answer about its pair does not cover. `None` if that is everything.
    fn reduce(
        &mut self,
        scratch: &ScratchRepo,
        query: &MergeQuery,
    ) -> Result<Option<ReducedMerge>, ScratchError> {
        let Some(last) = self.last.get(&query.pair) else { return Ok(None) };
        let trees_and_heads = |works: &(String, String)| {
            let ((first, first_head), (second, second_head)) = (split(&works.0), split(&works.1));
            (
                (first.to_owned(), second.to_owned()),
                first_head.zip(second_head).map(|(a, b)| (a.to_owned(), b.to_owned())),
            )
        };
        let ((before, old_heads), (now, heads)) =
            (trees_and_heads(&last.works), trees_and_heads(&query.works));
        let Some(heads) = heads.filter(|heads| old_heads.as_ref() == Some(heads)) else { return Ok(None) };
        if self.bases.len() > MAX_BASES {
            self.bases.clear();
        }
        let base = if let Some(base) = self.bases.get(&heads) {
            base.clone()
        } else {
            let base = scratch.find_merge_base(&heads.0, &heads.1)?;
            self.bases.insert(heads, base.clone());
            base
        };
        let Some(base) = base else { return Ok(None) };
        let reduced = scratch.reduce_merge(&base, (&before.0, &before.1), (&now.0, &now.1))?;
        let is_about_more = |conflict: &MergeConflict| !SINGLE_FILE.contains(&conflict.kind.as_str());
        let covers = |reduced: &ReducedMerge| {
            !last.conflicts.iter().any(|known| is_about_more(known) && reduced.paths.contains(&known.path))
        };
        Ok(reduced.filter(covers))
    }

    /// The known conflicts of a pair in files that are not merged again.
    fn others(&self, pair: &AgentPair, reduced: &ReducedMerge) -> Vec<MergeConflict> {
        let known = self.last.get(pair).into_iter().flat_map(|last| &last.conflicts);
        known.filter(|conflict| !reduced.paths.contains(&conflict.path)).cloned().collect()
    }

    fn result(&self, merge: &TrialMerge) -> MergeCheckResult {
        match merge {
            TrialMerge::Clean => MergeCheckResult::Clean,
            TrialMerge::Unknown => MergeCheckResult::Unknown,
            TrialMerge::Conflicts(conflicts) => {
                // A conflict is reported even if its lines are unknown.
                let lines = |conflict: &MergeConflict| {
                    self.located.get(&contents(conflict)).cloned().unwrap_or_default()
                };
                let clash = |conflict: &MergeConflict| clash(conflict, &lines(conflict));
                MergeCheckResult::Conflict(conflicts.iter().map(clash).collect())
            }
        }
    }

    /// Finds the conflicting lines of files that were not seen with these contents before.
    fn locate(&mut self, scratch: &ScratchRepo, conflicts: &[&MergeConflict]) {
        if self.located.len() > MAX_LOCATED {
            self.located.clear();
        }
        let is_new = |conflict: &&&MergeConflict| !self.located.contains_key(&contents(conflict));
        let new: Vec<&MergeConflict> = conflicts.iter().filter(is_new).take(MAX_FILES).copied().collect();
        if new.is_empty() {
            return;
        }
        self.counts.located += 1;
        // One side of a conflict may be the result of another merge, which was not kept. The other files have lines all the same.
        let lines = scratch.conflict_lines(&new).unwrap_or_else(|_| {
            let lines = |conflict| scratch.conflict_lines(&[conflict]).unwrap_or_default();
            new.iter().map(|conflict| lines(conflict).pop().unwrap_or_default()).collect()
        });
        self.located.extend(new.into_iter().map(contents).zip(lines));
    }
}

/// The tree and the HEAD of a work.
fn split(work: &str) -> (&str, Option<&str>) {
    work.split_once(' ').map_or((work, None), |(tree, head)| (tree, Some(head)))
}

fn merge_of(conflicts: Vec<MergeConflict>) -> TrialMerge {
    if conflicts.is_empty() { TrialMerge::Clean } else { TrialMerge::Conflicts(conflicts) }
}

fn contents(conflict: &MergeConflict) -> Contents {
    conflict.stages.each_ref().map(|blob| blob.as_ref().map(|blob| blob.oid.clone()))
}

fn conflicts(merge: &TrialMerge) -> &[MergeConflict] {
    match merge {
        TrialMerge::Conflicts(conflicts) => conflicts,
        TrialMerge::Clean | TrialMerge::Unknown => &[],
    }
}

fn path_of(conflict: &MergeConflict) -> String {
    conflict.path.to_string_lossy().into_owned()
}

fn clash(conflict: &MergeConflict, against: &ConflictLines) -> FileConflict {
    FileConflict {
        path: path_of(conflict),
        conflict_type: conflict.kind.clone(),
        first: against.first.iter().map(LineRange::from).collect(),
        second: against.second.iter().map(LineRange::from).collect(),
    }
}
