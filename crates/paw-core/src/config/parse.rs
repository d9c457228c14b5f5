//! One file's text to a [`Layer`]: checked against the schema, other spellings resolved, with warnings.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::source::{Source, dotted};
use super::{ConfigError, PawConfig, alias, no_effect, unknown};
use crate::text;

/// What one file says, and nothing about what it leaves out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    pub(super) table: toml::Table,
    warnings: Vec<ConfigWarning>,
}

impl Layer {
    /// What there is to say about the file, in the order of its lines.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }

    /// Whether the file sets nothing at all.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

/// Something in a file that is probably not meant, but does no harm.
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

/// A number below the least that makes sense is raised to it.
struct Minimum {
    path: [&'static str; 3],
    least: i64,
    /// Zero is not too little but turns the thing off.
    zero_is_off: bool,
}

const MINIMA: [Minimum; 2] = [
    Minimum { path: ["broker", "watcher", "republish_working_ttl_seconds"], least: 5, zero_is_off: true },
    Minimum { path: ["supervisor", "auto_approve", "stall_threshold_seconds"], least: 5, zero_is_off: false },
];

/// Reads a configuration file. `source` is the name it is shown under.
pub fn parse(text: &str, source: &str) -> Result<Layer, ConfigError> {
    let source = Source::new(text, source);
    let mut root = source.spanned()?;
    let clashes = alias::normalise(root.get_mut());
    let strangers = unknown::take(root.get_mut());

    if let Err(error) = PawConfig::deserialize(Deserializer::from(root.clone())) {
        return Err(explain(source, root.get_ref(), &strangers, &error));
    }
    let mut table = toml::Table::deserialize(Deserializer::from(root.clone()))
        .map_err(|error| explain(source, root.get_ref(), &strangers, &error))?;

    let mut warnings = Vec::new();
    let mut warn = |byte, message| warnings.push((byte, message));
    for clash in clashes {
        let (ignored, used) = (dotted(&clash.ignored), dotted(&clash.used));
        warn(clash.byte, format!("{ignored} is ignored: {used} says it too"));
    }
    for stranger in &strangers {
        warn(stranger.byte, stranger.to_string());
    }
    for idle in no_effect::find(root.get_ref(), &table) {
        warn(idle.byte, format!("{} has {}", dotted(&idle.path), idle.help));
    }
    for minimum in &MINIMA {
        if let Some(given) = minimum.apply(&mut table) {
            let byte = find(root.get_ref(), &minimum.path).map_or(0, |place| place.start);
            let (key, least) = (dotted(&minimum.path), minimum.least);
            warn(byte, format!("{key} = {given} is too little: {least} is used"));
        }
    }
    warnings.sort_by_key(|&(byte, _)| byte);

    let lines = source.lines_of(warnings.iter().map(|&(byte, _)| byte));
    let with_line =
        |(line, (_, message))| ConfigWarning { file: text::line(source.file).into_owned(), line, message };
    let warnings = lines.into_iter().zip(warnings).map(with_line).collect();
    Ok(Layer { table, warnings })
}

impl fmt::Display for unknown::Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown key {}", dotted(&self.path))?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, " ({advice})"))
    }
}

impl Minimum {
    /// Raises the number if it is too small, and returns what it was.
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

/// A value that does not fit, with its key, its place and what would fit.
fn explain(
    source: Source<'_>,
    root: &DeTable<'_>,
    strangers: &[unknown::Unknown],
    error: &toml::de::Error,
) -> ConfigError {
    let mut message = in_plain_words(error.message());
    let place = error.span().unwrap_or(0..0);
    let mut path = Vec::new();
    if !path_to(root, place.start, &mut path) {
        return source.syntax_error(place, &message);
    }
    if error.message().starts_with("missing field") {
        // Only entries such as clis.<name> must have a key; the place may be the header of a table inside
        // one.
        path.truncate(2);
        if let Some(stranger) = strangers.iter().find(|stranger| stranger.path.starts_with(&path)) {
            message = format!("{message}; line {}: {stranger}", source.line_of(stranger.byte));
        }
    }
    source.value_error(place, dotted(&path), &message)
}

/// The keys that lead to the innermost key or value at this byte. The headers of a table need not surround
/// what is in it, so every branch is searched.
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

/// What the deserializer says, for people who write configuration and not Rust.
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
        return format!("\"{}\" is not possible here, only: {allowed}", word.trim_matches('`'));
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
