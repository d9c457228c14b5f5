//! Asks git whether pairs of agents' work would merge.

use std::collections::HashMap;

use paw_host::git::{Against, Conflict, Merge, Scratch};

use super::{Ask, Clash, LineRange, Verdict};

/// Verdicts remembered; the work of every agent changes often, and old questions do not come back.
const MOST_REMEMBERED: usize = 4_096;
/// Files whose lines are looked for at once.
const MOST_FILES: usize = 64;

/// Remembers what git said about each two commits.
#[derive(Debug, Default)]
pub struct Judge {
    known: HashMap<(String, String), Verdict>,
}

impl Judge {
    /// Answers every question, in the same order. What git cannot say is [`Verdict::Unknown`].
    pub fn judge(&mut self, scratch: &Scratch, asks: &[Ask]) -> Vec<Verdict> {
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
            .map(|ask| self.known.get(&ask.commits).cloned().unwrap_or(Verdict::Unknown))
            .collect();
        if self.known.len() > MOST_REMEMBERED {
            self.known.clear();
        }
        verdicts
    }

    fn remember(&mut self, scratch: &Scratch, pairs: &[(String, String)], merges: &[Merge]) {
        let conflicts: Vec<&Conflict> = merges.iter().flat_map(conflicts).take(MOST_FILES).collect();
        // Without lines a conflict is still one.
        let lines = scratch.lines_of(&conflicts).unwrap_or_default();
        let mut lines = lines.into_iter();
        for (commits, merge) in pairs.iter().zip(merges) {
            let verdict = match merge {
                Merge::Clean => Verdict::Clean,
                // Not worth remembering: an object that is missing now may be there later.
                Merge::Unknown => continue,
                Merge::Conflicts(conflicts) => {
                    let clash = |conflict: &Conflict| clash(conflict, &lines.next().unwrap_or_default());
                    Verdict::Conflict(conflicts.iter().map(clash).collect())
                }
            };
            self.known.insert(commits.clone(), verdict);
        }
    }
}

fn conflicts(merge: &Merge) -> &[Conflict] {
    match merge {
        Merge::Conflicts(conflicts) => conflicts,
        Merge::Clean | Merge::Unknown => &[],
    }
}

fn clash(conflict: &Conflict, against: &Against) -> Clash {
    Clash {
        path: conflict.path.to_string_lossy().into_owned(),
        how: conflict.kind.clone(),
        first: against.first.iter().map(LineRange::from).collect(),
        second: against.second.iter().map(LineRange::from).collect(),
    }
}
