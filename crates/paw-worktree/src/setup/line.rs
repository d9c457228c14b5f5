//! A line that some program printed, made fit for any terminal and any log.

use std::iter::Peekable;
use std::str::Chars;

use crate::shown::turns_direction;

/// The text a terminal would be left with: the last state of a progress bar, no colours, nothing that moves the
/// cursor, rings, sets a title or turns the reading direction.
pub(super) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let last = text.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut shown = String::with_capacity(last.len());
    let mut chars = last.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\t' => shown.push_str("    "),
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_control_string(&mut chars),
            c if c.is_control() || turns_direction(c) => {}
            c => shown.push(c),
        }
    }
    shown
}

/// After ESC: a sequence, a string such as a window title, or a short code.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_control_sequence(chars),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_control_string(chars),
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        _ => {}
    }
}

/// Parameters, then one character that ends it.
fn skip_control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Until the bell or the string terminator.
fn skip_control_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        assert_eq!(printable(b"  1%\r 50%\r100%"), "100%");
        assert_eq!(printable(b"  1%\r100%\r"), "100%");
        assert_eq!(printable(b"a line of Windows\r"), "a line of Windows");
        assert_eq!(printable(b"\r\r"), "");
    }

    #[test]
    fn colours_titles_and_cursor_movements_are_gone() {
        let noisy: &[&[u8]] = &[
            b"\x1b[1;31mok\x1b[0m",
            b"\x1b]0;title\x07ok",
            b"\x1b]8;;http://x\x1b\\ok\x1b]8;;\x1b\\",
            b"\x1b[2J\x1b[Hok\x08\x07",
            b"\x1b(Bok\x1b7\x1bM",
            "\u{9b}31mok\u{9d}x\u{9c}".as_bytes(),
            "\u{202e}ok\u{2066}".as_bytes(),
            b"\x1bP1;2qxxx\x1b\\ok",
        ];
        for bytes in noisy {
            assert_eq!(printable(bytes), "ok", "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_marked_and_tabs_are_spaces() {
        assert_eq!(printable(b"a\xffb\tc"), "a\u{fffd}b    c");
        assert_eq!(printable("ünï 日本 🐾".as_bytes()), "ünï 日本 🐾");
    }

    proptest! {
        #[test]
        fn nothing_a_program_prints_reaches_the_terminal_as_a_control(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(!printable(&bytes).chars().any(char::is_control));
        }

        #[test]
        fn escapes_of_any_kind_never_reach_the_terminal(text in "[\\x1b\\[\\]P;0-9mA\\x07\\\\ \\r\\u{9b}\\u{9d}x]{0,40}") {
            prop_assert!(!printable(text.as_bytes()).chars().any(char::is_control));
        }
    }
}
