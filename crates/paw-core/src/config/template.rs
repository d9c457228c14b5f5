//! The file that `git paw init` writes, and what it adds to an existing file.
//!
//! Every key is a comment that shows its default or an example: `# port = 9119    # preferred port`.
//! Removing the leading `# ` makes it valid; lines of prose start with `##` and stay comments.

use std::collections::BTreeSet;
use std::ops::Range;

use toml_edit::{Item, Table};

use super::source::{Source, newline_of, start_paragraph};
use super::{ConfigError, ConfigKey, KeyShape, PawConfig, SpecType};

const ABOUT: &str = "\
## git-paw settings for this repository. Settings missing here come from ~/.config/git-paw/config.toml, then from
## the defaults shown below. To change one, remove the \"# \" in front of it and of its [section].
";

/// Comments after values are aligned up to this column.
const MAX_COLUMN: usize = 44;

/// The complete file, all of it commented out. With a directory of Spec Kit, the section for it is active.
pub fn default_file(speckit: Option<&str>) -> String {
    let mut file = format!("{ABOUT}\n{}", root_stanza(|_| true));
    for key in PawConfig::KEYS.iter().filter(|key| is_section(key)) {
        file.push('\n');
        match (key.name, speckit) {
            ("specs", Some(dir)) => file.push_str(&speckit_stanza(dir)),
            _ => file.push_str(&section_stanza(key)),
        }
    }
    file
}

/// Sets a key in a generated file, where it is commented out: `key`, or `section.key`. Other texts stay as they are.
pub fn activate(file: &str, key: &str, value: impl Into<toml::Value>) -> String {
    let (section, name) = key.rsplit_once('.').map_or((None, key), |(section, name)| (Some(section), name));
    let header = section.map(|section| format!("[{section}]"));
    let value: toml::Value = value.into();
    let (mut is_inside, mut is_set) = (header.is_none(), false);
    let mut lines = Vec::new();
    for line in file.lines() {
        let code = line.strip_prefix("# ").unwrap_or(line);
        let word = code.split_whitespace().next().unwrap_or_default();
        if word.starts_with('[') {
            is_inside = header.as_deref() == Some(word);
            lines.push(if is_inside { code.to_owned() } else { line.to_owned() });
        } else if is_inside && !is_set && code.split_once(" = ").is_some_and(|(known, _)| known == name) {
            is_set = true;
            let help = code.rsplit_once("  # ").map(|(_, help)| format!("  # {help}")).unwrap_or_default();
            lines.push(format!("{name} = {value}{help}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

/// Adds a commented stanza for every key and section that `existing` does not mention, not even in a comment. `None` if
/// nothing is missing.
///
/// Changes no byte of `existing`. Sections go to the end; keys without a section go above the first
/// section, where removing the `# ` is enough.
pub fn add_missing(existing: &str, source: &str) -> Result<Option<String>, ConfigError> {
    let document = Source::new(existing, source).document()?;
    let lines = lines_outside_values(existing, document.as_table());
    let named = names(document.as_table(), &lines);
    let is_missing = |key: &ConfigKey| !named.contains(key.name);

    let newline = newline_of(existing);
    let root = root_stanza(is_missing).replace('\n', newline);
    let sections: Vec<String> = PawConfig::KEYS
        .iter()
        .filter(|key| is_section(key) && is_missing(key))
        .map(|key| section_stanza(key).replace('\n', newline))
        .collect();
    if root.is_empty() && sections.is_empty() {
        return Ok(None);
    }

    let (above, below) = existing.split_at(end_of_root(existing, &lines));
    let mut result = above.to_owned();
    if !root.is_empty() {
        start_paragraph(&mut result, newline);
        result.push_str(&root);
        if !below.is_empty() {
            result.push_str(newline);
        }
    }
    result.push_str(below);
    for section in sections {
        start_paragraph(&mut result, newline);
        result.push_str(&section);
    }
    Ok(Some(result))
}

fn is_section(key: &ConfigKey) -> bool {
    !matches!(key.shape, KeyShape::Value { .. })
}

fn root_stanza(wanted: impl Fn(&ConfigKey) -> bool) -> String {
    let keys = PawConfig::KEYS.iter().filter(|key| !is_section(key) && wanted(key));
    aligned(&keys.filter_map(assignment).collect::<Vec<_>>())
}

fn section_stanza(key: &ConfigKey) -> String {
    match &key.shape {
        KeyShape::Value { .. } => String::new(),
        KeyShape::Section(keys) => table_stanza(key.name, &key.help(), keys),
        KeyShape::Entries { example, keys } => {
            table_stanza(&format!("{}.{example}", key.name), &key.help(), keys)
        }
    }
}

fn table_stanza(name: &str, help: &str, keys: &[ConfigKey]) -> String {
    let mut lines = vec![(format!("# [{name}]"), help.to_owned())];
    lines.extend(keys.iter().filter_map(assignment));
    let mut stanza = aligned(&lines);
    for key in keys {
        if let KeyShape::Section(keys) = key.shape {
            stanza.push('\n');
            stanza.push_str(&table_stanza(&format!("{name}.{}", key.name), &key.help(), keys));
        }
    }
    stanza
}

fn speckit_stanza(dir: &str) -> String {
    format!("[specs]\ntype = \"{}\"\ndir = \"{dir}\"\n", SpecType::Speckit)
}

fn assignment(key: &ConfigKey) -> Option<(String, String)> {
    match key.shape {
        KeyShape::Value { sample, .. } => Some((format!("# {} = {}", key.name, sample()), key.help())),
        KeyShape::Section(_) | KeyShape::Entries { .. } => None,
    }
}

fn aligned(lines: &[(String, String)]) -> String {
    let width = |line: &str| line.chars().count();
    let column = lines.iter().map(|(code, _)| width(code)).filter(|&w| w <= MAX_COLUMN).max().unwrap_or(0);
    lines
        .iter()
        .flat_map(|(code, help)| [format!("{code:column$}  # "), help.clone(), "\n".to_owned()])
        .collect()
}

/// One line of the file that is not inside a value.
struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl Line<'_> {
    fn is_comment(&self) -> bool {
        self.text.trim_start().starts_with('#')
    }

    /// The line without its `#`, if it is a comment.
    fn code(&self) -> &str {
        self.text.trim_start().trim_start_matches('#').trim()
    }

    /// The first key of a `[header]`, commented or not.
    fn header(&self) -> Option<&str> {
        let inner = self.code().strip_prefix('[')?;
        let (inner, rest) = inner.trim_start_matches('[').split_once(']')?;
        let rest = rest.trim_start_matches(']').trim_start();
        (rest.is_empty() || rest.starts_with('#')).then(|| first_key(inner)).flatten()
    }

    /// The first key of a commented `key = value`.
    fn commented_key(&self) -> Option<&str> {
        if !self.is_comment() {
            return None;
        }
        self.code().split_once('=').and_then(|(key, _)| first_key(key))
    }
}

fn first_key(keys: &str) -> Option<&str> {
    let first = keys.split('.').next()?.trim().trim_matches(['"', '\'']);
    (!first.is_empty()).then_some(first)
}

/// A line inside a multi-line value is neither a header nor a comment.
fn lines_outside_values<'a>(text: &'a str, root: &Table) -> Vec<Line<'a>> {
    let mut values = Vec::new();
    value_spans(root, &mut values);
    values.sort_by_key(|value| value.start);
    let mut values = values.into_iter().peekable();

    let mut start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut value_end = 0;
    let mut lines = Vec::new();
    for line in text[start..].split_inclusive('\n') {
        while let Some(value) = values.next_if(|value| value.start < start) {
            value_end = value.end;
        }
        if start >= value_end {
            lines.push(Line { start, text: line });
        }
        start += line.len();
    }
    lines
}

fn value_spans(table: &Table, spans: &mut Vec<Range<usize>>) {
    for (_, item) in table {
        match item {
            Item::Value(value) => spans.extend(value.span()),
            Item::Table(table) => value_spans(table, spans),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| value_spans(table, spans)),
            Item::None => {}
        }
    }
}

/// Every top-level name, active or commented out.
fn names(root: &Table, lines: &[Line<'_>]) -> BTreeSet<String> {
    let in_use = root.iter().map(|(key, _)| key);
    let headers = lines.iter().filter_map(Line::header);
    let commented = lines.iter().filter_map(Line::commented_key);
    in_use.chain(headers).chain(commented).map(str::to_owned).collect()
}

/// Where a top-level key can be inserted: above the first header and its comments.
fn end_of_root(text: &str, lines: &[Line<'_>]) -> usize {
    let Some(first_header) = lines.iter().position(|line| line.header().is_some()) else { return text.len() };
    let comments = lines[..first_header].iter().rev().take_while(|line| line.is_comment()).count();
    lines[first_header - comments].start
}

#[cfg(test)]
mod tests;
