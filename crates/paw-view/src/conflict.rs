//! Which conflicts there are, from the facts that conflict warnings carry.

use jiff::Timestamp;
use paw_broker::conflict::{ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange};
use paw_broker::{Message, StoredMessage, watch};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

/// More conflicts than a screen shows.
const MOST: usize = 200;

/// Two agents change, or plan to change, the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictView {
    /// The same conflict has the same key for as long as it lasts.
    pub key: String,
    pub kind: ConflictKind,
    pub file: String,
    /// Lines such as `12-40`; empty where they are not known.
    pub lines: String,
    pub agents: [AgentId; 2],
    pub since: Timestamp,
    /// The whole warning.
    pub details: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictKind {
    /// Both plan to change it.
    Planned,
    /// Both are changing it, and it is not known whether the changes merge.
    Shared,
    /// Both are changing it, and the changes merge.
    Additive,
    /// Both changed it, and git cannot merge it.
    #[serde(rename = "conflict")]
    Clash,
    /// The first changed what the second had claimed.
    Trespass,
}

impl ConflictKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Shared => "shared",
            Self::Additive => "additive",
            Self::Clash => "conflict",
            Self::Trespass => "trespass",
        }
    }
}

/// Updates the conflicts. `has_expired` says whether the plan of an agent no longer holds.
pub(crate) fn hear(
    known: &mut Vec<ConflictView>,
    stored: &StoredMessage,
    has_expired: impl Fn(&AgentId) -> bool,
) {
    if let Some(facts) = ConflictReport::find(&stored.message) {
        for file in &facts.files {
            on_fact(known, &facts, file, stored);
        }
    }
    known.retain(|conflict| !is_outdated(conflict, stored, &has_expired));
}

fn on_fact(
    known: &mut Vec<ConflictView>,
    facts: &ConflictReport,
    file: &ConflictFile,
    stored: &StoredMessage,
) {
    // Both agents are warned about one conflict.
    let swapped = facts.kind != ConflictCategory::Ownership && facts.you > facts.other;
    let (first, second) = if swapped { (&facts.other, &facts.you) } else { (&facts.you, &facts.other) };
    let key = format!("{:?}|{first}|{second}|{}", facts.kind, file.path);
    let place = known.iter().position(|conflict| conflict.key == key);
    if facts.level == ConflictLevel::Cleared {
        if let Some(place) = place {
            known.remove(place);
        }
        return;
    }
    let told = lines(if swapped { &file.their_lines } else { &file.your_lines });
    let details = details(&stored.message);
    if let Some(conflict) = place.and_then(|place| known.get_mut(place)) {
        conflict.kind = kind(facts, Some(conflict.kind));
        conflict.details = details;
        if !told.is_empty() {
            conflict.lines = told;
        }
    } else if known.len() < MOST {
        let (file, agents) = (file.path.clone(), [first.clone(), second.clone()]);
        let kind = kind(facts, None);
        known.push(ConflictView { key, kind, file, lines: told, agents, since: stored.at, details });
    }
}

fn kind(facts: &ConflictReport, before: Option<ConflictKind>) -> ConflictKind {
    match (facts.kind, facts.level) {
        (ConflictCategory::Forward, _) => ConflictKind::Planned,
        (ConflictCategory::Ownership, _) => ConflictKind::Trespass,
        (ConflictCategory::InFlight, ConflictLevel::Additive) => ConflictKind::Additive,
        (ConflictCategory::InFlight, ConflictLevel::Conflict) => ConflictKind::Clash,
        // An escalation does not change what it is.
        (ConflictCategory::InFlight, ConflictLevel::Escalated) => before.unwrap_or(ConflictKind::Shared),
        (ConflictCategory::InFlight, ConflictLevel::Overlap | ConflictLevel::Cleared) => ConflictKind::Shared,
    }
}

/// What no warning takes back: expired plans, claimed files that were restored, and agents that left.
fn is_outdated(
    conflict: &ConflictView,
    stored: &StoredMessage,
    has_expired: impl Fn(&AgentId) -> bool,
) -> bool {
    if watch::is_gone_message(&stored.message) && conflict.agents.contains(&stored.sender) {
        return true;
    }
    match conflict.kind {
        ConflictKind::Planned => conflict.agents.iter().any(has_expired),
        ConflictKind::Trespass => match &stored.message {
            Message::Status(status) if status.agent_id == conflict.agents[0] => {
                status.modified_files.as_ref().is_some_and(|files| !files.contains(&conflict.file))
            }
            _ => false,
        },
        ConflictKind::Shared | ConflictKind::Additive | ConflictKind::Clash => false,
    }
}

fn lines(ranges: &[LineRange]) -> String {
    let range = |LineRange(first, last): &LineRange| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

fn details(message: &Message) -> String {
    match message {
        Message::Feedback(feedback) => feedback.errors.join("\n"),
        Message::Question(question) => question.question.clone(),
        _ => String::new(),
    }
}
