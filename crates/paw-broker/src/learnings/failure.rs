//! Failed gates as data in feedback, and the shape of an error: what stays the same when it happens again. Pure.

use paw_core::AgentId;
use paw_core::text;
use serde::{Deserialize, Serialize};

use crate::message::{FeedbackMessage, Message};

/// The field of a feedback's payload with its failures.
const FAILURES: &str = "failures";
/// The most failures of one message, and characters of one shape.
const MOST: usize = 16;
const MOST_CHARS: usize = 160;

/// One failed gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GateFailure {
    pub gate: String,
    pub shape: String,
    /// Whether the shape is what a sandbox denied.
    #[serde(default)]
    pub sandbox: bool,
}

impl GateFailure {
    /// The failures of a gate by the end of its output. `denied` recognises a note about the sandbox.
    pub fn of_output(gate: &str, lines: &[String], denied: impl Fn(&str) -> bool) -> Vec<Self> {
        let (notes, printed): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| denied(line));
        let failure = |shape: String, sandbox| Self { gate: gate.to_owned(), shape, sandbox };
        let notes = notes.into_iter().map(|note| failure(normalized(note), true));
        shape(&printed).map(|shape| failure(shape, false)).into_iter().chain(notes).collect()
    }

    /// Adds failures to a message.
    pub fn attach(failures: &[Self], message: &mut FeedbackMessage) {
        if !failures.is_empty() {
            let failures = serde_json::to_value(failures).unwrap_or_default();
            message.extra.payload.insert(FAILURES.to_owned(), failures);
        }
    }

    /// The failures in a message of the supervisor or the operator.
    pub fn find(message: &Message) -> Vec<Self> {
        let Message::Feedback(feedback) = message else { return Vec::new() };
        if ![AgentId::SUPERVISOR, AgentId::OPERATOR].contains(&feedback.from.as_str()) {
            return Vec::new();
        }
        let found = feedback.extra.payload.get(FAILURES).cloned().unwrap_or_default();
        let mut failures: Vec<Self> = serde_json::from_value(found).unwrap_or_default();
        failures.truncate(MOST);
        for failure in &mut failures {
            failure.gate = text::truncate_chars(&failure.gate, 40).into_owned();
            failure.shape = normalized(&failure.shape);
        }
        failures.retain(|failure| !failure.shape.is_empty());
        failures
    }
}

/// The first line that looks like a failure, or the last one that is not empty.
fn shape(lines: &[&String]) -> Option<String> {
    let signs = ["error", "failed", "panicked", "assert", "exception", "fatal", "cannot", "not ok"];
    let is_failure = |line: &&&String| {
        let line = line.to_lowercase();
        signs.iter().any(|sign| line.contains(sign))
    };
    let line =
        lines.iter().find(is_failure).or_else(|| lines.iter().rev().find(|line| !line.trim().is_empty()))?;
    Some(normalized(line)).filter(|shape| !shape.is_empty())
}

/// Without numbers, addresses, times and directories, which differ from run to run.
fn normalized(line: &str) -> String {
    let line = text::line(line);
    let words = line.split_whitespace().map(word);
    text::truncate_chars(&words.collect::<Vec<_>>().join(" "), MOST_CHARS).into_owned()
}

fn word(word: &str) -> String {
    if word.starts_with("0x") {
        return "…".to_owned();
    }
    // An absolute path keeps its file name.
    let start = word.find(|c: char| c.is_alphanumeric() || c == '/').unwrap_or(0);
    let (edge, rest) = word.split_at(start);
    let rest = match rest.rsplit_once('/') {
        Some((dirs, name)) if rest.starts_with('/') && !dirs.is_empty() => name,
        _ => rest,
    };
    edge.to_owned() + &without_numbers(rest)
}

/// `12:5` → `…`; names such as `E0308` and `test_2` stay.
fn without_numbers(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = rest[..at].chars().next_back();
        let end =
            rest[at..].find(|c: char| !(c.is_ascii_digit() || ":.,".contains(c))).unwrap_or(rest.len() - at);
        let after = rest[at + end..].chars().next();
        let in_name = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '_');
        // Units such as `3s` and `12ms` differ, too.
        let is_unit = ["s", "ms", "ns"].contains(&&rest[at + end..]);
        let keeps = in_name(before) || (in_name(after) && !is_unit);
        out += &rest[..at];
        out += if keeps { &rest[at..at + end] } else { "…" };
        rest = &rest[at + end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shape_of_an_error_is_the_same_when_it_happens_again() {
        let table = [
            ("thread 'main' (4711) panicked at src/a.rs:12:5:", "thread 'main' (…) panicked at src/a.rs:…"),
            ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
            (
                "FAILED tests/test_2.py::test_add - assert 3 == 4",
                "FAILED tests/test_2.py::test_add - assert … == …",
            ),
            ("fatal: cannot open '/home/ada/x/y.txt' after 12ms", "fatal: cannot open 'y.txt' after …ms"),
            ("Error: at 0x7ffe33 in 3.25s", "Error: at … in …s"),
        ];
        for (line, expected) in table {
            assert_eq!(normalized(line), expected);
            assert_eq!(normalized(expected), expected, "a shape is its own shape");
        }
    }

    #[test]
    fn the_first_line_that_looks_like_a_failure_counts() {
        let lines = ["running 2 tests", "test a ... ok", "test b ... FAILED", "1 failed"].map(str::to_owned);
        let found = GateFailure::of_output("test", &lines, |_| false);
        assert_eq!(found[0].shape, "test b ... FAILED");
        let lines = ["quiet", "the sandbox denied access to /x/y", ""].map(str::to_owned);
        let found = GateFailure::of_output("test", &lines, |line| line.starts_with("the sandbox"));
        let shapes: Vec<_> = found.iter().map(|failure| (failure.shape.as_str(), failure.sandbox)).collect();
        assert_eq!(shapes, [("quiet", false), ("the sandbox denied access to y", true)]);
    }

    proptest! {
        #[test]
        fn shapes_are_short_and_stable(line in "(\\PC|[0-9:./]|0x){0,60}") {
            let shape = normalized(&line);
            prop_assert!(shape.chars().count() <= MOST_CHARS);
        }
    }
}
