//! Current conflicts, from the facts in conflict warnings.

use jiff::Timestamp;
use paw_broker::conflict::{ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange};
use paw_broker::{Message, StoredMessage, watch};
use paw_core::AgentId;
use serde::{Deserialize, Serialize};

use crate::generated::is_generated;
use crate::session::SessionView;

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

/// From the least to the most serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictKind {
    /// Both changed it, and the changes merge.
    Additive,
    /// Both agents plan to change the file.
    Planned,
    /// Both changed it; whether the changes merge is unknown.
    Shared,
    /// The first agent changed a file that the second had claimed.
    Trespass,
    /// Both changed it, and the changes do not merge.
    #[serde(rename = "conflict")]
    Clash,
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

/// Conflicts that a list shows in one row: those about one file, or all those about generated files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictGroup<'a> {
    /// The most serious kind.
    pub kind: ConflictKind,
    /// Whether the files are generated: build output, caches, lock files.
    pub generated: bool,
    /// Without repetitions.
    pub files: Vec<&'a str>,
    /// Without repetitions.
    pub agents: Vec<&'a AgentId>,
    pub since: Timestamp,
    pub conflicts: Vec<&'a ConflictView>,
}

impl ConflictGroup<'_> {
    /// Identifies the group while it lasts.
    pub fn key(&self) -> &str {
        match self.files.as_slice() {
            [file] if !self.generated => file,
            _ => "",
        }
    }
}

impl SessionView {
    /// The conflicts in groups: the oldest file first, generated files last.
    pub fn conflict_groups(&self) -> Vec<ConflictGroup<'_>> {
        let mut groups: Vec<ConflictGroup<'_>> = Vec::new();
        for conflict in &self.conflicts {
            let generated = is_generated(&conflict.file);
            let fits = |group: &&mut ConflictGroup<'_>| {
                group.generated == generated && (generated || group.files == [conflict.file.as_str()])
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.add(conflict),
                None => groups.push(ConflictGroup::new(conflict, generated)),
            }
        }
        groups.sort_by_key(|group| group.generated);
        groups
    }
}

impl<'a> ConflictGroup<'a> {
    fn new(first: &'a ConflictView, generated: bool) -> Self {
        let (files, agents) = (vec![first.file.as_str()], first.agents.iter().collect());
        Self { kind: first.kind, generated, files, agents, since: first.since, conflicts: vec![first] }
    }

    fn add(&mut self, conflict: &'a ConflictView) {
        self.kind = self.kind.max(conflict.kind);
        self.since = self.since.min(conflict.since);
        if !self.files.contains(&conflict.file.as_str()) {
            self.files.push(&conflict.file);
        }
        for agent in &conflict.agents {
            if !self.agents.contains(&agent) {
                self.agents.push(agent);
            }
        }
        self.conflicts.push(conflict);
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
    } else if make_room(known, &file.path) {
        let (file, agents) = (file.path.clone(), [first.clone(), second.clone()]);
        let kind = kind(facts, None);
        known.push(ConflictView { key, kind, file, lines: ranges, agents, since: stored.at, details });
    }
}

/// Whether there is room for a conflict about this file. Generated files give way to others.
fn make_room(known: &mut Vec<ConflictView>, file: &str) -> bool {
    if known.len() < MAX_CONFLICTS {
        return true;
    }
    let replaced = known.iter().position(|conflict| is_generated(&conflict.file));
    match replaced.filter(|_| !is_generated(file)) {
        Some(index) => {
            known.remove(index);
            true
        }
        None => false,
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
