//! Asks git whether pairs of agents' work would merge.

use std::collections::HashMap;

use paw_host::git::{ConflictLines, MergeConflict, ScratchRepo, TrialMerge};

use super::{FileConflict, LineRange, MergeCheckResult, MergeQuery};

/// Verdicts remembered; the work of every agent changes often, and old questions do not come back.
const MOST_REMEMBERED: usize = 4_096;
/// Files whose lines are looked for at once.
const MOST_FILES: usize = 64;

/// Remembers what git said about each two commits.
#[derive(Debug, Default)]
pub struct MergeChecker {
    known: HashMap<(String, String), MergeCheckResult>,
}

impl MergeChecker {
    /// Answers every question, in the same order. What git cannot say is [`MergeCheckResult::Unknown`].
    pub fn check(&mut self, scratch: &ScratchRepo, asks: &[MergeQuery]) -> Vec<MergeCheckResult> {
        let mut new: Vec<(String, String)> = asks.iter().map(|ask| ask.commits.clone()).collect();
        new.retain(|commits| !self.known.contains_key(commits));
        new.sort();
        new.dedup();
        let mut failed = None;
        if let Some((attributes, _)) = new.first() {
            match scratch.merge_pairs(&new, attributes) {
                Ok(merges) => self.remember(scratch, &new, &merges),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            tracing::warn!("cannot judge {} pairs: {error}", new.len());
        }
        let verdicts = asks
            .iter()
            .map(|ask| self.known.get(&ask.commits).cloned().unwrap_or(MergeCheckResult::Unknown))
            .collect();
        if self.known.len() > MOST_REMEMBERED {
            self.known.clear();
        }
        verdicts
    }

    fn remember(&mut self, scratch: &ScratchRepo, pairs: &[(String, String)], merges: &[TrialMerge]) {
        let conflicts: Vec<&MergeConflict> = merges.iter().flat_map(conflicts).take(MOST_FILES).collect();
        // Without lines a conflict is still one.
        let lines = scratch.conflict_lines(&conflicts).unwrap_or_default();
        let mut lines = lines.into_iter();
        for (commits, merge) in pairs.iter().zip(merges) {
            let verdict = match merge {
                TrialMerge::Clean => MergeCheckResult::Clean,
                // Not worth remembering: an object that is missing now may be there later.
                TrialMerge::Unknown => continue,
                TrialMerge::Conflicts(conflicts) => {
                    let clash = |conflict: &MergeConflict| clash(conflict, &lines.next().unwrap_or_default());
                    MergeCheckResult::Conflict(conflicts.iter().map(clash).collect())
                }
            };
            self.known.insert(commits.clone(), verdict);
        }
    }
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
        how: conflict.kind.clone(),
        first: against.first.iter().map(LineRange::from).collect(),
        second: against.second.iter().map(LineRange::from).collect(),
    }
}
