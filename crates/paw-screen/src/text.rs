//! Text from agents, sanitized for the screen.
//!
//! Agents write messages, and a file they read may control what they write. A [`Text`] holds no hidden character
//! ([`paw_core::text::is_hidden`]) and no sequence whose width terminals disagree about, so the columns of a table
//! stay aligned. Unlike [`paw_core::text::line`] it drops what it cannot draw, because space is scarce.

use std::fmt;

use paw_core::text::{columns, is_hidden, strip_terminal_codes, width};
use unicode_width::UnicodeWidthChar as _;

/// The most bytes of a text, which is more than a dashboard shows.
const KEPT: usize = 16 * 1024;
/// The most combining marks per character. More could draw over other lines.
const MARKS: usize = 2;

/// A text that is safe to display. Its only control characters are line breaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// The text with its line breaks.
    pub fn new(raw: &str) -> Self {
        Self(neutral(raw, '\n'))
    }

    /// The text on one line.
    pub fn line(raw: &str) -> Self {
        let neutral = neutral(raw, ' ');
        Self(neutral.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// One row of a terminal: the text on one line, with its spaces.
    pub fn row(raw: &str) -> Self {
        Self(neutral(raw, ' ').trim_end().to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self::line(raw)
    }
}

fn neutral(raw: &str, line_break: char) -> String {
    let mut kept = String::with_capacity(raw.len().min(KEPT));
    let mut marks = 0;
    for c in strip_terminal_codes(raw).chars() {
        if kept.len() >= KEPT {
            kept.push('…');
            break;
        }
        match c {
            '\n' => kept.push(line_break),
            '\r' => {}
            '\t' => kept.push(' '),
            // The line and paragraph separators of Unicode.
            c if is_hidden(c) && c.is_whitespace() => kept.push(line_break),
            '\u{1f1e6}'..='\u{1f1ff}' => kept.push(flag_letter(c)),
            c if is_dropped(c) => {}
            c if is_private(c) => kept.push('\u{fffd}'),
            c => match c.width() {
                None => {}
                Some(0) => {
                    marks += 1;
                    if marks <= MARKS && !kept.is_empty() {
                        kept.push(c);
                    }
                    continue;
                }
                Some(_) => kept.push(c),
            },
        }
        marks = 0;
    }
    kept
}

/// Hidden characters, keycaps and skin tones. Terminals disagree about the width of the latter two.
fn is_dropped(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{20e3}' | '\u{1f3fb}'..='\u{1f3ff}')
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// The letter of a regional indicator. Two of them make a flag, whose width differs between terminals.
fn flag_letter(c: char) -> char {
    u8::try_from(u32::from(c) - 0x1f1e6).map_or('?', |offset| char::from(b'A' + offset))
}

/// Wraps the text into lines of at most `room` columns, at spaces if possible.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    text.split('\n').flat_map(|line| wrap_line(line, room)).collect()
}

fn wrap_line(line: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let long = width(word.trim_end());
        if used > 0 && used + long > room {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        for c in word.chars() {
            if used + columns(c) > room && used > 0 {
                if c == ' ' {
                    continue;
                }
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(c);
            used += columns(c);
        }
    }
    lines.push(current);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(raw: &str) -> String {
        Text::line(raw).to_string()
    }

    #[test]
    fn text_drops_escape_sequences_controls_and_direction_marks() {
        assert_eq!(line("\u{1b}[1;31mred\u{1b}[0m\u{1b}]0;title\u{7}"), "red");
        assert_eq!(line("a\rb\u{8}c\u{0}d\u{85}e"), "abcde");
        assert_eq!(line("user\u{202e}txt.exe\u{2066}x\u{200f}"), "usertxt.exex");
        assert_eq!(line("zero\u{200b}width\u{feff}"), "zerowidth");
        assert_eq!(line("tag\u{e0041}\u{e0042}"), "tag");
    }

    #[test]
    fn text_reduces_emoji_to_one_width() {
        assert_eq!(line("\u{1f469}\u{200d}\u{1f4bb}"), "\u{1f469}\u{1f4bb}");
        assert_eq!(line("\u{1f1e9}\u{1f1ea}"), "DE");
        assert_eq!(line("\u{2764}\u{fe0f}"), "\u{2764}");
        assert_eq!(line("\u{1f44d}\u{1f3fd}"), "\u{1f44d}");
    }

    #[test]
    fn text_limits_combining_marks() {
        assert_eq!(line("e\u{301}\u{302}\u{303}\u{304}x"), "e\u{301}\u{302}x");
    }

    #[test]
    fn new_keeps_line_breaks_and_line_joins_them() {
        assert_eq!(Text::new("a\r\n\tb").as_str(), "a\n b");
        assert_eq!(Text::new("a\u{2028}b").as_str(), "a\nb");
        assert_eq!(line("  a\n\n\tb  c "), "a b c");
    }

    #[test]
    fn text_truncates_huge_input() {
        let text = Text::new(&"é".repeat(1_000_000));
        assert!(text.as_str().len() < KEPT + 8 && text.as_str().ends_with('…'));
    }

    #[test]
    fn wrap_breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("日本語", 1), ["日", "本", "語"]);
    }

    proptest! {
        #[test]
        fn text_contains_no_hidden_characters(raw in "(\\PC|\\pC|\u{1b}[\\[\\]a-z0-9;]?){0,60}") {
            for text in [Text::new(&raw), Text::line(&raw)] {
                for c in text.as_str().chars() {
                    prop_assert!(c == '\n' || !is_hidden(c), "{:?}", c);
                }
            }
            prop_assert!(!Text::line(&raw).as_str().contains('\n'));
        }

        #[test]
        fn wrapped_lines_fit_and_lose_only_spaces(raw in "\\PC{0,80}", room in 2_usize..30) {
            let text = Text::new(&raw);
            let lines = wrap(text.as_str(), room);
            prop_assert!(lines.iter().all(|line| width(line) <= room));
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(bare(&lines.concat()), bare(text.as_str()));
        }
    }
}
