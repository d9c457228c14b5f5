//! Which conflicts there are, from the facts the radar puts into its messages.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_broker::message::Message;
use paw_broker::radar::{Facts, FileFacts, Kind, Level, LineRange};
use paw_broker::{Stored, watch};
use paw_core::AgentId;

use crate::dashboard::{Conflict, ConflictKind, Feed};
use crate::text::Text;

/// More than this no screen shows.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Conflicts {
    known: BTreeMap<String, Known>,
    /// Until when each agent's plan holds.
    plans: BTreeMap<AgentId, Timestamp>,
}

#[derive(Debug)]
struct Known {
    kind: Kind,
    agents: [AgentId; 2],
    file: String,
    shown: Conflict,
}

impl Conflicts {
    pub(super) fn on_message(&mut self, stored: &Stored) -> Vec<Feed> {
        let mut feeds = Vec::new();
        if let Message::Intent(intent) = &stored.message {
            self.plans.insert(intent.agent_id.clone(), intent.expires(stored.at));
        }
        if let Some(facts) = Facts::find(&stored.message) {
            for file in &facts.files {
                feeds.extend(self.on_fact(&facts, file, stored));
            }
        }
        feeds.extend(self.outdated(stored));
        feeds
    }

    fn on_fact(&mut self, facts: &Facts, file: &FileFacts, stored: &Stored) -> Option<Feed> {
        // Both sides are told; the conflict is one.
        let swapped = facts.kind != Kind::Ownership && facts.you > facts.other;
        let (first, second) = if swapped { (&facts.other, &facts.you) } else { (&facts.you, &facts.other) };
        let key = format!("{:?}|{first}|{second}|{}", facts.kind, file.path);
        if facts.level == Level::Cleared {
            return self.known.remove(&key).map(|_| Feed::ConflictCleared(key));
        }
        let before = self
            .known
            .get(&key)
            .map(|known| (known.shown.kind, known.shown.since, known.shown.lines.clone()));
        if before.is_none() && self.known.len() >= MOST {
            return None;
        }
        let kind = match (facts.kind, facts.level) {
            (Kind::Forward, _) => ConflictKind::Planned,
            (Kind::Ownership, _) => ConflictKind::Trespass,
            (Kind::InFlight, Level::Additive) => ConflictKind::Additive,
            (Kind::InFlight, Level::Conflict) => ConflictKind::Clash,
            // That somebody was asked about it does not change what it is.
            (Kind::InFlight, Level::Escalated) => {
                before.as_ref().map_or(ConflictKind::Shared, |(kind, ..)| *kind)
            }
            (Kind::InFlight, Level::Overlap | Level::Cleared) => ConflictKind::Shared,
        };
        let told = lines(if swapped { &file.their_lines } else { &file.your_lines });
        let (since, lines) = match before {
            Some((_, since, lines)) if told.is_empty() => (since, lines),
            Some((_, since, _)) => (since, told),
            None => (stored.at, told),
        };
        let shown = Conflict {
            key: key.clone(),
            kind,
            file: Text::line(&file.path),
            lines,
            agents: [first, second].map(|agent| agent.as_str().into()),
            since,
            story: story(&stored.message),
        };
        let agents = [first.clone(), second.clone()];
        let known = Known { kind: facts.kind, agents, file: file.path.clone(), shown: shown.clone() };
        self.known.insert(key, known);
        Some(Feed::Conflict(shown))
    }

    /// What the radar does not take back: plans that lapsed, claimed files that were left alone again, and agents that
    /// are gone.
    fn outdated(&mut self, stored: &Stored) -> Vec<Feed> {
        let plans = &self.plans;
        let lapsed = |agent: &AgentId| plans.get(agent).is_some_and(|until| *until < stored.at);
        let left_alone = |known: &Known| match &stored.message {
            Message::Status(status) if status.agent_id == known.agents[0] => {
                status.modified_files.as_ref().is_some_and(|files| !files.contains(&known.file))
            }
            _ => false,
        };
        let gone = watch::is_gone(&stored.message);
        let over = self.known.iter().filter(|(_, known)| match known.kind {
            _ if gone && known.agents.contains(&stored.sender) => true,
            Kind::Forward => known.agents.iter().any(lapsed),
            Kind::Ownership => left_alone(known),
            Kind::InFlight => false,
        });
        let over: Vec<String> = over.map(|(key, _)| key.clone()).collect();
        self.known.retain(|key, _| !over.contains(key));
        over.into_iter().map(Feed::ConflictCleared).collect()
    }
}

fn lines(ranges: &[LineRange]) -> Text {
    let range = |LineRange(first, last): &LineRange| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    Text::line(&ranges.iter().map(range).collect::<Vec<_>>().join(","))
}

fn story(message: &Message) -> Text {
    match message {
        Message::Feedback(feedback) => Text::new(&feedback.errors.join("\n")),
        Message::Question(question) => Text::new(&question.question),
        _ => Text::default(),
    }
}
