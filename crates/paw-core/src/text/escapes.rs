//! Output of programs without escape sequences.

use std::borrow::Cow;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';

/// The text without escape sequences: colours, cursor movements, window titles, links. Other control characters stay;
/// [`super::line`] and [`super::block`] deal with those.
///
/// A sequence without an end loses only its introducer, so that a text cannot hide its own rest.
pub fn strip_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(starts_sequence) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            c if starts_sequence(c) => skip_string(&mut rest),
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

fn starts_sequence(c: char) -> bool {
    matches!(c, ESCAPE | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}')
}

/// After ESC: a control sequence, a string such as a window title, or a short code.
fn skip_escape(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        // Charset and keypad selections: intermediate characters, then a final one.
        Some(' '..='/') => {
            *rest = ahead.clone();
            if let Some('0'..='~') = ahead.find(|c| !matches!(c, ' '..='/')) {
                *rest = ahead;
            }
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

/// Parameters, then one character that ends it.
fn skip_control_sequence(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.find(|c| !matches!(c, ' '..='?')) {
        Some('@'..='~') | None => *rest = ahead,
        Some(_) => {}
    }
}

/// Until the bell or the string terminator. Any other control that ends a string on a terminal is left to the caller.
fn skip_string(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.clone().next() {
        match c {
            '\u{7}' | '\u{9c}' => {
                ahead.next();
                *rest = ahead;
                return;
            }
            ESCAPE => {
                *rest = ahead.clone();
                if ahead.as_str().starts_with("\u{1b}\\") {
                    ahead.nth(1);
                    *rest = ahead;
                }
                return;
            }
            '\u{80}'..='\u{9f}' | '\u{18}' | '\u{1a}' => {
                *rest = ahead;
                return;
            }
            _ => drop(ahead.next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_and_links_leave_only_their_words() {
        for text in [
            "\u{1b}[1;31mok\u{1b}[0m",
            "\u{1b}]0;title\u{7}ok",
            "\u{1b}]8;;http://x\u{1b}\\ok\u{1b}]8;;\u{1b}\\",
            "\u{1b}[2J\u{1b}[Hok",
            "\u{1b}(Bok\u{1b}7\u{1b}M\u{1b}=\u{1b}c",
            "\u{9b}31mok\u{9d}x\u{9c}",
            "\u{1b}P1;2qxxx\u{1b}\\ok",
            "\u{1b}]0;title\u{1b}[31mok",
        ] {
            assert_eq!(strip_escapes(text), "ok", "{text:?}");
        }
        assert!(matches!(strip_escapes("a [31m\tb\r\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_sequence_without_an_end_hides_nothing() {
        assert_eq!(strip_escapes("\u{1b}]0;still here"), "0;still here");
        assert_eq!(strip_escapes("\u{1b}[31\u{1}text"), "31\u{1}text");
        assert_eq!(strip_escapes("\u{1b}[31é"), "31é");
        assert_eq!(strip_escapes("end\u{1b}"), "end");
        assert_eq!(strip_escapes("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn a_megabyte_of_open_strings_is_read_once() {
        assert_eq!(strip_escapes(&"\u{9d}".repeat(500_000)), "");
        assert_eq!(strip_escapes(&"\u{1b}]".repeat(500_000)), "");
    }

    proptest! {
        #[test]
        fn no_introducer_is_left(text in "(\\PC|\\pC|\u{1b}|[\\[\\]P;0-9m\u{7}\\\\ (\u{9b}\u{9d}\u{9c}]){0,60}") {
            prop_assert!(!strip_escapes(&text).contains(starts_sequence));
        }

        #[test]
        fn text_without_introducers_is_left_alone(text in "\\PC{0,60}") {
            prop_assert_eq!(strip_escapes(&text), text.as_str());
        }
    }
}
