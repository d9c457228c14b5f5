//! Tables whose columns fit the page.

use super::{Page, inline, wrap};

const GAP: usize = 2;

pub(super) fn table(rows: &[&str], page: Page) -> String {
    let is_rule = |row: &&str| row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter(|row| !is_rule(row))
        .map(|row| cells(row).iter().map(|cell| inline::inline(cell, page)).collect())
        .collect();
    let widths = widths(&rows, page.width);
    let mut lines = Vec::new();
    for (row, number) in rows.iter().zip(0..) {
        let mut cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width, "", "")).collect();
        if number == 0 {
            cells.iter_mut().flatten().for_each(|line| *line = inline::bold(line, page));
        }
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        lines.extend((0..height).map(|at| line(&cells, at, &widths)));
    }
    lines.join("\n")
}

/// The cells of a row; an escaped bar belongs to its cell.
fn cells(row: &str) -> Vec<String> {
    const BAR: &str = "\u{1}";
    let row = row.trim().replace("\\|", BAR);
    let inner = row.strip_prefix('|').unwrap_or(&row);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

/// Each column is as wide as its widest cell. If the table is too wide, the widest columns shrink down to their longest word.
fn widths(rows: &[Vec<String>], page: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let column = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let natural = |at: usize| column(at).map(|cell| inline::columns(cell)).max().unwrap_or_default();
    let word = |at: usize| {
        column(at).flat_map(|cell| cell.split(' ')).map(inline::columns).max().unwrap_or_default()
    };
    let mut widths: Vec<(usize, usize)> = (0..count).map(|at| (natural(at), word(at))).collect();
    let room = page.saturating_sub(GAP * count.saturating_sub(1));
    while widths.iter().map(|(width, _)| width).sum::<usize>() > room {
        match widths.iter_mut().filter(|(width, least)| width > least).max() {
            Some((widest, _)) => *widest -= 1,
            None => break,
        }
    }
    widths.into_iter().map(|(width, _)| width).collect()
}

fn line(cells: &[Vec<String>], at: usize, widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let text = cell.get(at).map_or("", String::as_str);
        line.push_str(text);
        line.push_str(&" ".repeat(width.saturating_sub(inline::columns(text)) + GAP));
    }
    line.trim_end().to_owned()
}
