//! Asks git whether the work of pairs of agents merges.

use std::collections::HashMap;

use paw_core::text::plural;
use paw_host::git::{ConflictLines, MergeConflict, ScratchError, ScratchRepo, TrialMerge};

use super::{FileConflict, LineRange, MergeCheckResult, MergeQuery};

/// Results kept, each with its conflicting lines. Snapshots change often, so old results are rarely needed again.
const MAX_CACHED: usize = 512;
/// Files whose conflicting lines are located in one call.
const MAX_FILES: usize = 64;
/// Files whose conflicting lines are kept. Two agents that conflict in many files change one of them at a time.
const MAX_LOCATED: usize = 2048;

/// The contents of a conflicting file: in the merge base, and on both sides.
type Contents = [Option<String>; 3];

/// Checks pairs of commits, and caches the results.
#[derive(Debug, Default)]
pub struct MergeChecker {
    results: HashMap<(String, String), MergeCheckResult>,
    located: HashMap<Contents, ConflictLines>,
    /// The commits of works, in the scratch repository that was used last.
    commits: HashMap<String, String>,
}

impl MergeChecker {
    /// The result of every query, in the same order; [`MergeCheckResult::Unknown`] where git fails.
    pub fn check(&mut self, scratch: &ScratchRepo, queries: &[MergeQuery]) -> Vec<MergeCheckResult> {
        let mut new: Vec<(String, String)> = queries.iter().map(|query| query.works.clone()).collect();
        new.retain(|works| !self.results.contains_key(works));
        new.sort();
        new.dedup();
        let mut failed = None;
        if !new.is_empty() {
            match self.merge(scratch, &new) {
                Ok(merges) => self.remember(scratch, &new, &merges),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            tracing::warn!("cannot check {} for conflicts: {error}", plural(new.len(), "pair"));
        }
        let results = queries
            .iter()
            .map(|query| self.results.get(&query.works).cloned().unwrap_or(MergeCheckResult::Unknown))
            .collect();
        if self.results.len() > MAX_CACHED {
            self.results.clear();
        }
        results
    }

    /// A work that git cannot make a commit of makes only its own pairs unknown.
    fn merge(
        &mut self,
        scratch: &ScratchRepo,
        works: &[(String, String)],
    ) -> Result<Vec<TrialMerge>, ScratchError> {
        let mut commits = HashMap::new();
        for work in works.iter().flat_map(|(first, second)| [first, second]) {
            if !commits.contains_key(work) {
                let known = self.commits.get(work).filter(|commit| scratch.has_commit(commit)).cloned();
                if let Ok(commit) = known.map_or_else(|| scratch.commit_work(work), Ok) {
                    commits.insert(work.clone(), commit);
                }
            }
        }
        let pair = |(first, second): &(String, String)| {
            Some((commits.get(first)?.clone(), commits.get(second)?.clone()))
        };
        let pairs: Vec<Option<(String, String)>> = works.iter().map(pair).collect();
        let complete: Vec<(String, String)> = pairs.iter().flatten().cloned().collect();
        let attributes = complete.first().map(|(first, _)| first.clone()).unwrap_or_default();
        let mut merges = scratch.merge_pairs(&complete, &attributes)?.into_iter();
        self.commits = commits;
        let merge =
            |pair: &Option<_>| pair.as_ref().and_then(|_| merges.next()).unwrap_or(TrialMerge::Unknown);
        Ok(pairs.iter().map(merge).collect())
    }

    fn remember(&mut self, scratch: &ScratchRepo, pairs: &[(String, String)], merges: &[TrialMerge]) {
        self.locate(scratch, merges);
        for (works, merge) in pairs.iter().zip(merges) {
            let verdict = match merge {
                TrialMerge::Clean => MergeCheckResult::Clean,
                // Not cached: a missing object may appear later.
                TrialMerge::Unknown => continue,
                TrialMerge::Conflicts(conflicts) => {
                    // A conflict is reported even if its lines are unknown.
                    let lines = |conflict: &MergeConflict| {
                        self.located.get(&contents(conflict)).cloned().unwrap_or_default()
                    };
                    let clash = |conflict: &MergeConflict| clash(conflict, &lines(conflict));
                    MergeCheckResult::Conflict(conflicts.iter().map(clash).collect())
                }
            };
            self.results.insert(works.clone(), verdict);
        }
    }

    /// Finds the conflicting lines of files that were not seen with these contents before.
    fn locate(&mut self, scratch: &ScratchRepo, merges: &[TrialMerge]) {
        if self.located.len() > MAX_LOCATED {
            self.located.clear();
        }
        let is_new = |conflict: &&MergeConflict| !self.located.contains_key(&contents(conflict));
        let new: Vec<&MergeConflict> =
            merges.iter().flat_map(conflicts).filter(is_new).take(MAX_FILES).collect();
        let lines = scratch.conflict_lines(&new).unwrap_or_default();
        self.located.extend(new.into_iter().map(contents).zip(lines));
    }
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

fn clash(conflict: &MergeConflict, against: &ConflictLines) -> FileConflict {
    FileConflict {
        path: conflict.path.to_string_lossy().into_owned(),
        conflict_type: conflict.kind.clone(),
        first: against.first.iter().map(LineRange::from).collect(),
        second: against.second.iter().map(LineRange::from).collect(),
    }
}
