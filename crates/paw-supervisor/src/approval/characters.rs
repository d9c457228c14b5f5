//! Refuses characters that a person and a shell may read differently.

use paw_core::text::is_hidden;

/// Refuses characters that are invisible, change the reading direction, or look like others.
///
/// Outside of quotes the lexer accepts only ASCII.
pub(super) fn check(text: &str) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(format!("contains the control character {}", c.escape_unicode()));
    }
    if let Some(c) = text.chars().find(|c| is_invisible(*c)) {
        return Err(format!("contains the invisible character {}", c.escape_unicode()));
    }
    if let Some(c) = text.chars().find(|c| is_look_alike(*c)) {
        return Err(format!("contains the look-alike character {}", c.escape_unicode()));
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    match words.find(|word| mixes_alphabets(word)) {
        Some(word) => Err(format!("mixes letters of two alphabets: {}", quoted(word))),
        None => Ok(()),
    }
}

/// An agent's text in backticks, with everything except plain ASCII escaped.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted = String::new();
    for c in text.chars().take(LONGEST) {
        if c == ' ' || c.is_ascii_graphic() {
            quoted.push(c);
        } else {
            quoted.extend(c.escape_default());
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        quoted.push_str("...");
    }
    format!("`{quoted}`")
}

/// Hidden, or a replacement character (U+FFFC and U+FFFD).
fn is_invisible(c: char) -> bool {
    (is_hidden(c) && !c.is_control()) || matches!(c, '\u{fffc}' | '\u{fffd}')
}

/// Looks like a blank, a dash, a quote, a slash, a dot, a semicolon or another shell character, but is not one.
fn is_look_alike(c: char) -> bool {
    let blank = c.is_whitespace() && !c.is_ascii();
    let dash = matches!(c, '\u{2010}'..='\u{2013}' | '\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}');
    let quote =
        matches!(c, '\u{2b9}'..='\u{2bd}' | '\u{2c8}' | '\u{2018}'..='\u{201f}' | '\u{2032}'..='\u{2037}');
    let slash = matches!(c, '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29f5}' | '\u{29f8}' | '\u{29f9}');
    let sign =
        matches!(c, '\u{37e}' | '\u{589}' | '\u{2024}'..='\u{2025}' | '\u{2223}' | '\u{a789}' | '\u{1c3}');
    let letter = matches!(c, '\u{2100}'..='\u{214f}' | '\u{1d400}'..='\u{1d7ff}' | '\u{ff00}'..='\u{ffef}');
    blank || dash || quote || slash || sign || letter || matches!(c, '\u{131}' | '\u{17f}' | '\u{261}')
}

/// Whether a Latin word contains Greek, Cyrillic or related letters.
fn mixes_alphabets(word: &str) -> bool {
    let twin = |c: char| {
        matches!(c, '\u{370}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}' | '\u{1c80}'..='\u{1c8f}')
            || matches!(c, '\u{1f00}'..='\u{1fff}' | '\u{2c80}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}')
    };
    word.chars().any(|c| c.is_ascii_alphanumeric()) && word.chars().any(twin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_languages_and_emoji_are_accepted() {
        for text in ["echo 'größer'", "git commit -m '修正 main'", "'исправил main'", "'a → b — c …'", "'🐾'"]
        {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn deceptive_characters_are_refused_with_their_code_point() {
        for (text, seen) in [
            ("ls\u{0}", "\\u{0}"),
            ("ls\r", "\\u{d}"),
            ("ls\u{9b}", "\\u{9b}"),
            ("ls \u{202e}txt", "\\u{202e}"),
            ("l\u{200b}s", "\\u{200b}"),
            ("'a\u{a0}b'", "\\u{a0}"),
            ("'\u{2013}f'", "\\u{2013}"),
            ("'\u{ff0f}etc'", "\\u{ff0f}"),
            ("'\u{37e}'", "\\u{37e}"),
            ("'s\u{440}c'", "\\u{440}"),
            ("'\u{1d552}'", "\\u{1d552}"),
        ] {
            let refused = check(text).unwrap_err();
            assert!(refused.contains(seen) && refused.is_ascii(), "{text:?}: {refused}");
        }
    }
}
