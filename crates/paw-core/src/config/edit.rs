//! Adds and removes `[clis.<name>]` and `[hosts.<name>]` in a hand-written file.
//!
//! An edit replaces only the bytes of the entry and keeps everything else: comments, order, line endings and unknown keys.
//! Before the result is returned, it is parsed again and compared with the intended change, so that no edit can damage a
//! file unnoticed.

use std::ops::Range;

use toml::Value as Plain;
use toml_edit::{InlineTable, Item, Table, Value};

use super::ConfigError;
use super::source::{Source, dotted, newline_of, start_paragraph};
use crate::HostName;

const CLIS: &str = "clis";
const HOSTS: &str = "hosts";

/// The entry that `git paw add-cli` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliEntry {
    pub command: String,
    pub display_name: Option<String>,
}

impl CliEntry {
    fn keys(&self) -> EntryKeys {
        let display_name = self.display_name.as_deref();
        EntryKeys(vec![
            ("command", Some(self.command.clone())),
            ("display_name", display_name.map(str::to_owned)),
        ])
    }
}

/// The keys of an entry; `None` removes the key. New keys are added below the first one.
struct EntryKeys(Vec<(&'static str, Option<String>)>);

impl EntryKeys {
    /// With their values as TOML.
    fn values(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        let toml = |text: &String| Value::from(text.as_str()).to_string();
        self.0.iter().map(move |(key, value)| (*key, value.as_ref().map(toml)))
    }

    fn first(&self) -> &'static str {
        self.0.first().map_or("", |(key, _)| key)
    }

    fn assignments(&self) -> impl Iterator<Item = String> {
        self.values().filter_map(|(key, value)| value.map(|value| format!("{key} = {value}")))
    }

    fn inline(&self) -> String {
        format!("{{ {} }}", self.assignments().collect::<Vec<_>>().join(", "))
    }
}

/// Adds or updates a CLI. An existing entry keeps its other keys.
pub fn set_cli(text: &str, source: &str, name: &str, entry: &CliEntry) -> Result<String, ConfigError> {
    set(text, source, (CLIS, name), &entry.keys())
}

/// Removes a CLI; `None` if the text has no such entry.
pub fn remove_cli(text: &str, source: &str, name: &str) -> Result<Option<String>, ConfigError> {
    remove(text, source, (CLIS, name))
}

/// Adds or updates a host. An existing entry keeps its other keys.
pub fn set_host(text: &str, source: &str, name: &HostName, ssh: &str) -> Result<String, ConfigError> {
    set(text, source, (HOSTS, name.as_str()), &EntryKeys(vec![("ssh", Some(ssh.to_owned()))]))
}

/// Removes a host; `None` if the text has no such entry.
pub fn remove_host(text: &str, source: &str, name: &HostName) -> Result<Option<String>, ConfigError> {
    remove(text, source, (HOSTS, name.as_str()))
}

fn set(
    text: &str,
    source: &str,
    (section, name): (&'static str, &str),
    entry: &EntryKeys,
) -> Result<String, ConfigError> {
    let edit = Edit { text, source: Source::new(text, source), section, name, newline: newline_of(text) };
    let document = edit.source.document()?;
    let changed = apply(text, edit.set(document.as_table(), entry)?);

    let mut wanted = edit.source.values()?;
    let entries = wanted.entry(section).or_insert_with(|| Plain::Table(toml::Table::new()));
    if let Some(entries) = entries.as_table_mut()
        && let Some(table) =
            entries.entry(name).or_insert_with(|| Plain::Table(toml::Table::new())).as_table_mut()
    {
        for (key, value) in &entry.0 {
            match value {
                Some(value) => table.insert((*key).to_owned(), Plain::String(value.clone())),
                None => table.remove(*key),
            };
        }
    }
    edit.checked(changed, wanted)
}

fn remove(
    text: &str,
    source: &str,
    (section, name): (&'static str, &str),
) -> Result<Option<String>, ConfigError> {
    let edit = Edit { text, source: Source::new(text, source), section, name, newline: newline_of(text) };
    let document = edit.source.document()?;
    let Some(cuts) = edit.remove(document.as_table()) else { return Ok(None) };
    let changed = apply(text, cuts);

    let mut wanted = edit.source.values()?;
    if let Some(entries) = wanted.get_mut(section).and_then(Plain::as_table_mut) {
        entries.remove(name);
    }
    edit.checked(changed, wanted).map(Some)
}

/// A byte range and its replacement.
type Splice = (Range<usize>, String);

fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (range, with) in splices {
        result.push_str(text.get(done..range.start).unwrap_or_default());
        result.push_str(&with);
        done = done.max(range.end);
    }
    result.push_str(&text[done..]);
    result
}

struct Edit<'a> {
    text: &'a str,
    source: Source<'a>,
    section: &'static str,
    name: &'a str,
    newline: &'static str,
}

impl Edit<'_> {
    fn set(&self, root: &Table, entry: &EntryKeys) -> Result<Vec<Splice>, ConfigError> {
        match root.get(self.section) {
            None | Some(Item::None) => Ok(vec![self.new_section(self.text.len(), entry)]),
            Some(Item::Value(Value::InlineTable(clis))) => match clis.get(self.name) {
                None => Ok(vec![insert_pair(clis, &format!("{} = {}", self.key(), entry.inline()))]),
                Some(Value::InlineTable(cli)) => Ok(self.set_inline(clis, cli, entry)),
                Some(_) => Err(self.not_a_table(root)),
            },
            Some(Item::Table(clis)) => match clis.get_key_value(self.name) {
                None => Ok(vec![self.new_entry(clis, entry)]),
                Some((_, Item::Value(Value::InlineTable(cli)))) => Ok(self.set_inline(cli, cli, entry)),
                Some((key, Item::Table(cli))) => Ok(self.set_table(key, cli, entry)),
                Some(_) => Err(self.not_a_table(root)),
            },
            Some(_) => Err(self.not_a_table(root)),
        }
    }

    /// Adds a new entry.
    fn new_entry(&self, clis: &Table, entry: &EntryKeys) -> Splice {
        let end = self.line_end(last_byte(clis));
        if clis.is_dotted() {
            // A header here would capture the keys that follow.
            let lines = entry.assignments().map(|line| format!("{}.{}.{line}", self.section, self.key()));
            return self.new_lines(end, lines);
        }
        self.new_section(end, entry)
    }

    fn new_section(&self, at: usize, entry: &EntryKeys) -> Splice {
        let (before, after) = self.text.split_at(at);
        let mut paragraph = before.to_owned();
        start_paragraph(&mut paragraph, self.newline);
        for line in std::iter::once(format!("[{}.{}]", self.section, self.key())).chain(entry.assignments()) {
            paragraph.push_str(&line);
            paragraph.push_str(self.newline);
        }
        if !after.is_empty() && !after.starts_with(['\n', '\r']) {
            paragraph.push_str(self.newline);
        }
        (at..at, paragraph.split_off(before.len()))
    }

    fn new_lines(&self, at: usize, lines: impl Iterator<Item = String>) -> Splice {
        let mut new = String::new();
        if !self.text[..at].is_empty() && !self.text[..at].ends_with('\n') {
            new.push_str(self.newline);
        }
        for line in lines {
            new.push_str(&line);
            new.push_str(self.newline);
        }
        (at..at, new)
    }

    /// `cli = { … }`, or `cli.command = …` inside the braces of `clis`.
    fn set_inline(&self, clis: &InlineTable, cli: &InlineTable, entry: &EntryKeys) -> Vec<Splice> {
        let braces = if cli.is_dotted() { clis } else { cli };
        let mut splices = Vec::new();
        let mut missing = Vec::new();
        for (key, value) in entry.values() {
            match (cli.get(key), value) {
                (Some(old), Some(new)) => splices.push((span(old), new)),
                (Some(old), None) => {
                    splices.extend(remove_pairs(self.text, braces, |value| *value == span(old)));
                }
                (None, Some(new)) if cli.is_dotted() => missing.push(format!("{}.{key} = {new}", self.key())),
                (None, Some(new)) => missing.push(format!("{key} = {new}")),
                (None, None) => {}
            }
        }
        if !missing.is_empty() {
            splices.push(insert_pair(braces, &missing.join(", ")));
        }
        splices
    }

    /// `[clis.cli]`, or `cli.command = …` on separate lines.
    fn set_table(&self, cli_key: &toml_edit::Key, cli: &Table, entry: &EntryKeys) -> Vec<Splice> {
        let place = cli_key.span().unwrap_or_default();
        if cli.is_implicit() && !cli.is_dotted() {
            // Only [clis.cli.something] exists: insert the entry above it.
            let first = self.line_start(first_byte(cli));
            return vec![self.new_section(first, entry)];
        }
        let (prefix, fallback) = if cli.is_dotted() {
            (format!("{}.", &self.text[self.line_start(place.start)..place.end]), last_byte(cli))
        } else {
            let header = cli.span().unwrap_or_default();
            (String::new(), header.end)
        };
        let after = cli.get(entry.first()).and_then(Item::span).map_or(fallback, |first| first.end);
        let indent = self.indent(after);

        let mut splices = Vec::new();
        let mut missing = Vec::new();
        for (key, value) in entry.values() {
            match (cli.get(key).and_then(Item::span), value) {
                (Some(old), Some(new)) => splices.push((old, new)),
                (Some(old), None) => splices.push((self.lines_of(old), String::new())),
                (None, Some(new)) if cli.is_dotted() => missing.push(format!("{prefix}{key} = {new}")),
                (None, Some(new)) => missing.push(format!("{indent}{key} = {new}")),
                (None, None) => {}
            }
        }
        if !missing.is_empty() {
            splices.push(self.new_lines(self.line_end(after), missing.into_iter()));
        }
        splices
    }

    fn remove(&self, root: &Table) -> Option<Vec<Splice>> {
        match root.get(self.section)? {
            Item::Value(Value::InlineTable(clis)) => {
                let cli = clis.get(self.name)?;
                let inside = match cli {
                    Value::InlineTable(cli) if cli.is_dotted() => value_spans(cli),
                    value => vec![span(value)],
                };
                Some(remove_pairs(self.text, clis, |value| inside.contains(value)))
            }
            Item::Table(clis) => {
                let mut cuts = Vec::new();
                self.cut(clis.get(self.name)?, &mut cuts);
                cuts.sort_by_key(|cut| cut.start);
                cuts.dedup();
                Some(cuts.into_iter().map(|cut| (cut, String::new())).collect())
            }
            _ => None,
        }
    }

    /// The lines of an item: a header with its keys, or only the keys. Comments above and below are kept.
    fn cut(&self, item: &Item, cuts: &mut Vec<Range<usize>>) {
        match item {
            Item::None => {}
            Item::Value(value) => cuts.push(self.lines_of(span(value))),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| self.cut_table(table, cuts)),
            Item::Table(table) => self.cut_table(table, cuts),
        }
    }

    fn cut_table(&self, table: &Table, cuts: &mut Vec<Range<usize>>) {
        let has_header = !table.is_dotted() && !table.is_implicit();
        if has_header && let Some(header) = table.span() {
            let end = own_values(table).map(|value| value.end).max().unwrap_or(header.end);
            cuts.push(self.with_one_empty_line(self.lines_of(header.start..end)));
        }
        for (_, item) in table {
            let in_own_lines = match item {
                Item::Value(_) => !has_header,
                Item::Table(inner) => !(has_header && inner.is_dotted()),
                Item::ArrayOfTables(_) => true,
                Item::None => false,
            };
            if in_own_lines {
                self.cut(item, cuts);
            }
        }
    }

    /// Removing a section also removes the empty line before it.
    fn with_one_empty_line(&self, cut: Range<usize>) -> Range<usize> {
        let (before, after) = (&self.text[..cut.start], &self.text[cut.end..]);
        let empty_above = before.trim_start_matches('\u{feff}').is_empty()
            || before.ends_with("\n\n")
            || before.ends_with("\n\r\n");
        let empty_below = ["\n", "\r\n"].into_iter().find(|newline| after.starts_with(newline));
        match empty_below {
            Some(newline) if empty_above => cut.start..cut.end + newline.len(),
            None if after.is_empty() && before.ends_with("\n\r\n") => cut.start - 2..cut.end,
            None if after.is_empty() && before.ends_with("\n\n") => cut.start - 1..cut.end,
            _ => cut,
        }
    }

    /// Checks that the new text has exactly the intended change.
    fn checked(&self, changed: String, mut wanted: toml::Table) -> Result<String, ConfigError> {
        let without_empty_section = |table: &mut toml::Table| {
            if table.get(self.section).and_then(Plain::as_table).is_some_and(toml::Table::is_empty) {
                table.remove(self.section);
            }
        };
        let mut got = Source::new(&changed, self.source.file).values().unwrap_or_default();
        without_empty_section(&mut wanted);
        without_empty_section(&mut got);
        // Compared as text, because NaN is not equal to itself.
        if Plain::Table(got).to_string() == Plain::Table(wanted).to_string() {
            return Ok(changed);
        }
        Err(ConfigError::Entangled {
            file: self.source.file.to_owned(),
            key: dotted(&[self.section, self.name]),
        })
    }

    fn not_a_table(&self, root: &Table) -> ConfigError {
        let clis = root.get(self.section);
        let (key, place) = match clis.and_then(Item::as_table_like).and_then(|clis| clis.get(self.name)) {
            Some(item) => (dotted(&[self.section, self.name]), item.span()),
            None => (self.section.to_owned(), clis.and_then(Item::span)),
        };
        self.source.value_error(place.unwrap_or_default(), key, "expected a table")
    }

    fn key(&self) -> String {
        toml_edit::Key::new(self.name).display_repr().into_owned()
    }

    fn line_start(&self, byte: usize) -> usize {
        let start = self.text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
        if start == 0 && self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { start }
    }

    /// The position after the newline of the line.
    fn line_end(&self, byte: usize) -> usize {
        self.text[byte..].find('\n').map_or(self.text.len(), |newline| byte + newline + 1)
    }

    fn lines_of(&self, range: Range<usize>) -> Range<usize> {
        self.line_start(range.start)..self.line_end(range.end)
    }

    fn indent(&self, byte: usize) -> &str {
        let line = &self.text[self.line_start(byte)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

fn span(value: &Value) -> Range<usize> {
    value.span().unwrap_or_default()
}

/// The values of an inline table in file order, including those of dotted keys.
fn value_spans(table: &InlineTable) -> Vec<Range<usize>> {
    let mut spans: Vec<_> = table.get_values().into_iter().map(|(_, value)| span(value)).collect();
    spans.sort_by_key(|span| span.start);
    spans
}

fn insert_pair(table: &InlineTable, pair: &str) -> Splice {
    match value_spans(table).last() {
        Some(last) => (last.end..last.end, format!(", {pair}")),
        None => (table.span().unwrap_or_default(), format!("{{ {pair} }}")),
    }
}

/// Removes `key = value` pairs from an inline table, each with the comma before it, or after it at the start.
fn remove_pairs(text: &str, table: &InlineTable, goes: impl Fn(&Range<usize>) -> bool) -> Vec<Splice> {
    let blank = [' ', '\t', '\r', '\n'];
    let spans = value_spans(table);
    let braces = table.span().unwrap_or_default();
    let Some(first_kept) = spans.iter().position(|value| !goes(value)) else {
        return vec![(braces, "{}".to_owned())];
    };
    let mut cuts = Vec::new();
    if let Some(last_gone) = spans[..first_kept].last() {
        let inside = &text[braces.start + 1..];
        let from = text.len() - inside.trim_start_matches(blank).len();
        let to = text.len() - text[last_gone.end..].trim_start_matches([',', ' ', '\t', '\r', '\n']).len();
        cuts.push(from..to);
    }
    let pairs = spans.windows(2).skip(first_kept).filter(|pair| goes(&pair[1]));
    cuts.extend(pairs.map(|pair| pair[0].end..pair[1].end));
    cuts.into_iter().map(|cut| (cut, String::new())).collect()
}

/// The positions of the values below the header of a table.
fn own_values(table: &Table) -> impl Iterator<Item = Range<usize>> {
    table.get_values().into_iter().map(|(_, value)| span(value))
}

fn last_byte(table: &Table) -> usize {
    extent(table).map(|range| range.end).max().unwrap_or_default()
}

fn first_byte(table: &Table) -> usize {
    extent(table).map(|range| range.start).min().unwrap_or_default()
}

/// The headers and values of a table and its subtables.
fn extent(table: &Table) -> Box<dyn Iterator<Item = Range<usize>> + '_> {
    let below = table.iter().flat_map(|(_, item)| -> Box<dyn Iterator<Item = Range<usize>> + '_> {
        match item {
            Item::None => Box::new(std::iter::empty()),
            Item::Value(value) => Box::new(value.span().into_iter()),
            Item::Table(table) => extent(table),
            Item::ArrayOfTables(tables) => Box::new(tables.iter().flat_map(extent)),
        }
    });
    Box::new(table.span().into_iter().chain(below))
}

#[cfg(test)]
mod tests;
