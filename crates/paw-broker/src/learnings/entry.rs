//! One line of the file, and its section.

use std::collections::BTreeSet;

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::text::{self, plural};
use serde_json::{Value, json};

use super::failure::GateFailure;
use crate::message::LearningMessage;

/// The sections of a session's block, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LearningSection {
    Conflicts,
    Stuck,
    Recovery,
    Permissions,
    FailureShapes,
    Sandbox,
    DocumentationGaps,
    Drift,
    ScopeMistakes,
    Friction,
    Other,
}

impl LearningSection {
    pub const ALL: [Self; 11] = [
        Self::Conflicts,
        Self::Stuck,
        Self::Recovery,
        Self::Permissions,
        Self::FailureShapes,
        Self::Sandbox,
        Self::DocumentationGaps,
        Self::Drift,
        Self::ScopeMistakes,
        Self::Friction,
        Self::Other,
    ];

    pub fn heading(self) -> &'static str {
        match self {
            Self::Conflicts => "Conflict events",
            Self::Stuck => "Where agents got stuck",
            Self::Recovery => "Recovery cycles",
            Self::Permissions => "Permission patterns",
            Self::FailureShapes => "Recurring failure shapes",
            Self::Sandbox => "Sandbox warnings",
            Self::DocumentationGaps => "Documentation gaps",
            Self::Drift => "ADR / architectural drift",
            Self::ScopeMistakes => "Scope-mistake signals",
            Self::Friction => "Tooling friction",
            Self::Other => "Other learnings",
        }
    }
}

/// One line, and which older line of the file it replaces.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningEntry {
    pub section: LearningSection,
    pub text: String,
    /// The start and end of an older version of this line.
    pub(super) older: Option<(String, String)>,
    pub(super) fact: Option<LearningFact>,
}

/// The data that is published about an entry. Entries that came as messages have none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LearningFact {
    pub(super) category: &'static str,
    /// The agent it concerns. `None`: the supervisor.
    pub(super) agent: Option<AgentId>,
    /// Unique within its category and session.
    pub(super) key: String,
    pub(super) body: Value,
}

pub(super) const CONFLICT: &str = "conflict_event";
pub(super) const STUCK: &str = "stuck_duration";
pub(super) const RECOVERY: &str = "recovery_cycles";
pub(super) const PERMISSION: &str = "permission_pattern";
pub(super) const RECURRING: &str = "recurring_error";
pub(super) const SANDBOX: &str = "sandbox_warning";

/// Marks what was unresolved when the session ended. A later line without the mark replaces it.
const OPEN: &str = "(unresolved at session end)";
/// The most files in one line.
const MAX_FILES: usize = 5;
/// The most characters of an agent's text in one line.
const MAX_TEXT: usize = 600;

/// Between a line and how often it was noticed.
pub(super) const TIMES: (&str, &str) = (" (", " times)");

impl LearningEntry {
    /// The same line with how often it was noticed.
    pub(super) fn counted(&self, times: usize) -> Self {
        if times < 2 {
            return self.clone();
        }
        let (open, close) = TIMES;
        Self { text: format!("{}{open}{times}{close}", self.text), ..self.clone() }
    }

    /// Whether `text` is an older version of this line.
    pub(super) fn replaces(&self, text: &str) -> bool {
        if uncounted(&self.text) != self.text && uncounted(text) == uncounted(&self.text) {
            return true;
        }
        self.older.as_ref().is_some_and(|(start, end)| {
            text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
        })
    }
}

pub(super) fn forward(
    agents: [&AgentId; 2],
    specs: [Option<&str>; 2],
    files: &BTreeSet<String>,
) -> LearningEntry {
    let [first, second] = agents;
    let stem = match specs {
        [Some(one), Some(two)] if one == two => {
            format!("forward-conflict-intra-spec: {first} and {second} (spec {})", plain(one))
        }
        [Some(one), Some(two)] => {
            format!(
                "forward-conflict-cross-spec: {first} and {second} (specs {}, {})",
                plain(one),
                plain(two)
            )
        }
        _ => format!("forward-conflict-cross-spec: {first} and {second}"),
    };
    conflict("forward", agents, &stem, files)
}

pub(super) fn in_flight(agents: [&AgentId; 2], files: &BTreeSet<String>) -> LearningEntry {
    let stem = format!("in-flight-conflict: {} and {}", agents[0], agents[1]);
    conflict("in-flight", agents, &stem, files)
}

fn conflict(
    kind: &str,
    [first, second]: [&AgentId; 2],
    stem: &str,
    files: &BTreeSet<String>,
) -> LearningEntry {
    let mut named: Vec<String> = files.iter().take(MAX_FILES).map(|file| code(file)).collect();
    if files.len() > MAX_FILES {
        named.push(format!("{} more", files.len() - MAX_FILES));
    }
    let text = if named.is_empty() { stem.to_owned() } else { format!("{stem} in {}", named.join(", ")) };
    let fact = LearningFact {
        category: CONFLICT,
        agent: None,
        key: format!("{kind}|{first}|{second}"),
        body: json!({"kind": kind, "agents": [first, second], "files": files.iter().take(MAX_FILES).collect::<Vec<_>>()}),
    };
    // A later version has more files.
    let older = Some((format!("{stem} in "), String::new()));
    LearningEntry { section: LearningSection::Conflicts, text, older, fact: Some(fact) }
}

pub(super) fn ownership(violator: &AgentId, owner: &AgentId, file: &str) -> LearningEntry {
    let fact = LearningFact {
        category: CONFLICT,
        agent: Some(violator.clone()),
        key: format!("ownership|{violator}|{owner}|{file}"),
        body: json!({"kind": "ownership", "violator": violator, "owner": owner, "file": file}),
    };
    let text = format!("ownership-violation: {violator} edited {} owned by {owner}", code(file));
    LearningEntry { section: LearningSection::Conflicts, text, older: None, fact: Some(fact) }
}

pub(super) fn waited(
    agent: &AgentId,
    on: &AgentId,
    since: Timestamp,
    until: Timestamp,
    seq: u64,
) -> LearningEntry {
    let seconds = seconds(since, until);
    let fact = LearningFact {
        category: STUCK,
        agent: Some(agent.clone()),
        key: seq.to_string(),
        body: json!({"agent": agent, "waiting_on": on, "seconds": seconds}),
    };
    let text = format!("{agent}: blocked {} waiting on {on}", duration(seconds));
    LearningEntry {
        section: LearningSection::Stuck,
        text,
        older: Some(open_wait(agent, on)),
        fact: Some(fact),
    }
}

pub(super) fn still_waiting(
    agent: &AgentId,
    on: &AgentId,
    since: Timestamp,
    now: Timestamp,
) -> LearningEntry {
    let text = format!("{agent}: blocked {} waiting on {on} {OPEN}", duration(seconds(since, now)));
    LearningEntry { section: LearningSection::Stuck, text, older: Some(open_wait(agent, on)), fact: None }
}

fn open_wait(agent: &AgentId, on: &AgentId) -> (String, String) {
    (format!("{agent}: blocked "), format!(" waiting on {on} {OPEN}"))
}

pub(super) fn recovered(agent: &AgentId, cycles: u32, seq: u64) -> LearningEntry {
    let fact = LearningFact {
        category: RECOVERY,
        agent: Some(agent.clone()),
        key: seq.to_string(),
        body: json!({"agent": agent, "cycles": cycles}),
    };
    let text = format!("{agent}: {} before verifying", feedback_cycles(cycles));
    LearningEntry {
        section: LearningSection::Recovery,
        text,
        older: Some(open_cycles(agent)),
        fact: Some(fact),
    }
}

pub(super) fn not_verified(agent: &AgentId, cycles: u32) -> LearningEntry {
    let text = format!("{agent}: {} and not verified {OPEN}", feedback_cycles(cycles));
    LearningEntry { section: LearningSection::Recovery, text, older: Some(open_cycles(agent)), fact: None }
}

fn open_cycles(agent: &AgentId) -> (String, String) {
    (format!("{agent}: "), format!(" and not verified {OPEN}"))
}

fn feedback_cycles(cycles: u32) -> String {
    plural(cycles, "feedback cycle")
}

pub(super) fn approved(pattern: &str, count: u64) -> LearningEntry {
    let fact = LearningFact {
        category: PERMISSION,
        agent: None,
        key: pattern.to_owned(),
        body: json!({"pattern": pattern, "count": count}),
    };
    let start = format!("{} auto-approved ", code(pattern));
    let text = format!("{start}{count} times");
    LearningEntry {
        section: LearningSection::Permissions,
        text,
        older: Some((start, " times".to_owned())),
        fact: Some(fact),
    }
}

pub(super) fn failed(failure: &GateFailure, times: usize, agents: &BTreeSet<&AgentId>) -> LearningEntry {
    let GateFailure { gate, shape, sandbox } = failure;
    let (section, category) = if *sandbox {
        (LearningSection::Sandbox, SANDBOX)
    } else {
        (LearningSection::FailureShapes, RECURRING)
    };
    let named: Vec<_> = agents.iter().take(MAX_FILES).map(|agent| agent.as_str()).collect();
    let more = if agents.len() > named.len() { ", …" } else { "" };
    let start = format!("{} in gate {}: ", code(shape), plain(gate));
    let text = format!("{start}{} ({}{more})", plural(times, "time"), named.join(", "));
    let fact = LearningFact {
        category,
        agent: None,
        key: format!("{gate}|{shape}"),
        body: json!({"gate": gate, "shape": shape, "count": times, "agents": named}),
    };
    LearningEntry { section, text, older: Some((start, ")".to_owned())), fact: Some(fact) }
}

/// The entry for a received learning. `None` for the learnings of this module, which has their entries already.
pub(super) fn noticed(learning: &LearningMessage) -> Option<LearningEntry> {
    let section = match learning.category.as_str() {
        CONFLICT | STUCK | RECOVERY | PERMISSION | RECURRING | SANDBOX => return None,
        "recurring_failure_shape" => LearningSection::FailureShapes,
        "doc_gap" => LearningSection::DocumentationGaps,
        "adr_drift" => LearningSection::Drift,
        "scope_mistake" => LearningSection::ScopeMistakes,
        "tooling_friction" => LearningSection::Friction,
        _ => LearningSection::Other,
    };
    let mut text = plain(&learning.title);
    if let Some(branch) = &learning.branch_id {
        text = format!("{text} ({branch})");
    }
    let body = plain(&flatten(&learning.body));
    if !body.is_empty() {
        text = format!("{text}: {body}");
    }
    Some(LearningEntry { section, text, older: None, fact: None })
}

/// The line without how often it was noticed.
pub(super) fn uncounted(line: &str) -> &str {
    let (open, close) = TIMES;
    let found = line.strip_suffix(close).and_then(|rest| rest.rsplit_once(open));
    match found {
        Some((own, times)) if !times.is_empty() && times.bytes().all(|byte| byte.is_ascii_digit()) => own,
        _ => line,
    }
}

/// A JSON value of any shape as one line of text.
fn flatten(body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flatten).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}: {}", flatten(value));
            fields.iter().map(field).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// An agent's text as one line that cannot start a heading, list, comment or HTML in the Markdown file.
fn plain(words: &str) -> String {
    let text = text::line(&text::truncate_chars(words, MAX_TEXT)).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace('<', "&lt;");
    if text.starts_with(['#', '>', '-', '+', '*', '=', '|']) { format!("\\{text}") } else { text }
}

/// A name between backticks. Backticks in the name are replaced.
fn code(name: &str) -> String {
    format!("`{}`", text::line(&text::truncate_chars(name, MAX_TEXT)).replace('`', "'"))
}

fn seconds(since: Timestamp, until: Timestamp) -> i64 {
    until.duration_since(since).as_secs().max(0)
}

/// `45s`, `2m05s`, `1h02m05s`.
fn duration(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest:02}s"),
        _ => format!("{hours}h{minutes:02}m{rest:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_hours_minutes_and_seconds() {
        let texts = [0, 45, 60, 125, 3_725].map(duration);
        assert_eq!(texts, ["0s", "45s", "1m00s", "2m05s", "1h02m05s"]);
    }

    #[test]
    fn text_of_agents_stays_on_one_line_and_is_escaped() {
        assert_eq!(
            plain("## evil\n\n- list\u{1b}[31m <!-- x -->"),
            "\\## evil - list\u{fffd}[31m &lt;!-- x -->"
        );
        assert_eq!(code("a`b\nc"), "`a'b c`");
    }
}
