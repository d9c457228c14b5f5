//! The text of a file: parsing that cannot overflow the stack, and positions for messages.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::ConfigError;
use crate::text;

/// Far more than any key needs. The parser limits brackets and dotted keys separately but not their product, and code
/// that walks the result is recursive.
const MAX_DEPTH: usize = 64;

/// How much of a long line is shown.
const SNIPPET_WIDTH: usize = 96;

/// The text of a file and its name in messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        Self { text, file }
    }

    /// Parses the file into values with positions.
    pub(super) fn spanned(self) -> Result<Spanned<DeTable<'a>>, ConfigError> {
        let (root, errors) = DeTable::parse_recoverable(self.text);
        let depth_ok = is_shallow_enough(root.get_ref());
        if depth_ok && errors.is_empty() {
            return Ok(root);
        }
        drop_iteratively(root.into_inner());
        Err(match errors.first() {
            Some(error) => self.syntax_error(error.span().unwrap_or(0..0), &rephrase(error.message())),
            None => self.syntax_error(0..0, "tables are nested too deeply"),
        })
    }

    /// Parses the file into plain values.
    pub(super) fn values(self) -> Result<toml::Table, ConfigError> {
        toml::Table::deserialize(Deserializer::from(self.spanned()?))
            .map_err(|error| self.syntax_error(error.span().unwrap_or(0..0), error.message()))
    }

    /// Parses the file with the positions of headers, braces and dotted keys.
    pub(super) fn document(self) -> Result<toml_edit::Document<&'a str>, ConfigError> {
        drop(self.spanned()?);
        toml_edit::Document::parse(self.text)
            .map_err(|error| self.syntax_error(error.span().unwrap_or(0..0), error.message()))
    }

    pub(super) fn syntax_error(self, at: Range<usize>, message: &str) -> ConfigError {
        let Position { line, column, snippet } = self.position(at);
        let (file, message) = (text::line(self.file).into_owned(), text::line(message).into_owned());
        ConfigError::Syntax { file, line, column, snippet, message }
    }

    pub(super) fn value_error(self, at: Range<usize>, key: String, message: &str) -> ConfigError {
        let Position { line, column, snippet } = self.position(at);
        let (file, message) = (text::line(self.file).into_owned(), text::line(message).into_owned());
        ConfigError::Value { file, line, column, snippet, key, message }
    }

    /// The line number of a byte.
    pub(super) fn line_of(self, byte: usize) -> usize {
        self.text[..self.text.floor_char_boundary(byte)].matches('\n').count() + 1
    }

    /// The line numbers of sorted byte positions, in one pass over the text.
    pub(super) fn lines_of(self, bytes: impl Iterator<Item = usize>) -> Vec<usize> {
        let (mut line, mut done) = (1, 0);
        bytes
            .map(|byte| {
                let next = self.text.floor_char_boundary(byte);
                line += self.text[done..next].matches('\n').count();
                done = next;
                line
            })
            .collect()
    }

    fn position(self, at: Range<usize>) -> Position {
        let start = self.text.floor_char_boundary(at.start);
        let (before, rest) = self.text.split_at(start);
        let head = before.rsplit('\n').next().unwrap_or_default().trim_start_matches('\u{feff}');
        let tail = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let end = self.text.floor_char_boundary(at.end.clamp(start, start + tail.len()));

        let column = head.chars().count() + 1;
        let marked = self.text[start..end].chars().count().max(1);
        let line = self.line_of(start);
        Position { line, column, snippet: snippet(line, &format!("{head}{tail}"), column, marked) }
    }
}

struct Position {
    line: usize,
    column: usize,
    snippet: String,
}

/// The line with a mark below the position. A long line is cut to the part around it.
fn snippet(number: usize, line: &str, column: usize, marked: usize) -> String {
    let skipped = if column > SNIPPET_WIDTH * 3 / 4 { column - SNIPPET_WIDTH / 2 } else { 0 };
    let shown: String = line.chars().skip(skipped).take(SNIPPET_WIDTH).collect();
    let shown = format!("{}{}", if skipped > 0 { "…" } else { "" }, text::line(&shown));

    let indent = column - 1 - skipped + usize::from(skipped > 0);
    let room = shown.chars().count().saturating_sub(indent);
    let marks = "^".repeat(marked.clamp(1, room.max(1)));
    let gutter = " ".repeat(number.to_string().len());
    format!("  {number} | {shown}\n  {gutter} | {:indent$}{marks}", "").replace(" \n", "\n")
}

/// A key on one line, quoted if TOML requires it. Different keys give different texts.
pub(super) fn key_text(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { format!("{key:?}") }
}

/// Keys joined by dots: `clis."my agent".command`.
pub(super) fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    path.iter().map(|key| key_text(key.as_ref())).collect::<Vec<_>>().join(".")
}

/// The line ending of a text, taken from its first line.
pub(super) fn newline_of(text: &str) -> &'static str {
    if text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')) { "\r\n" } else { "\n" }
}

/// Ends the last line and adds an empty one, unless the text is empty or already ends with one.
pub(super) fn start_paragraph(text: &mut String, newline: &str) {
    if text.trim_start_matches('\u{feff}').is_empty() {
        return;
    }
    if !text.ends_with('\n') {
        text.push_str(newline);
    }
    let last_line = text.trim_end_matches('\n').rsplit('\n').next();
    if !text.ends_with("\n\n") && !last_line.is_some_and(|line| line.trim().is_empty()) {
        text.push_str(newline);
    }
}

fn rephrase(message: &str) -> String {
    if message.starts_with("invalid float") || message.starts_with("string values must be quoted") {
        "not a value (text needs quotes; true, false and numbers do not)".to_owned()
    } else if message.contains("recursion limit") || message.contains("recursion depth") {
        "tables are nested too deeply".to_owned()
    } else {
        message.to_owned()
    }
}

fn is_shallow_enough(root: &DeTable<'_>) -> bool {
    let mut open: Vec<(&DeValue<'_>, usize)> = root.values().map(|value| (value.get_ref(), 1)).collect();
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return false;
        }
        match value {
            DeValue::Table(table) => open.extend(table.values().map(|value| (value.get_ref(), depth + 1))),
            DeValue::Array(array) => open.extend(array.iter().map(|value| (value.get_ref(), depth + 1))),
            _ => {}
        }
    }
    true
}

/// Drops a table level by level, because the generated drop code is recursive.
fn drop_iteratively(root: DeTable<'_>) {
    let mut open: Vec<DeValue<'_>> = root.into_iter().map(|(_, value)| value.into_inner()).collect();
    while let Some(value) = open.pop() {
        match value {
            DeValue::Table(table) => open.extend(table.into_iter().map(|(_, value)| value.into_inner())),
            DeValue::Array(array) => open.extend(array.into_iter().map(Spanned::into_inner)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
