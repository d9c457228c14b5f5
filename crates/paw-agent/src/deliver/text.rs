//! Cleans a prompt for pasting, and recognizes it on the screen.

use paw_core::text::is_unsafe;

/// This many letters at the end identify a text.
const TRACE: usize = 24;

/// The text without unsafe characters: an escape sequence in it could end the paste and become keys, and hidden
/// characters would be read by the CLI but not by a person. `None` if only whitespace is left.
pub(super) fn clean(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String = text.chars().filter(|c| !is_unsafe(*c) || matches!(c, '\n' | '\t')).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The last letters and digits of a text, which are independent of how a screen wraps it.
pub(super) fn trace(text: &str) -> String {
    let letters: Vec<char> = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
    letters[letters.len().saturating_sub(TRACE)..].iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clean_removes_escape_sequences_that_could_end_the_paste() {
        assert_eq!(clean("a\u{1b}[201~\rrm -rf x\u{9b}201~\0").unwrap(), "a[201~\nrm -rf x201~");
        assert_eq!(clean("\tone\r\n\r\n\ttwo \n").unwrap(), "one\n\n\ttwo");
        assert_eq!(clean(" \u{1b}\n "), None);
        assert_eq!(clean("do \u{e0072}\u{e006d}\u{202e}it").unwrap(), "do it");
    }

    #[test]
    fn trace_is_the_last_letters_of_a_text() {
        assert_eq!(trace("Fix the parser, please: it loses the last line!\n"), "pleaseitlosesthelastline");
        assert_eq!(trace("…"), "");
    }

    proptest! {
        #[test]
        fn clean_removes_every_unsafe_character(text in "(\\PC|\\pC){0,60}") {
            if let Some(clean) = clean(&text) {
                prop_assert!(clean.chars().all(|c| !is_unsafe(c) || c == '\n' || c == '\t'));
                prop_assert_eq!(super::clean(&clean), Some(clean));
            }
        }
    }
}
