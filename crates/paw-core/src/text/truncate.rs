//! Cuts text to a length without splitting characters.

use std::borrow::Cow;
use std::path::PathBuf;

use unicode_width::UnicodeWidthChar as _;

/// The width of a safe text on a terminal, in columns.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The width of a character, in columns.
pub fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Cuts the text to `room` columns, with `…` at the end if something was removed.
pub fn truncate(text: &str, room: usize) -> String {
    // A character takes no more columns than bytes.
    if text.len() <= room || fits(text, room) {
        return text.to_owned();
    }
    let mut used = usize::from(room > 0);
    let kept = text.chars().take_while(|c| {
        used += columns(*c);
        used <= room
    });
    kept.chain((room > 0).then_some('…')).collect()
}

/// Keeps the end of the text within `room` columns, with `…` at the start if something was removed.
pub fn truncate_start(text: &str, room: usize) -> String {
    if fits(text, room) {
        return text.to_owned();
    }
    let mut used = usize::from(room > 0);
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        used += columns(c);
        if used > room {
            break;
        }
        start = at;
    }
    if room == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

/// Cuts the text to `most` characters, with `…` at the end if something was removed. For text that is stored or sent.
pub fn truncate_chars(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// The short form of a commit id.
pub fn short_commit(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// The first `most` items and the number of the others.
pub fn first_of<S: AsRef<str>>(items: &[S], most: usize) -> String {
    let shown: Vec<_> = items.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The first few paths and the number of the others.
pub fn first_paths(paths: &[PathBuf]) -> String {
    first_of(&paths.iter().map(|path| super::path(path)).collect::<Vec<_>>(), 5)
}

fn fits(text: &str, room: usize) -> bool {
    let mut used = 0;
    text.chars().all(|c| {
        used += columns(c);
        used <= room
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn truncation_counts_columns() {
        assert_eq!(truncate("hello", 5), "hello");
        assert_eq!(truncate("hello", 4), "hel…");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("hello", 1), "…");
        assert_eq!(truncate("hello", 0), "");
        assert_eq!(truncate_start("src/auth/token.rs", 9), "…token.rs");
        assert_eq!(truncate_start("日本語", 4), "…語");
        assert_eq!(truncate_start("日本語", 0), "");
    }

    #[test]
    fn truncation_of_stored_text_counts_characters() {
        assert_eq!(truncate_chars("日本語", 3), "日本語");
        assert_eq!(truncate_chars("日本語", 2), "日本…");
    }

    #[test]
    fn a_commit_is_named_by_ten_digits() {
        assert_eq!(short_commit("0123456789abcdef"), "0123456789");
        assert_eq!(short_commit("0123"), "0123");
    }

    #[test]
    fn a_long_list_ends_with_a_number() {
        assert_eq!(first_of(&["a", "b"], 2), "a, b");
        assert_eq!(first_of(&["a", "b", "c", "d"], 2), "a, b and 2 more");
        let paths: Vec<PathBuf> = ["a", "b\n", "c", "d", "e", "f"].map(PathBuf::from).into();
        assert_eq!(first_paths(&paths), "a, b\u{fffd}, c, d, e and 1 more");
    }

    proptest! {
        #[test]
        fn truncated_text_never_exceeds_its_room(text in "\\PC{0,40}", room in 0_usize..30) {
            let (head, tail) = (truncate(&text, room), truncate_start(&text, room));
            prop_assert!(width(&head) <= room && width(&tail) <= room);
            prop_assert!(text.starts_with(head.trim_end_matches('…')) || text.contains('…'));
            prop_assert!(text.ends_with(tail.trim_start_matches('…')) || text.contains('…'));
            prop_assert!(truncate_chars(&text, room).chars().count() <= room + 1);
        }
    }
}
