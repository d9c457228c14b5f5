//! Finds the input on a screen, and the text in it.

use super::cells::{Screen, ScreenRow};
use super::pattern::choice;
use super::rules::{InputRule, MarkPosition, ScreenRules, WorkMark};

/// The input of a CLI on its screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Text that was typed and not sent, without the hint that a CLI shows in an empty input.
    pub(super) typed: String,
    /// The first row of the input, and the first row after it.
    rows: (usize, usize),
}

/// The most rows that a CLI shows below its input.
const BELOW: usize = 4;

pub(super) fn find(screen: &Screen, rules: &ScreenRules) -> Option<Found> {
    let mut found = match &rules.input {
        InputRule::Ruled { cursor } => ruled(screen, *cursor),
        InputRule::Cursor { cursor, below } => after_cursor(screen, cursor, *below),
        InputRule::Block { edge, under } => block(screen, *edge, under),
        InputRule::LastRow { prompt } => last_row(screen, prompt),
    }?;
    if rules.hints.iter().any(|hint| found.typed.starts_with(hint)) {
        found.typed.clear();
    }
    Some(found)
}

impl Found {
    pub(super) fn shows(&self, screen: &Screen, mark: &WorkMark) -> bool {
        let rows = screen.rows();
        match mark.place {
            MarkPosition::Under => rows[self.rows.1..].iter().any(|row| row.text().contains(mark.text)),
            MarkPosition::Over => self.above(screen).take(2).any(|row| row.text().contains(mark.text)),
            MarkPosition::Last => false,
        }
    }

    /// The last row of the screen, if it is below the input.
    pub(super) fn last_below<'a>(&self, screen: &'a Screen) -> Option<&'a str> {
        screen.rows()[self.rows.1..].last().map(ScreenRow::text)
    }

    /// The rows above the input that are not blank, nearest first.
    pub(super) fn above<'a>(&self, screen: &'a Screen) -> impl Iterator<Item = &'a ScreenRow> {
        screen.rows()[..self.rows.0].iter().rev().filter(|row| !row.is_blank() && !row.is_rule())
    }
}

/// The text of a row from a column on, unless it is drawn as a hint.
fn typed(row: &ScreenRow, from: usize) -> String {
    let text: String = row.text().chars().skip(from).collect();
    let hint = row.styles_from(from).all(|style| style.dim);
    if hint && !text.trim().is_empty() { String::new() } else { text.trim().to_owned() }
}

fn join(rows: impl Iterator<Item = String>) -> String {
    rows.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn ruled(screen: &Screen, cursor: char) -> Option<Found> {
    let rows = screen.rows();
    let bottom = rows.iter().rposition(ScreenRow::is_rule)?;
    let below = rows[bottom + 1..].iter().filter(|row| !row.is_blank()).count();
    let top = rows[..bottom].iter().rposition(ScreenRow::is_rule)?;
    let first = rows.get(top + 1)?;
    if below > BELOW || top + 1 == bottom || !first.text().starts_with(cursor) {
        return None;
    }
    let text = |row: usize| without_rule(&typed(&rows[row], usize::from(row == top + 1))).to_owned();
    Some(Found { typed: join((top + 1..bottom).map(text)), rows: (top, bottom + 1) })
}

/// Text without what is left of a rule behind it: a CLI whose pane was made narrower does not erase all of its old screen.
fn without_rule(text: &str) -> &str {
    let before = text.trim_end_matches('─');
    if before.is_empty() || before.ends_with(char::is_whitespace) { before.trim_end() } else { text }
}

fn after_cursor(screen: &Screen, cursor: &str, below: usize) -> Option<Found> {
    let rows = screen.rows();
    let own = |row: &ScreenRow| row.is_blank() || row.indent() > 0;
    let first = rows.iter().rposition(|row| row.text().starts_with(cursor))?;
    let column = cursor.chars().count();
    let rest: String = rows[first].text().chars().skip(column).collect();
    let after = &rows[first + 1..];
    // A list of choices uses the same cursor.
    let listed = choice(&rest, '›').is_some();
    if listed || !rest.is_empty() && !rest.starts_with(char::is_whitespace) || !after.iter().all(own) {
        return None;
    }
    // Typed rows follow without a gap; the CLI's own rows come after one, at the end.
    let more = after.iter().take_while(|row| !row.is_blank()).count();
    let more = if more == after.len() { 0 } else { more };
    let under = after[more..].iter().filter(|row| !row.is_blank()).count();
    if under > below {
        return None;
    }
    let end = first + 1 + more;
    let text = |row: usize| typed(&rows[row], if row == first { column } else { 0 });
    Some(Found { typed: join((first..end).map(text)), rows: (first, end) })
}

fn block(screen: &Screen, edge: char, under: &str) -> Option<Found> {
    let rows = screen.rows();
    let bottom = rows.iter().rposition(|row| row.text().trim_start().starts_with(under))?;
    let edged = |row: &ScreenRow| row.text().trim_start().starts_with(edge);
    let top = rows[..bottom].iter().rposition(|row| !edged(row)).map_or(0, |above| above + 1);
    // An empty row, the text, an empty row, and a row of the CLI.
    if bottom < top + 4 {
        return None;
    }
    let text = |row: usize| typed(&rows[row], rows[row].indent() + 1);
    Some(Found { typed: join((top..bottom - 1).map(text)), rows: (top, bottom + 1) })
}

fn last_row(screen: &Screen, prompt: &str) -> Option<Found> {
    let last = screen.rows().len().checked_sub(1)?;
    let text = screen.rows()[last].text();
    let (mode, typed) = text.split_once(prompt)?;
    let is_mode = mode.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b' ');
    let apart = typed.is_empty() || typed.starts_with(char::is_whitespace);
    let found = Found { typed: typed.trim().to_owned(), rows: (last, last + 1) };
    (is_mode && apart && mode.len() < 20).then_some(found)
}
