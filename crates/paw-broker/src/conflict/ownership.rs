//! Ownership violations: an agent changed a file that another agent announced, and did not announce it itself. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use paw_core::AgentId;

use super::forward::self_and_ancestors;
use super::path::covers;
use super::report::{ConflictLevel, ConflictReport};
use super::{QUIET_PERIOD, SessionActivity, after, messages};
use crate::message::Message;

/// The violator and the owner.
type Violation = (AgentId, AgentId);

/// The reported violations by file, and since when each has been absent.
#[derive(Debug, Default)]
pub(super) struct OwnershipViolations {
    reported: BTreeMap<Violation, BTreeMap<String, Option<Timestamp>>>,
}

impl OwnershipViolations {
    pub(super) fn remember(&mut self, facts: &ConflictReport) {
        if facts.level != ConflictLevel::Escalated {
            let reported = self.reported.entry((facts.you.clone(), facts.other.clone())).or_default();
            reported.extend(facts.files.iter().map(|file| (file.path.clone(), None)));
        }
    }

    pub(super) fn forget(&mut self, agent: &AgentId) {
        self.reported.retain(|(violator, owner), _| violator != agent && owner != agent);
    }

    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        self.reported
            .values()
            .flat_map(BTreeMap::values)
            .filter_map(|quiet_since| quiet_since.map(|quiet_since| after(quiet_since, QUIET_PERIOD)))
            .min()
    }

    pub(super) fn check(
        &mut self,
        activity: &SessionActivity,
        now: Timestamp,
        escalate: bool,
    ) -> Vec<Message> {
        let mut publish = Vec::new();
        let violations = violations(activity);
        for (violation, files) in &violations {
            let reported = self.reported.entry(violation.clone()).or_default();
            let mut new = Vec::new();
            for file in files {
                if reported.insert(file.clone(), None).is_none() {
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
        self.reported.retain(|violation, reported| {
            // A replayed state says nothing about whether the violation still exists.
            let is_current = activity.work.get(&violation.0).is_some_and(|work| !work.replayed);
            reported.retain(|file, quiet_since| {
                let holds = violations.get(violation).is_some_and(|files| files.contains(file));
                holds || !is_current || after(*quiet_since.get_or_insert(now), QUIET_PERIOD) > now
            });
            !reported.is_empty()
        });
        publish
    }
}

fn violations(activity: &SessionActivity) -> BTreeMap<Violation, BTreeSet<String>> {
    let mut found: BTreeMap<Violation, BTreeSet<String>> = BTreeMap::new();
    // A replayed change may have been reverted.
    for (violator, work) in activity.work.iter().filter(|(_, work)| !work.replayed) {
        let own = activity.announced.get(violator);
        let is_own = |file: &str| {
            own.is_some_and(|own| self_and_ancestors(file).any(|above| own.files.contains_key(above)))
        };
        for (owner, announced) in activity.announced.iter().filter(|(owner, _)| *owner != violator) {
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
