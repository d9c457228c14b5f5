//! Finds tests inside Rust code: items under `#[cfg(test)]`, `#[test]` and similar attributes.
//!
//! A scanner, not a parser: it understands strings, comments and brackets, which is enough to find the end of an
//! item.

use std::ops::Range;

/// The byte ranges of test-only items, from the first attribute to the closing brace.
pub(super) fn test_items(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan { text, at: 0 };
    let mut items: Vec<Range<usize>> = Vec::new();
    // Attributes of the next item.
    let mut attributes: Option<(usize, bool)> = None;
    while let Some((start, token)) = scan.next() {
        if let Token::Attribute(attribute) = token {
            let (first, for_tests) = attributes.unwrap_or((start, false));
            attributes = Some((first, for_tests || is_test_attribute(attribute)));
        } else if let Some((first, true)) = attributes.take() {
            items.push(first..scan.end_of_item(start, token));
        }
    }
    items
}

/// `test`, `tokio::test`, `rstest`, `cfg(test)`, `cfg(all(test, unix))`; not `cfg(not(test))`.
fn is_test_attribute(attribute: &str) -> bool {
    let squeezed: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(condition) = squeezed.strip_prefix("cfg(") {
        let words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
        return !condition.contains("not(test") && words.into_iter().any(|word| word == "test");
    }
    let path = squeezed.split(['(', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    matches!(last, "test" | "rstest" | "test_case" | "proptest" | "quickcheck" | "bench")
}

enum Token<'a> {
    /// The text between `#[` and `]`.
    Attribute(&'a str),
    Open,
    Close,
    Semicolon,
    Comma,
    Other,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<(usize, Token<'a>)> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            let start = self.at;
            if first.is_whitespace() {
                self.at += first.len_utf8();
                continue;
            }
            if let Some(length) = comment(rest) {
                self.at += length;
                continue;
            }
            if let Some(length) = literal(rest) {
                self.at += length;
                return Some((start, Token::Other));
            }
            if rest.starts_with("#[") || rest.starts_with("#![") {
                let inner = rest.starts_with("#![");
                self.at += if inner { 3 } else { 2 };
                let from = self.at;
                self.skip_to_closing();
                let text = self.text[from..self.at].strip_suffix(']').unwrap_or(&self.text[from..self.at]);
                // An inner attribute belongs to the enclosing item.
                return Some((start, if inner { Token::Other } else { Token::Attribute(text) }));
            }
            let token = match first {
                '(' | '[' | '{' => Token::Open,
                ')' | ']' | '}' => Token::Close,
                ';' => Token::Semicolon,
                ',' => Token::Comma,
                _ => Token::Other,
            };
            // Skip whole words, so that the end of `bar"` is not read as the start of `r"`.
            let word = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
            self.at += word.max(first.len_utf8());
            return Some((start, token));
        }
    }

    /// Skips to the closing bracket.
    fn skip_to_closing(&mut self) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next() {
                Some((_, Token::Open)) => depth += 1,
                Some((_, Token::Close)) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Finds the end of an item whose first token was just read: a semicolon, the end of its body, or a comma after a
    /// field, variant or match arm.
    fn end_of_item(&mut self, start: usize, first: Token<'a>) -> usize {
        let small = !is_item(&self.text[start..]);
        let mut token = Some(first);
        loop {
            match token {
                Some(Token::Open) => {
                    let body = self.text[..self.at].ends_with('{');
                    self.skip_to_closing();
                    if body && !small {
                        return self.after_semicolon();
                    }
                }
                Some(Token::Comma) if small => return self.at,
                Some(Token::Semicolon) | None => return self.at,
                // The enclosing item ends first.
                Some(Token::Close) => return self.at.saturating_sub(1),
                Some(Token::Attribute(_) | Token::Comma | Token::Other) => {}
            }
            token = self.next().map(|(_, token)| token);
        }
    }

    /// `use a::{b, c};` ends after its braces.
    fn after_semicolon(&mut self) -> usize {
        let before = self.at;
        match self.next() {
            Some((_, Token::Semicolon)) => {}
            _ => self.at = before,
        }
        self.at
    }
}

/// Whether a whole item starts here, not a field, variant or arm.
fn is_item(text: &str) -> bool {
    const KEYWORDS: [&str; 13] = [
        "mod", "fn", "use", "const", "static", "impl", "struct", "enum", "trait", "type", "extern", "let",
        "union",
    ];
    let head = text.split(['{', ';', ',', '}']).next().unwrap_or_default();
    let mut words = head.split(|c: char| !c.is_alphanumeric() && c != '_');
    head.contains('!') || words.any(|word| KEYWORDS.contains(&word))
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let mut left = rest.strip_prefix("/*")?;
    let mut depth = 1_usize;
    while depth > 0 && !left.is_empty() {
        if let Some(after) = left.strip_prefix("*/") {
            (left, depth) = (after, depth - 1);
        } else if let Some(after) = left.strip_prefix("/*") {
            (left, depth) = (after, depth + 1);
        } else {
            left = &left[left.chars().next().map_or(1, char::len_utf8)..];
        }
    }
    Some(rest.len() - left.len())
}

/// The length of a string, raw string or character literal. A lifetime is not a literal.
fn literal(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.starts_with('"') || (prefix.ends_with('r') && is_raw(after)))
    });
    if let Some(prefix) = prefix {
        let after = &rest[prefix.len()..];
        let hashes = after.len() - after.trim_start_matches('#').len();
        if prefix.ends_with('r') {
            let closing = format!("\"{}", "#".repeat(hashes));
            let body = after.get(hashes + 1..)?;
            return Some(
                body.find(&closing).map_or(rest.len(), |end| prefix.len() + hashes + 1 + end + closing.len()),
            );
        }
        return Some(prefix.len() + quoted(after, '"'));
    }
    let after = rest.strip_prefix('\'')?;
    let mut chars = after.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => Some(quoted(rest, '\'')),
        (Some(c), Some('\'')) => Some(2 + c.len_utf8()),
        _ => Some(1),
    }
}

fn is_raw(after: &str) -> bool {
    after.starts_with('#') && after.trim_start_matches('#').starts_with('"')
}

/// The length of a quoted text including its quotes; a backslash escapes the next character.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<&str> {
        test_items(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn rust_test_items_are_found_completely() {
        let text = "use a;\n/// doc } \n#[derive(X)]\nfn f() -> char { '}' }\n#[cfg(test)]\n#[path = \"x\"]\nmod tests;\n\
            #[cfg(all(test, unix))]\nmod more { fn g<'a>(x: &'a str) { let s = \"}\\\"\"; let r = r#\"}\"}\"#; /* } */ } }\n\
            #[tokio::test(flavor = \"x\")]\nasync fn t() where [u8; 3]: Sized { }\nfn h() {}\n";
        assert_eq!(
            found(text),
            [
                "#[cfg(test)]\n#[path = \"x\"]\nmod tests;",
                "#[cfg(all(test, unix))]\nmod more { fn g<'a>(x: &'a str) { let s = \"}\\\"\"; let r = r#\"}\"}\"#; /* } */ } }",
                "#[tokio::test(flavor = \"x\")]\nasync fn t() where [u8; 3]: Sized { }",
            ]
        );
    }

    #[test]
    fn rust_code_outside_of_tests_is_not_a_test_item() {
        assert!(
            found(
                "#[cfg(not(test))]\nfn f() {}\n#[testing]\nfn g() {}\n#[cfg(feature = \"testing\")] mod x {}"
            )
            .is_empty()
        );
        assert!(found("// #[test]\nfn f() { let x = \"#[test] fn t() {}\"; }").is_empty());
        assert!(found("#![cfg(test)]\nfn f() {}").is_empty());
    }

    #[test]
    fn rust_test_field_or_variant_ends_at_its_comma() {
        let text = "struct S {\n    #[cfg(test)]\n    pub calls: Vec<(u8, u8)>,\n    real: u8,\n}\n\
            match x { #[cfg(test)] A { .. } => { 1 }, B => 2 }\n#[cfg(test)]\nuse a::{b, c};\nfn f() {}\n";
        assert_eq!(
            found(text),
            [
                "#[cfg(test)]\n    pub calls: Vec<(u8, u8)>,",
                "#[cfg(test)] A { .. } => { 1 },",
                "#[cfg(test)]\nuse a::{b, c};",
            ]
        );
    }

    #[test]
    fn unclosed_rust_test_item_extends_to_the_end() {
        assert_eq!(found("#[test]\nfn t() { \"open"), ["#[test]\nfn t() { \"open"]);
        assert_eq!(found("mod m { #[cfg(test)] }"), ["#[cfg(test)] "]);
    }

    proptest! {
        #[test]
        fn rust_tests_parser_never_panics(text in "(#\\[|#!\\[|cfg\\(test\\)|test|\\]|\\{|\\}|\\(|\\)|;|\"|'|r#|//|/\\*|\\*/|\\\\|\n|é|fn x){0,40}") {
            for item in test_items(&text) {
                prop_assert!(text.get(item).is_some());
            }
        }
    }
}
