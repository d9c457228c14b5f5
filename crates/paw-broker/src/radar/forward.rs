//! Two agents announce the same part of the same file. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::region::{Meeting, meeting};
use super::{Announced, Claim, Pair, Sky, text};
use crate::message::{Message, Region};

/// What was said already and still holds.
#[derive(Debug, Default)]
pub(super) struct Forward {
    told: BTreeMap<Pair, BTreeSet<String>>,
}

/// A path in two announcements, with the regions of each.
struct Shared<'a> {
    path: &'a str,
    first: &'a [Region],
    second: &'a [Region],
    meeting: Meeting,
}

impl Forward {
    pub(super) fn remember(&mut self, facts: &Facts) {
        let pair = Pair::new(facts.you.clone(), facts.other.clone());
        self.told.entry(pair).or_default().extend(facts.files.iter().map(|file| file.path.clone()));
    }

    pub(super) fn look(&mut self, sky: &Sky, warn: bool) -> Vec<Message> {
        let mut publish = Vec::new();
        let mut holds: BTreeMap<Pair, BTreeSet<String>> = BTreeMap::new();
        let mut rest = sky.announced.iter();
        while let Some((first, mine)) = rest.next() {
            for (second, theirs) in rest.clone() {
                let pair = Pair::new(first.clone(), second.clone());
                let shared = shared(mine, theirs);
                let told = self.told.get(&pair);
                let new: Vec<&Shared<'_>> = shared
                    .values()
                    .filter(|shared| !told.is_some_and(|told| told.contains(shared.path)))
                    .collect();
                if warn && !new.is_empty() {
                    let claim = |shared: &Shared<'_>, theirs: &[Region]| Claim {
                        path: shared.path.to_owned(),
                        theirs: theirs.to_vec(),
                        meeting: shared.meeting,
                    };
                    let for_first: Vec<Claim> =
                        new.iter().map(|shared| claim(shared, shared.second)).collect();
                    let for_second: Vec<Claim> =
                        new.iter().map(|shared| claim(shared, shared.first)).collect();
                    publish.push(text::forward(first, second, &for_first));
                    publish.push(text::forward(second, first, &for_second));
                }
                holds.insert(pair, shared.keys().map(|path| (*path).to_owned()).collect());
            }
        }
        self.told = holds;
        publish
    }
}

/// Paths that both announced, or that one announced below a directory of the other.
fn shared<'a>(first: &'a Announced, second: &'a Announced) -> BTreeMap<&'a str, Shared<'a>> {
    let mut found = BTreeMap::new();
    for (path, mine) in &first.files {
        if let Some(theirs) = self_or_above(path).find_map(|above| second.files.get(above))
            && let Some(meeting) = meeting(mine, theirs)
        {
            found.insert(path.as_str(), Shared { path, first: mine, second: theirs, meeting });
        }
    }
    for (path, theirs) in &second.files {
        if let Some(mine) = self_or_above(path).skip(1).find_map(|above| first.files.get(above))
            && let Some(meeting) = meeting(mine, theirs)
        {
            found.entry(path.as_str()).or_insert(Shared { path, first: mine, second: theirs, meeting });
        }
    }
    found
}

/// `a/b/c`, `a/b`, `a`.
pub(super) fn self_or_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}
