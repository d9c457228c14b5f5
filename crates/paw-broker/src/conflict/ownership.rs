//! An agent changed what another one announced, and did not announce it itself. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use paw_core::AgentId;

use super::forward::self_or_above;
use super::path::covers;
use super::report::{ConflictLevel, ConflictReport};
use super::{CALM, SessionActivity, after, messages};
use crate::message::Message;

/// Who did it, and whose it is.
type Violation = (AgentId, AgentId);

/// What was said, file by file, and since when it seems to be over.
#[derive(Debug, Default)]
pub(super) struct OwnershipViolations {
    told: BTreeMap<Violation, BTreeMap<String, Option<Timestamp>>>,
}

impl OwnershipViolations {
    pub(super) fn remember(&mut self, facts: &ConflictReport) {
        if facts.level != ConflictLevel::Escalated {
            let told = self.told.entry((facts.you.clone(), facts.other.clone())).or_default();
            told.extend(facts.files.iter().map(|file| (file.path.clone(), None)));
        }
    }

    pub(super) fn forget(&mut self, agent: &AgentId) {
        self.told.retain(|(violator, owner), _| violator != agent && owner != agent);
    }

    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        self.told
            .values()
            .flat_map(BTreeMap::values)
            .filter_map(|calm| calm.map(|calm| after(calm, CALM)))
            .min()
    }

    pub(super) fn look(&mut self, sky: &SessionActivity, now: Timestamp, escalate: bool) -> Vec<Message> {
        let mut publish = Vec::new();
        let violations = violations(sky);
        for (violation, files) in &violations {
            let told = self.told.entry(violation.clone()).or_default();
            let mut new = Vec::new();
            for file in files {
                if told.insert(file.clone(), None).is_none() {
                    new.push(file.clone());
                }
            }
            if !new.is_empty() {
                let (violator, owner) = violation;
                publish.push(messages::violation(violator, owner, &new));
                if escalate {
                    publish.push(messages::violation_review(violator, owner, &new));
                }
            }
        }
        self.told.retain(|violation, told| {
            // Of an agent that was not looked at yet nothing can be said to be over.
            let heard = sky.work.get(&violation.0).is_some_and(|work| !work.past);
            told.retain(|file, calm| {
                let holds = violations.get(violation).is_some_and(|files| files.contains(file));
                holds || !heard || after(*calm.get_or_insert(now), CALM) > now
            });
            !told.is_empty()
        });
        publish
    }
}

fn violations(sky: &SessionActivity) -> BTreeMap<Violation, BTreeSet<String>> {
    let mut found: BTreeMap<Violation, BTreeSet<String>> = BTreeMap::new();
    // What is known from the past alone may have been given up.
    for (violator, work) in sky.work.iter().filter(|(_, work)| !work.past) {
        let own = sky.announced.get(violator);
        let is_own = |file: &str| {
            own.is_some_and(|own| self_or_above(file).any(|above| own.files.contains_key(above)))
        };
        for (owner, announced) in sky.announced.iter().filter(|(owner, _)| *owner != violator) {
            for claimed in announced.files.keys() {
                let below = work.files().range(claimed.clone()..);
                let below = below.take_while(|file| file.starts_with(claimed.as_str()));
                for file in below.filter(|file| covers(claimed, file) && !is_own(file)) {
                    found.entry((violator.clone(), owner.clone())).or_default().insert(file.clone());
                }
            }
        }
    }
    found
}
