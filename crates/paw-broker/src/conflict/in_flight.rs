//! Two agents changed the same files. Pure.
//!
//! Where the watcher sees both, git decides; a pair whose work changed since is left as it was until git has spoken
//! again. Where nobody can look inside, sharing a file is enough, unless both announced different parts of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use super::region::meeting;
use super::report::{ConflictFile, ConflictLevel, ConflictReport};
use super::{AgentPair, CALM, FileConflict, MergeCheckResult, SessionActivity, after, messages};
use crate::message::Message;

/// What is known about one file of one pair.
#[derive(Debug, Clone)]
struct FileState {
    /// The worst that was said.
    told: ConflictLevel,
    /// Since when it has been that bad.
    since: Timestamp,
    /// Since when it seems to be over.
    calm: Option<Timestamp>,
    escalated: bool,
}

/// How it stands right now.
#[derive(Debug, Clone)]
struct CurrentState {
    level: ConflictLevel,
    clash: Option<FileConflict>,
}

#[derive(Debug, Default)]
pub(super) struct InFlightConflicts {
    standing: BTreeMap<AgentPair, BTreeMap<String, FileState>>,
}

impl InFlightConflicts {
    pub(super) fn remember(&mut self, facts: &ConflictReport, at: Timestamp) {
        let files = self.standing.entry(AgentPair::new(facts.you.clone(), facts.other.clone())).or_default();
        for file in &facts.files {
            if facts.level == ConflictLevel::Cleared {
                files.remove(&file.path);
                continue;
            }
            let new = FileState { told: ConflictLevel::Additive, since: at, calm: None, escalated: false };
            let standing = files.entry(file.path.clone()).or_insert(new);
            if facts.level == ConflictLevel::Escalated {
                standing.escalated = true;
            } else if facts.level > standing.told {
                (standing.told, standing.since) = (facts.level, at);
            }
        }
    }

    /// Forgets an agent. Whoever was warned of it is told that it is over.
    pub(super) fn forget(&mut self, agent: &AgentId) -> Vec<Message> {
        let mut publish = Vec::new();
        self.standing.retain(|pair, files| {
            if !pair.has(agent) {
                return true;
            }
            let other = if pair.first == *agent { &pair.second } else { &pair.first };
            let warned = files.iter().filter(|(_, standing)| standing.told >= ConflictLevel::Overlap);
            let over: Vec<ConflictFile> = warned.map(|(path, _)| ConflictFile::path(path)).collect();
            if !over.is_empty() {
                publish.push(messages::in_flight(other, agent, ConflictLevel::Cleared, over));
            }
            false
        });
        publish
    }

    pub(super) fn next_tick(&self, sky: &SessionActivity, window: SignedDuration) -> Option<Timestamp> {
        let when = |standing: &FileState| match standing.calm {
            Some(calm) => Some(after(calm, CALM)),
            None => (standing.told >= ConflictLevel::Overlap && !standing.escalated)
                .then(|| after(standing.since, window)),
        };
        let seen = self.standing.iter().filter(|(pair, _)| sky.sees(pair));
        seen.flat_map(|(_, files)| files.values()).filter_map(when).min()
    }

    pub(super) fn look(
        &mut self,
        sky: &SessionActivity,
        now: Timestamp,
        window: SignedDuration,
    ) -> Vec<Message> {
        let mut publish = Vec::new();
        let shared = shared_files(sky);
        let pairs: BTreeSet<AgentPair> =
            shared.keys().chain(sky.verdicts.keys()).chain(self.standing.keys()).cloned().collect();
        for pair in pairs {
            let files = self.standing.entry(pair.clone()).or_default();
            // Nobody is asked about what may be over.
            if let Some(state) = state(sky, &pair, shared.get(&pair)) {
                publish.extend(judge(&pair, files, &state, now));
                publish.extend(escalate(&pair, files, now, window));
            }
        }
        self.standing.retain(|_, files| !files.is_empty());
        publish
    }
}

/// How every file of a pair stands, or nothing while that is unknown.
fn state(
    sky: &SessionActivity,
    pair: &AgentPair,
    shared: Option<&BTreeSet<String>>,
) -> Option<BTreeMap<String, CurrentState>> {
    let work = |agent| sky.work.get(agent).filter(|work| !work.past);
    let (first, second) = (work(&pair.first)?, work(&pair.second)?);
    let each =
        |level: fn(&SessionActivity, &AgentPair, &str) -> ConflictLevel| -> BTreeMap<String, CurrentState> {
            let now =
                |path: &String| (path.clone(), CurrentState { level: level(sky, pair, path), clash: None });
            shared.into_iter().flatten().map(now).collect()
        };
    if first.commit.is_none() || second.commit.is_none() {
        return Some(each(|sky, pair, path| {
            if announced_apart(sky, pair, path) { ConflictLevel::Additive } else { ConflictLevel::Overlap }
        }));
    }
    // Without a question to ask one of them has changed nothing.
    let Some(ask) = sky.ask(pair) else { return Some(BTreeMap::new()) };
    match sky.verdict(&ask)? {
        MergeCheckResult::Clean => Some(each(|_, _, _| ConflictLevel::Additive)),
        MergeCheckResult::Unknown => Some(each(|_, _, _| ConflictLevel::Overlap)),
        MergeCheckResult::Conflict(clashes) => {
            let mut state = each(|_, _, _| ConflictLevel::Additive);
            for clash in clashes {
                state.insert(
                    clash.path.clone(),
                    CurrentState { level: ConflictLevel::Conflict, clash: Some(clash.clone()) },
                );
            }
            Some(state)
        }
    }
}

/// Files that both of a pair have changed.
fn shared_files(sky: &SessionActivity) -> BTreeMap<AgentPair, BTreeSet<String>> {
    let mut agents_of: BTreeMap<&str, Vec<&AgentId>> = BTreeMap::new();
    for (agent, work) in &sky.work {
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

fn announced_apart(sky: &SessionActivity, pair: &AgentPair, path: &str) -> bool {
    let regions = |agent| sky.announced.get(agent)?.files.get(path);
    match (regions(&pair.first), regions(&pair.second)) {
        (Some(first), Some(second)) => meeting(first, second).is_none(),
        _ => false,
    }
}

fn judge(
    pair: &AgentPair,
    files: &mut BTreeMap<String, FileState>,
    state: &BTreeMap<String, CurrentState>,
    now: Timestamp,
) -> Vec<Message> {
    let mut said: BTreeMap<ConflictLevel, Vec<(String, Option<FileConflict>)>> = BTreeMap::new();
    for (path, current) in state {
        let known = files.get_mut(path);
        let bad = current.level >= ConflictLevel::Overlap;
        match known {
            Some(standing)
                if current.level <= standing.told && (bad || standing.told < ConflictLevel::Overlap) =>
            {
                standing.calm = None;
            }
            // It was bad and seems to merge now.
            Some(standing) if !bad => {
                if is_calm(standing, now) {
                    said.entry(ConflictLevel::Cleared).or_default().push((path.clone(), None));
                    *standing =
                        FileState { told: ConflictLevel::Additive, since: now, calm: None, escalated: false };
                }
            }
            known => {
                let bad_before = known.filter(|standing| standing.told >= ConflictLevel::Overlap);
                let (since, escalated) =
                    bad_before.map_or((now, false), |standing| (standing.since, standing.escalated));
                let standing = FileState { told: current.level, since, calm: None, escalated };
                files.insert(path.clone(), standing);
                said.entry(current.level).or_default().push((path.clone(), current.clash.clone()));
            }
        }
    }
    files.retain(|path, standing| {
        let over = !state.contains_key(path) && is_calm(standing, now);
        if over && standing.told >= ConflictLevel::Overlap {
            said.entry(ConflictLevel::Cleared).or_default().push((path.clone(), None));
        }
        !over
    });
    said.into_iter().rev().flat_map(|(level, files)| tell(pair, level, &files)).collect()
}

fn is_calm(standing: &mut FileState, now: Timestamp) -> bool {
    let since = *standing.calm.get_or_insert(now);
    after(since, CALM) <= now
}

/// Both hear of it, each from its own side.
fn tell(pair: &AgentPair, level: ConflictLevel, files: &[(String, Option<FileConflict>)]) -> [Message; 2] {
    let facts = |swap: bool| -> Vec<ConflictFile> {
        let one = |(path, clash): &(String, Option<FileConflict>)| {
            let mut facts = ConflictFile::path(path);
            if let Some(clash) = clash {
                facts.how = Some(clash.how.clone());
                (facts.your_lines, facts.their_lines) = (clash.first.clone(), clash.second.clone());
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

/// Asks a person, once, about what has been bad for the whole window.
fn escalate(
    pair: &AgentPair,
    files: &mut BTreeMap<String, FileState>,
    now: Timestamp,
    window: SignedDuration,
) -> Option<Message> {
    let due = |standing: &FileState| {
        standing.told >= ConflictLevel::Overlap
            && standing.calm.is_none()
            && !standing.escalated
            && after(standing.since, window) <= now
    };
    let mut paths = Vec::new();
    for (path, standing) in files.iter_mut().filter(|(_, standing)| due(standing)) {
        standing.escalated = true;
        paths.push(path.clone());
    }
    (!paths.is_empty()).then(|| {
        let seconds = u64::try_from(window.as_secs()).unwrap_or_default();
        messages::unresolved(&pair.first, &pair.second, &paths, seconds)
    })
}
