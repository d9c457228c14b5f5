//! Parses the text of a file into a [`Layer`]: checks the schema, resolves aliases, collects warnings.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::source::{Source, dotted};
use super::{ConfigError, PawConfig, alias, no_effect, unknown};
use crate::text;

/// The keys that one file sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    pub(super) table: toml::Table,
    warnings: Vec<ConfigWarning>,
}

impl Layer {
    /// Warnings in the order of the lines.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// Whether the file sets this key: `section.key`.
    pub fn has(&self, key: &str) -> bool {
        let mut parts = key.split('.');
        let first = parts.next().and_then(|first| self.table.get(first));
        parts.fold(first, |value, part| value.and_then(|value| value.get(part))).is_some()
    }

    /// Whether the file sets no key.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

/// A probable mistake in a file that does not prevent its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigWarning {
    pub file: String,
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// The minimum of a number; smaller values are raised to it.
struct Minimum {
    path: [&'static str; 3],
    least: i64,
    /// Zero is allowed and turns the feature off.
    zero_is_off: bool,
}

const MINIMA: [Minimum; 2] = [
    Minimum { path: ["broker", "watcher", "republish_working_ttl_seconds"], least: 5, zero_is_off: true },
    Minimum { path: ["supervisor", "auto_approve", "stall_threshold_seconds"], least: 5, zero_is_off: false },
];

/// Parses a configuration file. `source` is its name in messages.
pub fn parse(text: &str, source: &str) -> Result<Layer, ConfigError> {
    let source = Source::new(text, source);
    let mut root = source.spanned()?;
    let conflicts = alias::normalize(root.get_mut());
    let unknown_keys = unknown::remove_unknown(root.get_mut());

    if let Err(error) = PawConfig::deserialize(Deserializer::from(root.clone())) {
        return Err(explain(source, root.get_ref(), &unknown_keys, &error));
    }
    let mut table = toml::Table::deserialize(Deserializer::from(root.clone()))
        .map_err(|error| explain(source, root.get_ref(), &unknown_keys, &error))?;

    let mut warnings = Vec::new();
    let mut warn = |byte, message| warnings.push((byte, message));
    for conflict in conflicts {
        let (ignored, used) = (dotted(&conflict.ignored), dotted(&conflict.used));
        warn(conflict.byte, format!("{ignored} is ignored because {used} is also set"));
    }
    for unknown in &unknown_keys {
        warn(unknown.byte, unknown.to_string());
    }
    for unused in no_effect::find(root.get_ref(), &table) {
        warn(unused.byte, format!("{} has {}", dotted(&unused.path), unused.help));
    }
    for minimum in &MINIMA {
        if let Some(given) = minimum.apply(&mut table) {
            let byte = find(root.get_ref(), &minimum.path).map_or(0, |place| place.start);
            let (key, least) = (dotted(&minimum.path), minimum.least);
            warn(byte, format!("{key} = {given} is too small, using {least}"));
        }
    }
    warnings.sort_by_key(|&(byte, _)| byte);

    let lines = source.lines_of(warnings.iter().map(|&(byte, _)| byte));
    let with_line =
        |(line, (_, message))| ConfigWarning { file: text::line(source.file).into_owned(), line, message };
    let warnings = lines.into_iter().zip(warnings).map(with_line).collect();
    Ok(Layer { table, warnings })
}

impl fmt::Display for unknown::UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown key {}", dotted(&self.path))?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, " ({advice})"))
    }
}

impl Minimum {
    /// Raises the number if it is too small and returns the original value.
    fn apply(&self, table: &mut toml::Table) -> Option<i64> {
        let [section, subsection, key] = self.path;
        let value = table.get_mut(section)?.get_mut(subsection)?.get_mut(key)?;
        let given = value.as_integer()?;
        let too_little = given < self.least && !(given == 0 && self.zero_is_off);
        too_little.then(|| {
            *value = toml::Value::Integer(self.least);
            given
        })
    }
}

/// Describes an invalid value: its key, its position and what is expected.
fn explain(
    source: Source<'_>,
    root: &DeTable<'_>,
    unknown_keys: &[unknown::UnknownKey],
    error: &toml::de::Error,
) -> ConfigError {
    let mut message = in_plain_words(error.message());
    let place = error.span().unwrap_or(0..0);
    let mut path = Vec::new();
    if !path_to(root, place.start, &mut path) {
        return source.syntax_error(place, &message);
    }
    if error.message().starts_with("missing field") {
        // Only entries such as clis.<name> have required keys. The position may be the header of a table inside.
        path.truncate(2);
        if let Some(unknown) = unknown_keys.iter().find(|unknown| unknown.path.starts_with(&path)) {
            message = format!("{message}; line {}: {unknown}", source.line_of(unknown.byte));
        }
    }
    source.value_error(place, dotted(&path), &message)
}

/// The path to the innermost key or value at this byte. The header of a table need not enclose its content, so every
/// branch is searched.
fn path_to(table: &DeTable<'_>, byte: usize, path: &mut Vec<String>) -> bool {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        if let DeValue::Table(inner) = value.get_ref()
            && path_to(inner, byte, path)
        {
            return true;
        }
        if key.span().contains(&byte) || value.span().contains(&byte) {
            return true;
        }
        path.pop();
    }
    false
}

fn find(root: &DeTable<'_>, path: &[&str]) -> Option<Range<usize>> {
    let (last, parents) = path.split_last()?;
    let mut table = root;
    for key in parents {
        match table.get(*key).map(Spanned::get_ref) {
            Some(DeValue::Table(inner)) => table = inner,
            _ => return None,
        }
    }
    table.get(*last).map(Spanned::span)
}

/// Rewrites a message of the deserializer for people who do not know Rust.
fn in_plain_words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", rest.trim_matches('`'));
    }
    match message {
        "wanted string or table" => return "expected text in quotes".to_owned(),
        "u64 value was too large" => return "the number is too large".to_owned(),
        _ => {}
    }
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    if let Some(word) = found.strip_prefix("unknown variant ") {
        let allowed = expected.trim_start_matches("one of ").replace(" or ", ", ").replace('`', "");
        return format!("\"{}\" is not allowed here, expected one of: {allowed}", word.trim_matches('`'));
    }
    let found = found.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
    let found = match found {
        "sequence" => "a list",
        "map" => "a table",
        _ => found.strip_prefix("string ").or_else(|| found.split('`').nth(1)).unwrap_or(found),
    };
    let expected = match expected {
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" => "a whole number, 0 or more",
        "a boolean" => "true or false",
        "a string" | "path string" => "text in quotes",
        "a sequence" => "a list: [\"…\", \"…\"]",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

#[cfg(test)]
mod tests;
