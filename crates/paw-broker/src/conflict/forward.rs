//! Forward conflicts: two agents announce the same part of the same file. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::region::{RegionOverlap, overlap};
use super::report::ConflictReport;
use super::{AgentPair, AnnouncedFiles, IntentOverlap, SessionActivity, messages};
use crate::message::{Message, Region};

/// The forward conflicts that were reported and still exist.
#[derive(Debug, Default)]
pub(super) struct ForwardConflicts {
    reported: BTreeMap<AgentPair, BTreeSet<String>>,
}

/// A path in two announcements, with the regions of each.
struct SharedPath<'a> {
    path: &'a str,
    first: &'a [Region],
    second: &'a [Region],
    overlap: RegionOverlap,
}

impl ForwardConflicts {
    pub(super) fn remember(&mut self, facts: &ConflictReport) {
        let pair = AgentPair::new(facts.you.clone(), facts.other.clone());
        self.reported.entry(pair).or_default().extend(facts.files.iter().map(|file| file.path.clone()));
    }

    pub(super) fn check(&mut self, activity: &SessionActivity, warn: bool) -> Vec<Message> {
        let mut publish = Vec::new();
        let mut current: BTreeMap<AgentPair, BTreeSet<String>> = BTreeMap::new();
        let mut rest = activity.announced.iter();
        while let Some((first, mine)) = rest.next() {
            for (second, theirs) in rest.clone() {
                let pair = AgentPair::new(first.clone(), second.clone());
                let shared = shared(mine, theirs);
                let reported = self.reported.get(&pair);
                let new: Vec<&SharedPath<'_>> = shared
                    .values()
                    .filter(|shared| !reported.is_some_and(|paths| paths.contains(shared.path)))
                    .collect();
                if warn && !new.is_empty() {
                    let claim = |shared: &SharedPath<'_>, theirs: &[Region]| IntentOverlap {
                        path: shared.path.to_owned(),
                        theirs: theirs.to_vec(),
                        overlap: shared.overlap,
                    };
                    let for_first: Vec<IntentOverlap> =
                        new.iter().map(|shared| claim(shared, shared.second)).collect();
                    let for_second: Vec<IntentOverlap> =
                        new.iter().map(|shared| claim(shared, shared.first)).collect();
                    publish.push(messages::forward(first, second, &for_first));
                    publish.push(messages::forward(second, first, &for_second));
                }
                current.insert(pair, shared.keys().map(|path| (*path).to_owned()).collect());
            }
        }
        self.reported = current;
        publish
    }
}

/// Paths that both agents announced, or that one announced below a directory of the other.
fn shared<'a>(first: &'a AnnouncedFiles, second: &'a AnnouncedFiles) -> BTreeMap<&'a str, SharedPath<'a>> {
    let mut found = BTreeMap::new();
    for (path, mine) in &first.files {
        if let Some(theirs) = self_and_ancestors(path).find_map(|above| second.files.get(above))
            && let Some(overlap) = overlap(mine, theirs)
        {
            found.insert(path.as_str(), SharedPath { path, first: mine, second: theirs, overlap });
        }
    }
    for (path, theirs) in &second.files {
        if let Some(mine) = self_and_ancestors(path).skip(1).find_map(|above| first.files.get(above))
            && let Some(overlap) = overlap(mine, theirs)
        {
            found.entry(path.as_str()).or_insert(SharedPath { path, first: mine, second: theirs, overlap });
        }
    }
    found
}

/// `a/b/c`, `a/b`, `a`.
pub(super) fn self_and_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}
