//! Converts terminal output of programs to plain text.

use std::borrow::Cow;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';

/// The text without escape sequences (colours, cursor movements, window titles, links) and without control characters
/// such as the bell. Line breaks, carriage returns and tabs stay.
///
/// From an unterminated sequence only the introducer is removed, so that a text cannot hide its rest.
pub fn strip_terminal_codes(text: &str) -> Cow<'_, str> {
    if !text.contains(is_code) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            c if is_code(c) => {}
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// One line of program output as a terminal finally displays it: the last state of a progress bar, tabs as spaces, no
/// terminal codes, and U+FFFD for every other unsafe character.
pub fn output_line(line: &str) -> String {
    let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    super::line(&strip_terminal_codes(last).replace('\t', "    ")).into_owned()
}

fn is_code(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
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

/// Parameters, then one final character.
fn skip_control_sequence(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.find(|c| !matches!(c, ' '..='?')) {
        Some('@'..='~') | None => *rest = ahead,
        Some(_) => {}
    }
}

/// Up to BEL or the string terminator. The caller handles other controls that end a string.
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
    fn colours_titles_and_links_are_removed() {
        for text in [
            "\u{1b}[1;31mok\u{1b}[0m",
            "\u{1b}]0;title\u{7}ok",
            "\u{1b}]8;;http://x\u{1b}\\ok\u{1b}]8;;\u{1b}\\",
            "\u{1b}[2J\u{1b}[Hok\u{8}\u{7}",
            "\u{1b}(Bok\u{1b}7\u{1b}M\u{1b}=\u{1b}c",
            "\u{9b}31mok\u{9d}x\u{9c}",
            "\u{1b}P1;2qxxx\u{1b}\\ok",
            "\u{1b}]0;title\u{1b}[31mok",
        ] {
            assert_eq!(strip_terminal_codes(text), "ok", "{text:?}");
        }
        assert!(matches!(strip_terminal_codes("a [31m\tb\r\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_unterminated_sequence_hides_no_text() {
        assert_eq!(strip_terminal_codes("\u{1b}]0;still here"), "0;still here");
        assert_eq!(strip_terminal_codes("\u{1b}[31\u{1}text"), "31text");
        assert_eq!(strip_terminal_codes("\u{1b}[31é"), "31é");
        assert_eq!(strip_terminal_codes("end\u{1b}"), "end");
        assert_eq!(strip_terminal_codes("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn unterminated_strings_take_linear_time() {
        assert_eq!(strip_terminal_codes(&"\u{9d}".repeat(500_000)), "");
        assert_eq!(strip_terminal_codes(&"\u{1b}]".repeat(500_000)), "");
    }

    #[test]
    fn an_output_line_is_the_last_state_of_a_progress_bar() {
        assert_eq!(output_line("  1%\r 50%\r100%"), "100%");
        assert_eq!(output_line("  1%\r100%\r"), "100%");
        assert_eq!(output_line("a line of Windows\r"), "a line of Windows");
        assert_eq!(output_line("\r\r"), "");
    }

    #[test]
    fn an_output_line_replaces_unsafe_characters_and_expands_tabs() {
        assert_eq!(output_line("\u{1b}[1mok\u{202e}\tünï 🐾"), "ok\u{fffd}    ünï 🐾");
    }

    proptest! {
        #[test]
        fn an_output_line_is_safe(text in "(\\PC|\\pC|\u{1b}|[\\[\\]P;0-9m\u{7}\r\n]){0,60}") {
            prop_assert!(!output_line(&text).contains(crate::text::is_unsafe));
        }

        #[test]
        fn no_control_character_is_left(text in "(\\PC|\\pC|\u{1b}|[\\[\\]P;0-9m\u{7}\\\\ (\u{9b}\u{9d}\u{9c}]){0,60}") {
            prop_assert!(!strip_terminal_codes(&text).contains(is_code));
        }

        #[test]
        fn text_without_introducers_is_left_alone(text in "\\PC{0,60}") {
            prop_assert_eq!(strip_terminal_codes(&text), text.as_str());
        }
    }
}
