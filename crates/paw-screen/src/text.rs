//! What strangers wrote, made harmless for a terminal.
//!
//! Agents write messages, and whatever they read may speak through them. A [`Text`] holds no escape sequence, no
//! control character, nothing that turns the direction of writing, and no sequence whose width terminals disagree
//! about, so the columns of a table stay where they are.

use std::fmt;

use unicode_width::UnicodeWidthChar as _;

/// How much of one text is kept. Nobody reads more on a dashboard.
const KEPT: usize = 16 * 1024;
/// More marks than this on one letter are there to draw over other lines.
const MARKS: usize = 2;

/// A text that can be shown as it is. Only line breaks structure it.
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
    let mut rest = raw.chars();
    while let Some(c) = rest.next() {
        if kept.len() >= KEPT {
            kept.push('…');
            break;
        }
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\n' | '\u{2028}' | '\u{2029}' => kept.push(line_break),
            '\t' => kept.push(' '),
            '\u{1f1e6}'..='\u{1f1ff}' => kept.push(flag_letter(c)),
            c if is_invisible(c) => {}
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

/// What follows an escape character and belongs to it.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            *rest = ahead.clone();
            // Without its end the introducer alone is dropped: a text must not be able to hide its own rest.
            while let Some(c) = ahead.next() {
                if c == '\u{7}' || c == '\u{9c}' || (c == '\u{1b}' && ahead.next() == Some('\\')) {
                    *rest = ahead;
                    return;
                }
            }
        }
        Some(c @ ' '..='/') => {
            // Two intermediate characters at most: charset and keypad selections.
            *rest = ahead.clone();
            if matches!(ahead.next(), Some('0'..='~')) && c != ' ' {
                *rest = ahead;
            }
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    for c in ahead.by_ref() {
        match c {
            ' '..='?' => {}
            '@'..='~' => {
                *rest = ahead;
                return;
            }
            // Broken off: what follows is text again.
            _ => return,
        }
    }
    *rest = ahead;
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        // soft hyphen, Arabic letter mark, zero-width and direction marks
        '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        // word joiner, invisible operators, isolates, byte order mark
        | '\u{2060}'..='\u{206f}' | '\u{feff}'
        // variation selectors, keycap, skin tones: terminals disagree about the width of what they change
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{20e3}' | '\u{1f3fb}'..='\u{1f3ff}'
        // fillers that look like nothing, interlinear annotation, tags
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// A flag is two of these; some terminals draw a flag, some draw letters, each in its own width.
fn flag_letter(c: char) -> char {
    u8::try_from(u32::from(c) - 0x1f1e6).map_or('?', |offset| char::from(b'A' + offset))
}

/// Columns that a harmless text takes on the screen.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Columns of one character.
pub fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// As much of the text as fits, ending in `…` when something is missing.
pub fn clip(text: &str, room: usize) -> String {
    // A text longer than its room in bytes may still fit; one shorter always does.
    if text.len() <= room || fits(text, room) {
        return text.to_owned();
    }
    let mut clipped = take(text, room.saturating_sub(1));
    if room > 0 {
        clipped.push('…');
    }
    clipped
}

/// As much of the end of the text as fits, beginning with `…` when something is missing.
pub fn clip_start(text: &str, room: usize) -> String {
    if fits(text, room) {
        return text.to_owned();
    }
    let mut used = usize::from(room > 0);
    let mut start = text.len();
    for (place, c) in text.char_indices().rev() {
        used += columns(c);
        if used > room {
            break;
        }
        start = place;
    }
    if room == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

fn fits(text: &str, room: usize) -> bool {
    let mut used = 0;
    text.chars().all(|c| {
        used += columns(c);
        used <= room
    })
}

fn take(text: &str, room: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|c| {
            used += columns(*c);
            used <= room
        })
        .collect()
}

/// The text in lines of at most `room` columns, broken at spaces where there are any.
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
    fn colours_titles_and_links_leave_only_their_words() {
        assert_eq!(line("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(line("\u{1b}]0;evil title\u{7}text"), "text");
        assert_eq!(line("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(line("\u{9b}2Jgone"), "gone");
        assert_eq!(line("a\u{1b}(0b\u{1b}=c\u{1b}cd"), "abcd");
    }

    #[test]
    fn a_sequence_that_never_ends_hides_nothing() {
        assert_eq!(line("\u{1b}]0;still here"), "0;still here");
        assert_eq!(line("\u{1b}[31\u{1}text"), "31text");
        assert_eq!(line("end\u{1b}"), "end");
    }

    #[test]
    fn control_characters_and_direction_marks_are_gone() {
        assert_eq!(line("a\rb\u{8}c\u{0}d\u{85}e"), "abcde");
        assert_eq!(line("user\u{202e}txt.exe\u{2066}x\u{200f}"), "usertxt.exex");
        assert_eq!(line("zero\u{200b}width\u{feff}"), "zerowidth");
        assert_eq!(line("tag\u{e0041}\u{e0042}"), "tag");
    }

    #[test]
    fn emoji_keep_one_width_everywhere() {
        assert_eq!(line("\u{1f469}\u{200d}\u{1f4bb}"), "\u{1f469}\u{1f4bb}");
        assert_eq!(line("\u{1f1e9}\u{1f1ea}"), "DE");
        assert_eq!(line("\u{2764}\u{fe0f}"), "\u{2764}");
        assert_eq!(line("\u{1f44d}\u{1f3fd}"), "\u{1f44d}");
    }

    #[test]
    fn piled_up_marks_are_thinned() {
        assert_eq!(line("e\u{301}\u{302}\u{303}\u{304}x"), "e\u{301}\u{302}x");
    }

    #[test]
    fn lines_are_kept_or_joined() {
        assert_eq!(Text::new("a\r\n\tb").as_str(), "a\n b");
        assert_eq!(line("  a\n\n\tb  c "), "a b c");
    }

    #[test]
    fn a_huge_text_is_cut() {
        let text = Text::new(&"é".repeat(1_000_000));
        assert!(text.as_str().len() < KEPT + 8 && text.as_str().ends_with('…'));
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("hello", 5), "hello");
        assert_eq!(clip("hello", 4), "hel…");
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("hello", 1), "…");
        assert_eq!(clip("hello", 0), "");
        assert_eq!(clip_start("src/auth/token.rs", 9), "…token.rs");
        assert_eq!(clip_start("日本語", 4), "…語");
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_inside_words_that_are_too_long() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("日本語", 1), ["日", "本", "語"]);
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left_of_any_text(raw in "(\\PC|\\pC|\u{1b}[\\[\\]a-z0-9;]?){0,60}") {
            for text in [Text::new(&raw), Text::line(&raw)] {
                for c in text.as_str().chars() {
                    prop_assert!(c == '\n' || (!c.is_control() && !is_invisible(c)), "{:?}", c);
                }
            }
            prop_assert!(!Text::line(&raw).as_str().contains('\n'));
        }

        #[test]
        fn what_is_clipped_fits(raw in "\\PC{0,40}", room in 0_usize..30) {
            let text = Text::line(&raw);
            prop_assert!(width(&clip(text.as_str(), room)) <= room);
            prop_assert!(width(&clip_start(text.as_str(), room)) <= room);
        }

        #[test]
        fn what_is_wrapped_fits_and_loses_only_spaces(raw in "\\PC{0,80}", room in 2_usize..30) {
            let text = Text::new(&raw);
            let lines = wrap(text.as_str(), room);
            prop_assert!(lines.iter().all(|line| width(line) <= room));
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(bare(&lines.concat()), bare(text.as_str()));
        }
    }
}
