//! The detector's messages: text for agents, and a [`ConflictReport`] as data. Pure.

use paw_core::AgentId;
use paw_core::text::plural;
use serde_json::Value;

use super::region::{RegionOverlap, describe};
use super::report::{
    ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange, PAYLOAD_FIELD,
};
use super::{IntentOverlap, supervisor};
use crate::message::{FeedbackMessage, Message, QuestionMessage, Region};

const TAG: &str = "[conflict-detector]";
/// Sentences in one message. The report lists more files.
const MAX_SENTENCES: usize = 20;
const MAX_FILES: usize = 200;

/// Two agents announced changes to the same files.
pub(super) fn forward(you: &AgentId, other: &AgentId, claims: &[IntentOverlap]) -> Message {
    let regions = |regions: &[Region]| {
        if regions.is_empty() { String::new() } else { format!(" (regions: {})", describe(regions)) }
    };
    let plain = claims.iter().all(|claim| claim.theirs.is_empty());
    let mut sentence = if plain {
        let files: Vec<&str> = claims.iter().map(|claim| claim.path.as_str()).collect();
        format!(
            "{TAG} forward conflict: agent {other} also intends to modify these files: {}",
            files.join(", ")
        )
    } else {
        let files: Vec<String> =
            claims.iter().map(|claim| format!("{}{}", claim.path, regions(&claim.theirs))).collect();
        format!("{TAG} forward conflict: agent {other} also intends to modify: {}", files.join("; "))
    };
    if claims.iter().any(|claim| claim.overlap == RegionOverlap::Possible) {
        sentence.push_str(
            ". A name and a range of lines cannot be compared; announce the same kind of region to be sure.",
        );
    }
    let files = claims.iter().map(|claim| ConflictFile::path(&claim.path)).collect();
    feedback(
        you,
        vec![sentence],
        ConflictReport {
            kind: ConflictCategory::Forward,
            level: ConflictLevel::Overlap,
            you: you.clone(),
            other: other.clone(),
            files,
        },
    )
}

/// Two agents changed the same files.
pub(super) fn in_flight(
    you: &AgentId,
    other: &AgentId,
    level: ConflictLevel,
    files: Vec<ConflictFile>,
) -> Message {
    let sentence = |file: &ConflictFile| {
        let path = &file.path;
        match level {
            ConflictLevel::Cleared => {
                format!("{TAG} resolved: {path} no longer conflicts with the work of {other}")
            }
            ConflictLevel::Additive => format!(
                "{TAG} shared file, additive — resolve at merge: {path} is being modified by both you and {other}, and both changes merge as they are"
            ),
            ConflictLevel::Overlap | ConflictLevel::Conflict | ConflictLevel::Escalated => format!(
                "{TAG} in-flight conflict: file {path} is being modified by both you and {other}{}",
                location(file)
            ),
        }
    };
    let mut sentences: Vec<String> = files.iter().take(MAX_SENTENCES).map(sentence).collect();
    if files.len() > MAX_SENTENCES {
        sentences.push(format!(
            "{TAG} and {} shared with {other}",
            plural(files.len() - MAX_SENTENCES, "more file")
        ));
    }
    feedback(
        you,
        sentences,
        ConflictReport {
            kind: ConflictCategory::InFlight,
            level,
            you: you.clone(),
            other: other.clone(),
            files,
        },
    )
}

fn location(file: &ConflictFile) -> String {
    let Some(conflict_type) = &file.conflict_type else { return String::new() };
    match (lines(&file.your_lines), lines(&file.their_lines)) {
        (Some(yours), Some(theirs)) => format!(": your {yours} and their {theirs} do not merge"),
        (Some(yours), None) => format!(": your {yours} and their change do not merge ({conflict_type})"),
        (None, Some(theirs)) => format!(": your change and their {theirs} do not merge ({conflict_type})"),
        (None, None) => format!(": the changes do not merge ({conflict_type})"),
    }
}

fn lines(ranges: &[LineRange]) -> Option<String> {
    let one = |range: &LineRange| {
        if range.0 == range.1 { range.0.to_string() } else { format!("{}-{}", range.0, range.1) }
    };
    let word = match ranges {
        [] => return None,
        [LineRange(first, last)] if first == last => "line",
        _ => "lines",
    };
    let mut shown: Vec<String> = ranges.iter().take(5).map(one).collect();
    if ranges.len() > 5 {
        shown.push("…".to_owned());
    }
    Some(format!("{word} {}", shown.join(", ")))
}

/// The conflict still exists after `seconds`.
pub(super) fn unresolved(a: &AgentId, b: &AgentId, paths: &[String], seconds: u64) -> Message {
    let text = format!(
        "{TAG} in-flight conflict on {} between {a} and {b} has not resolved within {seconds}s. Human input requested.",
        first_paths(paths)
    );
    question(text, ConflictCategory::InFlight, a, b, paths)
}

/// `violator` changed files that `owner` announced.
pub(super) fn violation(violator: &AgentId, owner: &AgentId, paths: &[String]) -> Message {
    let sentence = |path: &String| {
        format!(
            "{TAG} ownership violation: you edited {path} but agent {owner} declared intent over it. Update your agent.intent to declare this file or back off."
        )
    };
    let mut sentences: Vec<String> = paths.iter().take(MAX_SENTENCES).map(sentence).collect();
    if paths.len() > MAX_SENTENCES {
        sentences.push(format!("{TAG} and {} of {owner}", plural(paths.len() - MAX_SENTENCES, "more file")));
    }
    let files = paths.iter().map(ConflictFile::path).collect();
    let (you, other) = (violator.clone(), owner.clone());
    feedback(
        violator,
        sentences,
        ConflictReport {
            kind: ConflictCategory::Ownership,
            level: ConflictLevel::Conflict,
            you,
            other,
            files,
        },
    )
}

pub(super) fn violation_review(violator: &AgentId, owner: &AgentId, paths: &[String]) -> Message {
    let text = format!(
        "{TAG} ownership violation: {violator} edited {} which is in {owner}'s intent. Human review requested.",
        first_paths(paths)
    );
    question(text, ConflictCategory::Ownership, violator, owner, paths)
}

fn first_paths(paths: &[String]) -> String {
    let shown = paths.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if paths.len() > 5 { format!("{shown} and {} more", paths.len() - 5) } else { shown }
}

fn feedback(to: &AgentId, errors: Vec<String>, facts: ConflictReport) -> Message {
    let mut message = FeedbackMessage::new(to.clone(), supervisor(), errors);
    message.extra.payload.insert(PAYLOAD_FIELD.into(), value(facts));
    message.into()
}

fn question(
    text: String,
    kind: ConflictCategory,
    you: &AgentId,
    other: &AgentId,
    paths: &[String],
) -> Message {
    let mut message = QuestionMessage::new(supervisor(), text);
    let files = paths.iter().map(ConflictFile::path).collect();
    let facts = ConflictReport {
        kind,
        level: ConflictLevel::Escalated,
        you: you.clone(),
        other: other.clone(),
        files,
    };
    message.extra.payload.insert(PAYLOAD_FIELD.into(), value(facts));
    message.into()
}

fn value(mut facts: ConflictReport) -> Value {
    facts.files.truncate(MAX_FILES);
    // Strings and numbers always serialize.
    serde_json::to_value(facts).unwrap_or_default()
}
