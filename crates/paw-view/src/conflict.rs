//! Current conflicts, from the facts in conflict warnings.

use jiff::Timestamp;
use paw_broker::conflict::{ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange};
use paw_broker::{Message, StoredMessage, watch};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

/// More conflicts than fit on a screen.
const MAX_CONFLICTS: usize = 200;

/// Two agents change, or plan to change, the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictView {
    /// Identifies the conflict while it lasts.
    pub key: String,
    pub kind: ConflictKind,
    pub file: String,
    /// Lines such as `12-40`; empty if unknown.
    pub lines: String,
    pub agents: [AgentId; 2],
    pub since: Timestamp,
    /// The full text of the warning.
    pub details: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictKind {
    /// Both agents plan to change the file.
    Planned,
    /// Both changed it; whether the changes merge is unknown.
    Shared,
    /// Both changed it, and the changes merge.
    Additive,
    /// Both changed it, and the changes do not merge.
    #[serde(rename = "conflict")]
    Clash,
    /// The first agent changed a file that the second had claimed.
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

/// Updates the conflicts. `has_expired` returns whether the plan of an agent has expired.
pub(crate) fn update(
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
    // Both agents receive a warning about the same conflict.
    let swapped = facts.kind != ConflictCategory::Ownership && facts.you > facts.other;
    let (first, second) = if swapped { (&facts.other, &facts.you) } else { (&facts.you, &facts.other) };
    let key = format!("{:?}|{first}|{second}|{}", facts.kind, file.path);
    let index = known.iter().position(|conflict| conflict.key == key);
    if facts.level == ConflictLevel::Cleared {
        if let Some(index) = index {
            known.remove(index);
        }
        return;
    }
    let ranges = lines(if swapped { &file.their_lines } else { &file.your_lines });
    let details = details(&stored.message);
    if let Some(conflict) = index.and_then(|index| known.get_mut(index)) {
        conflict.kind = kind(facts, Some(conflict.kind));
        conflict.details = details;
        if !ranges.is_empty() {
            conflict.lines = ranges;
        }
    } else if known.len() < MAX_CONFLICTS {
        let (file, agents) = (file.path.clone(), [first.clone(), second.clone()]);
        let kind = kind(facts, None);
        known.push(ConflictView { key, kind, file, lines: ranges, agents, since: stored.at, details });
    }
}

fn kind(facts: &ConflictReport, before: Option<ConflictKind>) -> ConflictKind {
    match (facts.kind, facts.level) {
        (ConflictCategory::Forward, _) => ConflictKind::Planned,
        (ConflictCategory::Ownership, _) => ConflictKind::Trespass,
        (ConflictCategory::InFlight, ConflictLevel::Additive) => ConflictKind::Additive,
        (ConflictCategory::InFlight, ConflictLevel::Conflict) => ConflictKind::Clash,
        // An escalation does not change the kind.
        (ConflictCategory::InFlight, ConflictLevel::Escalated) => before.unwrap_or(ConflictKind::Shared),
        (ConflictCategory::InFlight, ConflictLevel::Overlap | ConflictLevel::Cleared) => ConflictKind::Shared,
    }
}

/// Conflicts that end without a message: expired plans, restored files, and agents that left.
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
