//! Text without the colours and cursor movements that some runners write even where nobody looks.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != ESCAPE {
            plain.push(c);
            continue;
        }
        match rest.next() {
            // Parameters, then one final letter.
            Some('[') => drop(rest.find(|c| ('@'..='~').contains(c))),
            // A title or a link, ended by a bell or by another sequence.
            Some(']') => drop(rest.find(|c| matches!(c, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_and_links_are_left_out_and_nothing_else() {
        assert_eq!(plain("\u{1b}[31m\u{1b}[1m>\u{1b}[22m\u{1b}[39m 2 | \u{1b}[0mé"), "> 2 | é");
        assert_eq!(plain("\u{1b}]0;title\u{7}a \u{1b}]8;;x\u{1b}\\b"), "a b");
        assert_eq!(plain("a [31m"), "a [31m");
        assert_eq!(plain("cut \u{1b}[3"), "cut ");
    }

    proptest! {
        #[test]
        fn no_escape_is_ever_left(text in "(\u{1b}|\\[|\\]|[0-9;m]|\\\\|\u{7}|é|a){0,40}") {
            prop_assert!(!plain(&text).contains(ESCAPE));
        }
    }
}
