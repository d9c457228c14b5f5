//! The characters that must not reach a terminal, a log or a web page unescaped.

/// Whether a character controls a terminal or misleads a reader:
///
/// - C0 and C1 controls: they move the cursor, start escape sequences and end lines. Callers that want line breaks
///   and tabs allow them explicitly.
/// - line and paragraph separators: some viewers break the line there.
/// - bidirectional controls: they reorder the displayed text ("Trojan Source").
/// - characters without a width: soft hyphen, zero-width spaces and joiners, invisible operators, the byte order
///   mark, interlinear annotation, tags. With them, two different names can look equal, and tags can
///   hide whole sentences that only a language model reads.
/// - fillers: letters displayed as a blank.
///
/// Zero-width joiners are also part of emoji and of some Persian and Indic words. Those are displayed in parts, so that
/// names cannot look alike.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_bidi_control(c) || is_separator(c) || is_zero_width(c) || is_filler(c)
}

/// Whether a character has to be made visible to a reviewer of a command or script: unsafe characters, and those that
/// only change how another one looks. Variation selectors are harmless in prose, where emoji use them, but a shell
/// treats them as part of a word.
pub fn is_hidden(c: char) -> bool {
    is_unsafe(c)
        || matches!(c, '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fff8}' | '\u{e0080}'..='\u{e0fff}')
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}')
        || matches!(c, '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn is_filler(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_language_and_emoji_are_safe() {
        for c in "aZ9 ~é日本語אבгдक\u{301}🐾❤…—\u{a0}".chars() {
            assert!(!is_unsafe(c), "{c:?}");
            assert!(!is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn controls_bidi_marks_and_invisible_characters_are_unsafe() {
        let examples = "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{115f}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\
            \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{206f}\u{3164}\u{feff}\u{fff9}\u{e0041}\u{e007f}";
        for c in examples.chars() {
            assert!(is_unsafe(c) && is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn variation_selectors_are_hidden_but_safe() {
        for c in ['\u{fe0f}', '\u{e0100}', '\u{34f}'] {
            assert!(is_hidden(c) && !is_unsafe(c), "{c:?}");
        }
    }

    #[test]
    fn the_replacement_character_is_safe() {
        assert!(!is_unsafe(char::REPLACEMENT_CHARACTER) && !is_hidden(char::REPLACEMENT_CHARACTER));
    }
}
