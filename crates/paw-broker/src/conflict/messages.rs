//! The sentences of the radar, with the facts beside them. Pure.

use paw_core::AgentId;
use serde_json::Value;

use super::region::{RegionOverlap, describe};
use super::report::{
    ConflictCategory, ConflictFile, ConflictLevel, ConflictReport, LineRange, PAYLOAD_FIELD,
};
use super::{IntentOverlap, supervisor};
use crate::message::{FeedbackMessage, Message, QuestionMessage, Region};

const TAG: &str = "[conflict-detector]";
/// Sentences in one message; the facts beside them name more.
const MOST_SENTENCES: usize = 20;
const MOST_FILES: usize = 200;

/// Two agents announced changes of the same files. `yours` and `theirs` are what each said about them.
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
    if claims.iter().any(|claim| claim.meeting == RegionOverlap::Possible) {
        sentence.push_str(
            ". A name and a range of lines cannot be compared: name the same kind of region to be sure.",
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
                where_it_is(file)
            ),
        }
    };
    let mut sentences: Vec<String> = files.iter().take(MOST_SENTENCES).map(sentence).collect();
    if files.len() > MOST_SENTENCES {
        sentences.push(format!("{TAG} and {} more files shared with {other}", files.len() - MOST_SENTENCES));
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

fn where_it_is(file: &ConflictFile) -> String {
    let Some(how) = &file.how else { return String::new() };
    match (lines(&file.your_lines), lines(&file.their_lines)) {
        (Some(yours), Some(theirs)) => format!(": your {yours} and their {theirs} do not merge"),
        (Some(yours), None) => format!(": your {yours} and their change do not merge ({how})"),
        (None, Some(theirs)) => format!(": your change and their {theirs} do not merge ({how})"),
        (None, None) => format!(": the changes do not merge ({how})"),
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

/// Still there after `seconds`.
pub(super) fn unresolved(a: &AgentId, b: &AgentId, paths: &[String], seconds: u64) -> Message {
    let text = format!(
        "{TAG} in-flight conflict on {} between {a} and {b} has not resolved within {seconds}s. Human input requested.",
        some(paths)
    );
    question(text, ConflictCategory::InFlight, a, b, paths)
}

/// `violator` changed what `owner` announced to change.
pub(super) fn violation(violator: &AgentId, owner: &AgentId, paths: &[String]) -> Message {
    let sentence = |path: &String| {
        format!(
            "{TAG} ownership violation: you edited {path} but agent {owner} declared intent over it. Update your agent.intent to declare this file or back off."
        )
    };
    let mut sentences: Vec<String> = paths.iter().take(MOST_SENTENCES).map(sentence).collect();
    if paths.len() > MOST_SENTENCES {
        sentences.push(format!("{TAG} and {} more files of {owner}", paths.len() - MOST_SENTENCES));
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
        some(paths)
    );
    question(text, ConflictCategory::Ownership, violator, owner, paths)
}

fn some(paths: &[String]) -> String {
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
    facts.files.truncate(MOST_FILES);
    // Text and numbers are always JSON.
    serde_json::to_value(facts).unwrap_or_default()
}
