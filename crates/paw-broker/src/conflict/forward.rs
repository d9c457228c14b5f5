//! Two agents announce the same part of the same file. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::region::{RegionOverlap, meeting};
use super::report::ConflictReport;
use super::{AgentPair, AnnouncedFiles, IntentOverlap, SessionActivity, messages};
use crate::message::{Message, Region};

/// What was said already and still holds.
#[derive(Debug, Default)]
pub(super) struct ForwardConflicts {
    told: BTreeMap<AgentPair, BTreeSet<String>>,
}

/// A path in two announcements, with the regions of each.
struct SharedPath<'a> {
    path: &'a str,
    first: &'a [Region],
    second: &'a [Region],
    meeting: RegionOverlap,
}

impl ForwardConflicts {
    pub(super) fn remember(&mut self, facts: &ConflictReport) {
        let pair = AgentPair::new(facts.you.clone(), facts.other.clone());
        self.told.entry(pair).or_default().extend(facts.files.iter().map(|file| file.path.clone()));
    }

    pub(super) fn look(&mut self, sky: &SessionActivity, warn: bool) -> Vec<Message> {
        let mut publish = Vec::new();
        let mut holds: BTreeMap<AgentPair, BTreeSet<String>> = BTreeMap::new();
        let mut rest = sky.announced.iter();
        while let Some((first, mine)) = rest.next() {
            for (second, theirs) in rest.clone() {
                let pair = AgentPair::new(first.clone(), second.clone());
                let shared = shared(mine, theirs);
                let told = self.told.get(&pair);
                let new: Vec<&SharedPath<'_>> = shared
                    .values()
                    .filter(|shared| !told.is_some_and(|told| told.contains(shared.path)))
                    .collect();
                if warn && !new.is_empty() {
                    let claim = |shared: &SharedPath<'_>, theirs: &[Region]| IntentOverlap {
                        path: shared.path.to_owned(),
                        theirs: theirs.to_vec(),
                        meeting: shared.meeting,
                    };
                    let for_first: Vec<IntentOverlap> =
                        new.iter().map(|shared| claim(shared, shared.second)).collect();
                    let for_second: Vec<IntentOverlap> =
                        new.iter().map(|shared| claim(shared, shared.first)).collect();
                    publish.push(messages::forward(first, second, &for_first));
                    publish.push(messages::forward(second, first, &for_second));
                }
                holds.insert(pair, shared.keys().map(|path| (*path).to_owned()).collect());
            }
        }
        self.told = holds;
        publish
    }
}

/// Paths that both announced, or that one announced below a directory of the other.
fn shared<'a>(first: &'a AnnouncedFiles, second: &'a AnnouncedFiles) -> BTreeMap<&'a str, SharedPath<'a>> {
    let mut found = BTreeMap::new();
    for (path, mine) in &first.files {
        if let Some(theirs) = self_or_above(path).find_map(|above| second.files.get(above))
            && let Some(meeting) = meeting(mine, theirs)
        {
            found.insert(path.as_str(), SharedPath { path, first: mine, second: theirs, meeting });
        }
    }
    for (path, theirs) in &second.files {
        if let Some(mine) = self_or_above(path).skip(1).find_map(|above| first.files.get(above))
            && let Some(meeting) = meeting(mine, theirs)
        {
            found.entry(path.as_str()).or_insert(SharedPath { path, first: mine, second: theirs, meeting });
        }
    }
    found
}

/// `a/b/c`, `a/b`, `a`.
pub(super) fn self_or_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}
