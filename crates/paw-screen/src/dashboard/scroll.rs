//! Moving in lists and long texts.

use crossterm::event::KeyCode;

/// The row to which a key moves the selection, or `None` for other keys.
pub(super) fn moved(from: usize, rows: usize, page: usize, code: KeyCode) -> Option<usize> {
    let last = rows.saturating_sub(1);
    let page = page.max(2) - 1;
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (from + 1).min(last),
        KeyCode::PageUp => from.saturating_sub(page),
        KeyCode::PageDown | KeyCode::Char(' ') => (from + page).min(last),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    })
}

/// The first visible line after a key, so that the last page stays full.
pub(super) fn scrolled(scroll: usize, lines: usize, room: usize, code: KeyCode) -> Option<usize> {
    let end = lines.saturating_sub(room);
    moved(scroll.min(end), end + 1, room, code)
}
