//! Reads the subject of a prompt exactly, or not at all.
//!
//! A model chooses its commands, their descriptions and the text around them. So the subject has to be where only the
//! CLI writes, in one row, and twice if the CLI shows it twice. Everything else is left to a person.

use super::cells::{CellStyle, Colour, ScreenRow};
use super::pattern::capture;
use super::prompt::{ApprovalSubject, Place};
use super::rules::{PromptRule, SubjectRule};

const OFF_SCREEN: &str = "its start is off-screen";
const SEVERAL_ROWS: &str = "it spans several rows, so its line breaks are unknown";
const NO_WITNESS: &str = "the transcript above does not show the same command";
const LOOK_ALIKES: &str = "it contains characters that look like others";
const NOT_SHOWN: &str = "the prompt does not show it in a trusted place";
const SHORTENED: &str = "its path is shortened";
const NO_COLOURS: &str = "without colours it looks like other text";

type Read = Result<ApprovalSubject, &'static str>;

pub(super) fn read(place: &Place<'_>, prompt: &PromptRule) -> ApprovalSubject {
    let read = match &prompt.subject {
        SubjectRule::Nowhere => Err(NOT_SHOWN),
        SubjectRule::Below { title, indent, witness } => below(place, title, *indent, witness),
        SubjectRule::FileBelow { title } => file_below(place, title),
        SubjectRule::Marked { mark, witness, between } => marked(place, mark, witness, between),
        SubjectRule::FileMarked(mark) => only_marked(place, mark).and_then(|(_, name)| file(name)),
        SubjectRule::Boxed { title, warning } => boxed(place, title, warning),
        SubjectRule::FileInTitle(titles) => file_in_title(place, titles),
        SubjectRule::Reversed { after } => reversed(place, after),
        SubjectRule::FileAbove => file_above(place),
    };
    read.unwrap_or_else(ApprovalSubject::Unreadable)
}

fn command(text: &str) -> Read {
    exact(text).map(|text| ApprovalSubject::Command(text.to_owned()))
}

fn file(text: &str) -> Read {
    match exact(text)? {
        // CLIs leave out the middle of a long path, which could name a protected directory.
        text if text.contains("...") => Err(SHORTENED),
        text => Ok(ApprovalSubject::File(text.to_owned())),
    }
}

/// Accepts only printable ASCII, which has no lookalikes.
fn exact(text: &str) -> Result<&str, &'static str> {
    let text = text.trim_end();
    let plain = !text.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if plain { Ok(text) } else { Err(LOOK_ALIKES) }
}

/// The row of a title directly below a rule, above the question.
fn find_title(place: &Place<'_>, title: &str) -> Result<usize, &'static str> {
    let rule = (0..place.question).rev().find(|row| place.row(*row).is_some_and(ScreenRow::is_rule));
    let row = rule.ok_or(OFF_SCREEN)? + 1;
    if place.inside(row) == Some(title) { Ok(row) } else { Err(NOT_SHOWN) }
}

fn below(place: &Place<'_>, title: &str, indent: usize, witness: &[(&str, &str)]) -> Read {
    let title = find_title(place, title)?;
    let rows: Vec<&ScreenRow> = (title + 1..place.question)
        .filter_map(|row| place.row(row))
        .skip_while(|row| row.is_blank())
        .take_while(|row| row.is_blank() || row.indent() >= indent)
        .collect();
    let used = rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1);
    let (first, rest) = rows[..used].split_first().ok_or(NOT_SHOWN)?;
    if place.screen.is_styled() {
        let same = |row: &&ScreenRow| {
            row.is_blank() || row.styles_from(0).any(|style| style == CellStyle::default())
        };
        if first.styles_from(0).any(|style| style.fore != Colour::Usual) || rest.iter().any(same) {
            return Err(SEVERAL_ROWS);
        }
    } else if rest.len() > 1 {
        return Err(SEVERAL_ROWS);
    }
    let text = first.text().get(indent..).ok_or(NOT_SHOWN)?;
    let above: Vec<&str> = rows_above(place, title - 1).take(2).collect();
    let seen = witness.iter().any(|(first, second)| match above.as_slice() {
        [last, ..] if first.is_empty() => capture(second, last) == Some(text),
        [last, before] => last == second && capture(first, before) == Some(text),
        _ => false,
    });
    if seen { command(text) } else { Err(NO_WITNESS) }
}

/// The rows above `row` that are not blank, nearest first.
fn rows_above<'a>(place: &Place<'a>, row: usize) -> impl Iterator<Item = &'a str> {
    place.screen.rows()[..row].iter().rev().map(ScreenRow::text).filter(|text| !text.is_empty())
}

fn file_below(place: &Place<'_>, title: &str) -> Read {
    let title = find_title(place, title)?;
    let framed = place.row(title + 2).is_some_and(|row| row.text().starts_with("╌╌╌"));
    let name = place.inside(title + 1).and_then(|text| text.strip_prefix(' ')).ok_or(NOT_SHOWN)?;
    if framed { file(name) } else { Err(SEVERAL_ROWS) }
}

/// The only row of the details that starts with the mark, without the mark.
fn only_marked<'a>(place: &Place<'a>, mark: &str) -> Result<(usize, &'a str), &'static str> {
    let rows = place.question + 1..place.choices;
    let mut found = rows.filter_map(|row| Some((row, place.inside(row)?.strip_prefix(mark)?)));
    let first = found.next().ok_or(NOT_SHOWN)?;
    if found.next().is_some() { Err(NOT_SHOWN) } else { Ok(first) }
}

fn marked(place: &Place<'_>, mark: &str, witness: &[&str], between: &[&str]) -> Read {
    let (row, text) = only_marked(place, mark)?;
    let rest = |row: usize| place.inside(row).unwrap_or_default().trim();
    if (row + 1..place.choices).any(|row| !rest(row).is_empty()) {
        return Err(SEVERAL_ROWS);
    }
    let question = place.inside(place.question);
    let twice = (0..place.question).any(|row| place.inside(row) == question);
    let top = top_of_prompt(place);
    if twice || top == 0 {
        return Err(OFF_SCREEN);
    }
    let last = rows_above(place, top).find(|text| !between.iter().any(|own| text.starts_with(own)));
    match last.and_then(|last| witness.iter().find_map(|form| capture(form, last))) {
        Some(seen) if seen == text => command(text),
        _ => Err(NO_WITNESS),
    }
}

/// The first row of the prompt: its question, or the first row with its edge.
fn top_of_prompt(place: &Place<'_>) -> usize {
    if place.edges.0.is_empty() {
        return place.question;
    }
    (0..place.question).rev().find(|row| place.inside(*row).is_none()).map_or(0, |outside| outside + 1)
}

/// The row below the inner box: the question, or the blank row above a warning of indented rows.
fn end_of_box(place: &Place<'_>, warning: &str) -> usize {
    let is_text =
        |row: &usize| place.inside(*row).is_some_and(|text| text.is_empty() || text.starts_with("   "));
    let above = (0..place.question).rev().find(|row| !is_text(row));
    let warned = above.filter(|row| place.inside(*row).is_some_and(|text| text.starts_with(warning)));
    let blank = warned.and_then(|row| row.checked_sub(1));
    blank.filter(|row| place.inside(*row) == Some("")).unwrap_or(place.question)
}

/// The rows of the inner box above row `end`, and its title. The outer box has to start directly above.
fn open_box<'a>(place: &Place<'a>, end: usize) -> Result<(&'a str, Vec<&'a str>), &'static str> {
    let bottom = end.checked_sub(1).ok_or(OFF_SCREEN)?;
    if !place.inside(bottom).is_some_and(|text| text.starts_with("╰─")) {
        return Err(NOT_SHOWN);
    }
    let top = (0..bottom).rev().find(|row| !place.inside(*row).is_some_and(|text| text.starts_with("│ ")));
    let top =
        top.filter(|row| place.inside(*row).is_some_and(|text| text.starts_with("╭─"))).ok_or(OFF_SCREEN)?;
    let title = top.checked_sub(1).and_then(|row| place.inside(row)).ok_or(OFF_SCREEN)?;
    let outer = top.checked_sub(2).and_then(|row| place.row(row)).ok_or(OFF_SCREEN)?;
    if !outer.text().starts_with("╭─") {
        return Err(OFF_SCREEN);
    }
    let content = |row| place.inside(row)?.strip_prefix("│ ")?.strip_suffix('│').map(str::trim_end);
    Ok((title, (top + 1..bottom).filter_map(content).collect()))
}

fn boxed(place: &Place<'_>, title: &str, warning: &str) -> Read {
    let (shown, rows) = open_box(place, end_of_box(place, warning))?;
    let [text] = rows.as_slice() else { return Err(SEVERAL_ROWS) };
    let named = shown.strip_prefix(title).map(str::trim).ok_or(NOT_SHOWN)?;
    if named == *text { command(text) } else { Err(NO_WITNESS) }
}

fn file_in_title(place: &Place<'_>, titles: &[(&str, &str)]) -> Read {
    let (shown, _) = open_box(place, place.question)?;
    let name = titles.iter().find_map(|(title, end)| {
        let rest = shown.strip_prefix(title)?;
        if end.is_empty() { Some(rest) } else { rest.split_once(end).map(|(name, _)| name) }
    });
    file(name.ok_or(NOT_SHOWN)?)
}

fn reversed(place: &Place<'_>, after: &str) -> Read {
    if !place.screen.is_styled() {
        return Err(NO_COLOURS);
    }
    let row = |up: usize| place.question.checked_sub(up).and_then(|row| place.row(row)).ok_or(OFF_SCREEN);
    let (text, blank, before) = (row(1)?, row(2)?, row(3)?);
    let is_reverse = |row: &ScreenRow| row.styles_from(0).all(|style| style.reverse);
    if !is_reverse(text) || !blank.is_blank() {
        return Err(SEVERAL_ROWS);
    }
    if before.text().starts_with(after) && !is_reverse(before) {
        command(text.text())
    } else {
        Err(NOT_SHOWN)
    }
}

fn file_above(place: &Place<'_>) -> Read {
    let row = |up: usize| place.question.checked_sub(up).and_then(|row| place.inside(row)).ok_or(OFF_SCREEN);
    if row(2)?.is_empty() { file(row(1)?) } else { Err(SEVERAL_ROWS) }
}
