//! In-flight conflicts: two agents changed the same files. Pure.
//!
//! Git decides if the watcher has a snapshot of both agents; while a new check is pending, the last result holds.
//! Without snapshots a shared file is a conflict, unless both agents announced different parts of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use super::region::overlap;
use super::report::{ConflictFile, ConflictLevel, ConflictReport};
use super::{AgentPair, FileConflict, MergeCheckResult, QUIET_PERIOD, SessionActivity, after, messages};
use crate::message::Message;

/// The state of one file of one pair.
#[derive(Debug, Clone)]
struct FileState {
    /// The worst level that was reported.
    reported: ConflictLevel,
    /// Since when the file has had this level.
    since: Timestamp,
    /// Since when the conflict has been absent.
    quiet_since: Option<Timestamp>,
    escalated: bool,
}

/// The current level of a file.
#[derive(Debug, Clone)]
struct CurrentState {
    level: ConflictLevel,
    conflict: Option<FileConflict>,
}

#[derive(Debug, Default)]
pub(super) struct InFlightConflicts {
    state: BTreeMap<AgentPair, BTreeMap<String, FileState>>,
}

impl InFlightConflicts {
    pub(super) fn remember(&mut self, facts: &ConflictReport, at: Timestamp) {
        let files = self.state.entry(AgentPair::new(facts.you.clone(), facts.other.clone())).or_default();
        for file in &facts.files {
            if facts.level == ConflictLevel::Cleared {
                files.remove(&file.path);
                continue;
            }
            let new = FileState {
                reported: ConflictLevel::Additive,
                since: at,
                quiet_since: None,
                escalated: false,
            };
            let state = files.entry(file.path.clone()).or_insert(new);
            if facts.level == ConflictLevel::Escalated {
                state.escalated = true;
            } else if facts.level > state.reported {
                (state.reported, state.since) = (facts.level, at);
            }
        }
    }

    /// Whether both agents know that this file does not merge.
    pub(super) fn is_reported(&self, pair: &AgentPair, path: &str) -> bool {
        let state = self.state.get(pair).and_then(|files| files.get(path));
        state.is_some_and(|state| state.reported >= ConflictLevel::Conflict)
    }

    /// Forgets an agent, and returns messages that clear the warnings about it.
    pub(super) fn forget(&mut self, agent: &AgentId) -> Vec<Message> {
        let mut publish = Vec::new();
        self.state.retain(|pair, files| {
            if !pair.contains(agent) {
                return true;
            }
            let other = if pair.first == *agent { &pair.second } else { &pair.first };
            let warned = files.iter().filter(|(_, state)| state.reported >= ConflictLevel::Overlap);
            let over: Vec<ConflictFile> = warned.map(|(path, _)| ConflictFile::path(path)).collect();
            if !over.is_empty() {
                publish.push(messages::in_flight(other, agent, ConflictLevel::Cleared, over));
            }
            false
        });
        publish
    }

    pub(super) fn next_tick(&self, activity: &SessionActivity, window: SignedDuration) -> Option<Timestamp> {
        let when = |state: &FileState| match state.quiet_since {
            Some(calm) => Some(after(calm, QUIET_PERIOD)),
            None => (state.reported >= ConflictLevel::Overlap && !state.escalated)
                .then(|| after(state.since, window)),
        };
        let seen = self.state.iter().filter(|(pair, _)| activity.is_current(pair));
        seen.flat_map(|(_, files)| files.values()).filter_map(when).min()
    }

    pub(super) fn check(
        &mut self,
        activity: &SessionActivity,
        now: Timestamp,
        window: SignedDuration,
    ) -> Vec<Message> {
        let mut publish = Vec::new();
        let shared = shared_files(activity);
        let pairs: BTreeSet<AgentPair> =
            shared.keys().chain(activity.merge_results.keys()).chain(self.state.keys()).cloned().collect();
        for pair in pairs {
            let files = self.state.entry(pair.clone()).or_default();
            // Nothing is escalated while the state is unknown: the conflict may be resolved.
            if let Some(current) = current_states(activity, &pair, shared.get(&pair)) {
                publish.extend(update_states(&pair, files, &current, now));
                publish.extend(escalate(&pair, files, now, window));
            }
        }
        self.state.retain(|_, files| !files.is_empty());
        publish
    }
}

/// The current level of every file of a pair, or `None` while it is unknown.
fn current_states(
    activity: &SessionActivity,
    pair: &AgentPair,
    shared: Option<&BTreeSet<String>>,
) -> Option<BTreeMap<String, CurrentState>> {
    let work = |agent| activity.work.get(agent).filter(|work| !work.replayed);
    let (first, second) = (work(&pair.first)?, work(&pair.second)?);
    let each =
        |level: fn(&SessionActivity, &AgentPair, &str) -> ConflictLevel| -> BTreeMap<String, CurrentState> {
            let now = |path: &String| {
                (path.clone(), CurrentState { level: level(activity, pair, path), conflict: None })
            };
            shared.into_iter().flatten().map(now).collect()
        };
    if first.snapshot.is_none() || second.snapshot.is_none() {
        return Some(each(|activity, pair, path| {
            if announced_different_regions(activity, pair, path) {
                ConflictLevel::Additive
            } else {
                ConflictLevel::Overlap
            }
        }));
    }
    // Without a query, the changes of the two cannot conflict.
    let Some(query) = activity.merge_query(pair) else { return Some(BTreeMap::new()) };
    match activity.find_result(&query)? {
        MergeCheckResult::Clean => Some(each(|_, _, _| ConflictLevel::Additive)),
        MergeCheckResult::Unknown => Some(each(|_, _, _| ConflictLevel::Overlap)),
        MergeCheckResult::Conflict(clashes) => {
            let mut state = each(|_, _, _| ConflictLevel::Additive);
            for conflict in clashes {
                state.insert(
                    conflict.path.clone(),
                    CurrentState { level: ConflictLevel::Conflict, conflict: Some(conflict.clone()) },
                );
            }
            Some(state)
        }
    }
}

/// The files that both agents of a pair changed.
fn shared_files(activity: &SessionActivity) -> BTreeMap<AgentPair, BTreeSet<String>> {
    let mut agents_of: BTreeMap<&str, Vec<&AgentId>> = BTreeMap::new();
    for (agent, work) in &activity.work {
        for file in work.files() {
            agents_of.entry(file).or_default().push(agent);
        }
    }
    let mut shared: BTreeMap<AgentPair, BTreeSet<String>> = BTreeMap::new();
    for (file, agents) in agents_of {
        for (at, first) in agents.iter().enumerate() {
            for second in &agents[at + 1..] {
                let pair = AgentPair::new((*first).clone(), (*second).clone());
                shared.entry(pair).or_default().insert(file.to_owned());
            }
        }
    }
    shared
}

fn announced_different_regions(activity: &SessionActivity, pair: &AgentPair, path: &str) -> bool {
    let regions = |agent| activity.announced.get(agent)?.files.get(path);
    match (regions(&pair.first), regions(&pair.second)) {
        (Some(first), Some(second)) => overlap(first, second).is_none(),
        _ => false,
    }
}

/// Updates the reported states, and returns the messages about what changed.
fn update_states(
    pair: &AgentPair,
    files: &mut BTreeMap<String, FileState>,
    current_states: &BTreeMap<String, CurrentState>,
    now: Timestamp,
) -> Vec<Message> {
    let mut messages: BTreeMap<ConflictLevel, Vec<(String, Option<FileConflict>)>> = BTreeMap::new();
    for (path, current) in current_states {
        let known = files.get_mut(path);
        let bad = current.level >= ConflictLevel::Overlap;
        match known {
            Some(state)
                if current.level <= state.reported && (bad || state.reported < ConflictLevel::Overlap) =>
            {
                state.quiet_since = None;
            }
            // It was a conflict, and merges now.
            Some(state) if !bad => {
                if is_quiet(state, now) {
                    messages.entry(ConflictLevel::Cleared).or_default().push((path.clone(), None));
                    *state = FileState {
                        reported: ConflictLevel::Additive,
                        since: now,
                        quiet_since: None,
                        escalated: false,
                    };
                }
            }
            known => {
                let bad_before = known.filter(|state| state.reported >= ConflictLevel::Overlap);
                let (since, escalated) =
                    bad_before.map_or((now, false), |state| (state.since, state.escalated));
                let state = FileState { reported: current.level, since, quiet_since: None, escalated };
                files.insert(path.clone(), state);
                messages.entry(current.level).or_default().push((path.clone(), current.conflict.clone()));
            }
        }
    }
    files.retain(|path, state| {
        let resolved = !current_states.contains_key(path) && is_quiet(state, now);
        if resolved && state.reported >= ConflictLevel::Overlap {
            messages.entry(ConflictLevel::Cleared).or_default().push((path.clone(), None));
        }
        !resolved
    });
    messages.into_iter().rev().flat_map(|(level, files)| messages_to_both(pair, level, &files)).collect()
}

fn is_quiet(state: &mut FileState, now: Timestamp) -> bool {
    let since = *state.quiet_since.get_or_insert(now);
    after(since, QUIET_PERIOD) <= now
}

/// One message for each agent, from its own point of view.
fn messages_to_both(
    pair: &AgentPair,
    level: ConflictLevel,
    files: &[(String, Option<FileConflict>)],
) -> [Message; 2] {
    let facts = |swap: bool| -> Vec<ConflictFile> {
        let one = |(path, conflict): &(String, Option<FileConflict>)| {
            let mut facts = ConflictFile::path(path);
            if let Some(conflict) = conflict {
                facts.conflict_type = Some(conflict.conflict_type.clone());
                (facts.your_lines, facts.their_lines) = (conflict.first.clone(), conflict.second.clone());
            }
            if swap {
                std::mem::swap(&mut facts.your_lines, &mut facts.their_lines);
            }
            facts
        };
        files.iter().map(one).collect()
    };
    [
        messages::in_flight(&pair.first, &pair.second, level, facts(false)),
        messages::in_flight(&pair.second, &pair.first, level, facts(true)),
    ]
}

/// Asks the user, once, about conflicts that lasted for the whole window.
fn escalate(
    pair: &AgentPair,
    files: &mut BTreeMap<String, FileState>,
    now: Timestamp,
    window: SignedDuration,
) -> Option<Message> {
    let due = |state: &FileState| {
        state.reported >= ConflictLevel::Overlap
            && state.quiet_since.is_none()
            && !state.escalated
            && after(state.since, window) <= now
    };
    let mut paths = Vec::new();
    for (path, state) in files.iter_mut().filter(|(_, state)| due(state)) {
        state.escalated = true;
        paths.push(path.clone());
    }
    (!paths.is_empty()).then(|| {
        let seconds = u64::try_from(window.as_secs()).unwrap_or_default();
        messages::unresolved(&pair.first, &pair.second, &paths, seconds)
    })
}
