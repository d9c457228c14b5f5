//! The corpora of hostile and everyday commands: tables with a category and a command per line.

use std::sync::LazyLock;

/// One line of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) category: String,
    pub(crate) command: String,
}

impl Line {
    /// Whether text after it is a command of its own: no comment and no here-document.
    pub(crate) fn is_plain(&self) -> bool {
        !self.command.contains(['#', '\n']) && !self.command.contains("<<")
    }
}

pub(crate) static HOSTILE: LazyLock<Vec<Line>> =
    LazyLock::new(|| read(include_str!("../corpus/hostile.tsv")));
pub(crate) static EVERYDAY: LazyLock<Vec<Line>> =
    LazyLock::new(|| read(include_str!("../corpus/everyday.tsv")));

fn read(table: &str) -> Vec<Line> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('\t'));
    rows.map(|(category, command)| Line { category: category.to_owned(), command: decode(command) }).collect()
}

/// A return sign is a new line, and `\\u{…}` a character that would not be visible.
fn decode(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').unwrap();
        decoded.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        decoded.push_str(rest);
    }
    decoded.replace('⏎', "\n")
}
