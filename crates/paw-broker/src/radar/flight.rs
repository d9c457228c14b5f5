//! Two agents changed the same files. Pure.
//!
//! Where the watcher sees both, git decides; a pair whose work changed since is left as it was until git has spoken
//! again. Where nobody can look inside, sharing a file is enough, unless both announced different parts of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;

use super::facts::{Facts, FileFacts, Level};
use super::region::meeting;
use super::{CALM, Clash, Pair, Sky, Verdict, after, text};
use crate::message::Message;

/// What is known about one file of one pair.
#[derive(Debug, Clone)]
struct Standing {
    /// The worst that was said.
    told: Level,
    /// Since when it has been that bad.
    since: Timestamp,
    /// Since when it seems to be over.
    calm: Option<Timestamp>,
    escalated: bool,
}

/// How it stands right now.
#[derive(Debug, Clone)]
struct Now {
    level: Level,
    clash: Option<Clash>,
}

#[derive(Debug, Default)]
pub(super) struct Flights {
    standing: BTreeMap<Pair, BTreeMap<String, Standing>>,
}

impl Flights {
    pub(super) fn remember(&mut self, facts: &Facts, at: Timestamp) {
        let files = self.standing.entry(Pair::new(facts.you.clone(), facts.other.clone())).or_default();
        for file in &facts.files {
            if facts.level == Level::Cleared {
                files.remove(&file.path);
                continue;
            }
            let new = Standing { told: Level::Additive, since: at, calm: None, escalated: false };
            let standing = files.entry(file.path.clone()).or_insert(new);
            if facts.level == Level::Escalated {
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
            let warned = files.iter().filter(|(_, standing)| standing.told >= Level::Overlap);
            let over: Vec<FileFacts> = warned.map(|(path, _)| FileFacts::path(path)).collect();
            if !over.is_empty() {
                publish.push(text::in_flight(other, agent, Level::Cleared, over));
            }
            false
        });
        publish
    }

    pub(super) fn next_tick(&self, sky: &Sky, window: SignedDuration) -> Option<Timestamp> {
        let when = |standing: &Standing| match standing.calm {
            Some(calm) => Some(after(calm, CALM)),
            None => (standing.told >= Level::Overlap && !standing.escalated)
                .then(|| after(standing.since, window)),
        };
        let seen = self.standing.iter().filter(|(pair, _)| sky.sees(pair));
        seen.flat_map(|(_, files)| files.values()).filter_map(when).min()
    }

    pub(super) fn look(&mut self, sky: &Sky, now: Timestamp, window: SignedDuration) -> Vec<Message> {
        let mut publish = Vec::new();
        let shared = shared_files(sky);
        let pairs: BTreeSet<Pair> =
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
fn state(sky: &Sky, pair: &Pair, shared: Option<&BTreeSet<String>>) -> Option<BTreeMap<String, Now>> {
    let work = |agent| sky.work.get(agent).filter(|work| !work.past);
    let (first, second) = (work(&pair.first)?, work(&pair.second)?);
    let each = |level: fn(&Sky, &Pair, &str) -> Level| -> BTreeMap<String, Now> {
        let now = |path: &String| (path.clone(), Now { level: level(sky, pair, path), clash: None });
        shared.into_iter().flatten().map(now).collect()
    };
    if first.commit.is_none() || second.commit.is_none() {
        return Some(each(
            |sky, pair, path| {
                if announced_apart(sky, pair, path) { Level::Additive } else { Level::Overlap }
            },
        ));
    }
    // Without a question to ask one of them has changed nothing.
    let Some(ask) = sky.ask(pair) else { return Some(BTreeMap::new()) };
    match sky.verdict(&ask)? {
        Verdict::Clean => Some(each(|_, _, _| Level::Additive)),
        Verdict::Unknown => Some(each(|_, _, _| Level::Overlap)),
        Verdict::Conflict(clashes) => {
            let mut state = each(|_, _, _| Level::Additive);
            for clash in clashes {
                state.insert(clash.path.clone(), Now { level: Level::Conflict, clash: Some(clash.clone()) });
            }
            Some(state)
        }
    }
}

/// Files that both of a pair have changed.
fn shared_files(sky: &Sky) -> BTreeMap<Pair, BTreeSet<String>> {
    let mut agents_of: BTreeMap<&str, Vec<&AgentId>> = BTreeMap::new();
    for (agent, work) in &sky.work {
        for file in work.files() {
            agents_of.entry(file).or_default().push(agent);
        }
    }
    let mut shared: BTreeMap<Pair, BTreeSet<String>> = BTreeMap::new();
    for (file, agents) in agents_of {
        for (at, first) in agents.iter().enumerate() {
            for second in &agents[at + 1..] {
                let pair = Pair::new((*first).clone(), (*second).clone());
                shared.entry(pair).or_default().insert(file.to_owned());
            }
        }
    }
    shared
}

fn announced_apart(sky: &Sky, pair: &Pair, path: &str) -> bool {
    let regions = |agent| sky.announced.get(agent)?.files.get(path);
    match (regions(&pair.first), regions(&pair.second)) {
        (Some(first), Some(second)) => meeting(first, second).is_none(),
        _ => false,
    }
}

fn judge(
    pair: &Pair,
    files: &mut BTreeMap<String, Standing>,
    state: &BTreeMap<String, Now>,
    now: Timestamp,
) -> Vec<Message> {
    let mut said: BTreeMap<Level, Vec<(String, Option<Clash>)>> = BTreeMap::new();
    for (path, current) in state {
        let known = files.get_mut(path);
        let bad = current.level >= Level::Overlap;
        match known {
            Some(standing) if current.level <= standing.told && (bad || standing.told < Level::Overlap) => {
                standing.calm = None;
            }
            // It was bad and seems to merge now.
            Some(standing) if !bad => {
                if is_calm(standing, now) {
                    said.entry(Level::Cleared).or_default().push((path.clone(), None));
                    *standing = Standing { told: Level::Additive, since: now, calm: None, escalated: false };
                }
            }
            known => {
                let bad_before = known.filter(|standing| standing.told >= Level::Overlap);
                let (since, escalated) =
                    bad_before.map_or((now, false), |standing| (standing.since, standing.escalated));
                let standing = Standing { told: current.level, since, calm: None, escalated };
                files.insert(path.clone(), standing);
                said.entry(current.level).or_default().push((path.clone(), current.clash.clone()));
            }
        }
    }
    files.retain(|path, standing| {
        let over = !state.contains_key(path) && is_calm(standing, now);
        if over && standing.told >= Level::Overlap {
            said.entry(Level::Cleared).or_default().push((path.clone(), None));
        }
        !over
    });
    said.into_iter().rev().flat_map(|(level, files)| tell(pair, level, &files)).collect()
}

fn is_calm(standing: &mut Standing, now: Timestamp) -> bool {
    let since = *standing.calm.get_or_insert(now);
    after(since, CALM) <= now
}

/// Both hear of it, each from its own side.
fn tell(pair: &Pair, level: Level, files: &[(String, Option<Clash>)]) -> [Message; 2] {
    let facts = |swap: bool| -> Vec<FileFacts> {
        let one = |(path, clash): &(String, Option<Clash>)| {
            let mut facts = FileFacts::path(path);
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
        text::in_flight(&pair.first, &pair.second, level, facts(false)),
        text::in_flight(&pair.second, &pair.first, level, facts(true)),
    ]
}

/// Asks a person, once, about what has been bad for the whole window.
fn escalate(
    pair: &Pair,
    files: &mut BTreeMap<String, Standing>,
    now: Timestamp,
    window: SignedDuration,
) -> Option<Message> {
    let due = |standing: &Standing| {
        standing.told >= Level::Overlap
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
        text::unresolved(&pair.first, &pair.second, &paths, seconds)
    })
}
