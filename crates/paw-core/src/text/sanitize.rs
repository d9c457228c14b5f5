//! Removes unsafe characters from text.

use std::borrow::Cow;
use std::path::Path;

use super::{is_hidden, is_unsafe};

/// The text as one safe line: line breaks and tabs become spaces, every other unsafe character U+FFFD.
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, |_| false, |c| if matches!(c, '\n' | '\t') { ' ' } else { char::REPLACEMENT_CHARACTER })
}

/// The text with its line breaks and tabs; every other unsafe character becomes U+FFFD.
pub fn block(text: &str) -> Cow<'_, str> {
    replace(text, |c| matches!(c, '\n' | '\t'), |_| char::REPLACEMENT_CHARACTER)
}

/// The text as content or attribute value of an HTML page, with its line breaks and tabs.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in block(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A JSON document with the same content, in which unsafe characters are escapes (`\u202e`). Line breaks between its parts
/// stay.
pub fn json(document: &str) -> Cow<'_, str> {
    let escaped = |c: char| is_unsafe(c) && !matches!(c, '\n' | '\t' | '\r');
    if !document.contains(escaped) {
        return Cow::Borrowed(document);
    }
    let mut safe = String::with_capacity(document.len());
    for c in document.chars() {
        if escaped(c) {
            let mut units = [0; 2];
            safe.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// The path as one safe line. Line breaks, tabs and bytes that are not UTF-8 become U+FFFD, too: as a space they would
/// look like part of an ordinary name.
pub fn path(path: &Path) -> String {
    replace(&path.to_string_lossy(), |_| false, |_| char::REPLACEMENT_CHARACTER).into_owned()
}

/// The text as one line with hidden characters escaped (`\u{202e}`), for people who review it. Tabs become spaces and
/// line breaks `\n`.
pub fn reveal(text: &str) -> String {
    let mut revealed = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => revealed.push_str("    "),
            '\n' => revealed.push_str("\\n"),
            c if is_hidden(c) => revealed.extend(c.escape_unicode()),
            c => revealed.push(c),
        }
    }
    revealed
}

/// Treats CRLF as one line break.
fn replace(text: &str, keep: fn(char) -> bool, replacement: fn(char) -> char) -> Cow<'_, str> {
    if !text.contains(|c| is_unsafe(c) && !keep(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_unsafe(c) && !keep(c) => safe.push(replacement(c)),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTILE: &str = "a\u{1b}[2Jb\r\nc\td\u{202e}e\u{200b}f\rg";

    #[test]
    fn line_joins_lines_and_replaces_unsafe_characters() {
        assert_eq!(line(HOSTILE), "a\u{fffd}[2Jb c d\u{fffd}e\u{fffd}f\u{fffd}g");
        assert!(matches!(line("größer 日本 🐾"), Cow::Borrowed(_)));
    }

    #[test]
    fn block_keeps_line_breaks_and_tabs() {
        assert_eq!(block(HOSTILE), "a\u{fffd}[2Jb\nc\td\u{fffd}e\u{fffd}f\u{fffd}g");
        assert!(matches!(block("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_document_keeps_its_content_without_unsafe_characters() {
        let content = serde_json::json!({"a\u{202e}": [HOSTILE, "\u{e0041}\u{9b}größer 🐾"]});
        let document = serde_json::to_string_pretty(&content).unwrap();
        let safe = json(&document);
        assert!(!safe.contains(|c: char| is_unsafe(c) && c != '\n'), "{safe:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), content);
        assert!(matches!(json("{\n}"), Cow::Borrowed(_)));
    }

    #[test]
    fn html_escapes_markup_and_sanitizes() {
        assert_eq!(
            html("<a href=\"x\">it's & \u{202e}\u{7}</a>\n"),
            "&lt;a href=&quot;x&quot;&gt;it&#39;s &amp; \u{fffd}\u{fffd}&lt;/a&gt;\n"
        );
    }

    #[test]
    fn reveal_escapes_hidden_characters() {
        assert_eq!(
            reveal("echo 'x'\u{1b}[8m\u{202e}\n\tls\u{fe0f}"),
            "echo 'x'\\u{1b}[8m\\u{202e}\\n    ls\\u{fe0f}"
        );
    }

    #[test]
    fn path_replaces_bytes_that_are_not_utf8() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"a\xffb\n\x1b.rs"));
        assert_eq!(path(odd), "a\u{fffd}b\u{fffd}\u{fffd}.rs");
    }

    proptest! {
        #[test]
        fn no_output_contains_an_unsafe_character(text in "(\\PC|\\pC|\r\n|[\n\t<&]){0,60}") {
            let allowed = |c: char| matches!(c, '\n' | '\t');
            prop_assert!(!line(&text).contains(is_unsafe));
            prop_assert!(!block(&text).contains(|c| is_unsafe(c) && !allowed(c)));
            prop_assert!(!html(&text).contains(|c| (is_unsafe(c) && !allowed(c)) || matches!(c, '<' | '>')));
            prop_assert!(!reveal(&text).contains(is_hidden));
        }

        #[test]
        fn line_has_no_line_break(text in "(\\PC|\\pC|\r\n|\n){0,60}") {
            prop_assert_eq!(line(&text).lines().count().max(1), 1);
        }

        #[test]
        fn sanitizing_twice_changes_nothing(text in "(\\PC|\\pC|\r\n|[\n\t]){0,60}") {
            let (once, many) = (line(&text), block(&text));
            prop_assert_eq!(line(&once), once.as_ref());
            prop_assert_eq!(block(&many), many.as_ref());
        }
    }
}
