//! Separates string literals from code: whitespace inside a literal is part of what is tested.

/// Placeholder for a literal.
pub(super) const MASK: char = '\u{1}';

/// Replaces every literal with a placeholder and returns the literals in order.
pub(super) fn mask<'a>(ending: &str, text: &'a str) -> (String, Vec<&'a str>) {
    let (mut masked, mut literals) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = masked.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let taken = if let Some(end) = comment(ending, rest) {
            masked.extend(rest[..end].chars().filter(|c| *c != MASK));
            end
        } else if let Some(end) = literal(ending, rest, in_word) {
            masked.push(MASK);
            literals.push(&rest[..end]);
            end
        } else {
            masked.push(first);
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    (masked, literals)
}

/// The length of a comment that starts here.
fn comment(ending: &str, rest: &str) -> Option<usize> {
    let line = || rest.find('\n').unwrap_or(rest.len());
    if ending == "py" {
        return rest.starts_with('#').then(line);
    }
    if let Some(inside) = rest.strip_prefix("/*") {
        return Some(inside.find("*/").map_or(rest.len(), |at| at + 4));
    }
    rest.starts_with("//").then(line)
}

/// The length of a literal that starts here. An unclosed literal does not count.
fn literal(ending: &str, rest: &str, in_word: bool) -> Option<usize> {
    if rest.starts_with(MASK) {
        return Some(MASK.len_utf8());
    }
    match ending {
        "rs" => rust(rest, in_word),
        "go" if rest.starts_with('`') => closed(rest, 1, "`", false, true),
        "py" | "java" | "kt" | "cs" if rest.starts_with("\"\"\"") => closed(rest, 3, "\"\"\"", true, true),
        "py" if rest.starts_with("'''") => closed(rest, 3, "'''", true, true),
        _ if rest.starts_with('"') => closed(rest, 1, "\"", true, false),
        _ if rest.starts_with('\'') => closed(rest, 1, "'", true, false),
        _ if rest.starts_with('`') => closed(rest, 1, "`", true, true),
        _ => None,
    }
}

fn rust(rest: &str, in_word: bool) -> Option<usize> {
    if rest.starts_with('"') {
        return closed(rest, 1, "\"", true, true);
    }
    let raw = ["br", "r"].iter().find(|mark| rest.starts_with(**mark) && !in_word);
    if let Some(start) = raw.map(|mark| mark.len()) {
        let hashes = rest[start..].chars().take_while(|c| *c == '#').count();
        let quote = start + hashes;
        return rest[quote..]
            .starts_with('"')
            .then(|| closed(rest, quote + 1, &format!("\"{}", "#".repeat(hashes)), false, true))?;
    }
    // `'a'` is a character, `'a` a lifetime.
    let mut letters = rest.strip_prefix('\'')?.chars();
    match (letters.next()?, letters.next()?) {
        ('\\', _) => closed(rest, 1, "'", true, false),
        (_, '\'') => closed(rest, 1, "'", false, false),
        _ => None,
    }
}

/// The end of a text closed by `close`, searched from `from`.
fn closed(rest: &str, from: usize, close: &str, escapes: bool, lines: bool) -> Option<usize> {
    let mut at = from;
    while let Some(letter) = rest[at..].chars().next() {
        if rest[at..].starts_with(close) {
            return Some(at + close.len());
        }
        if letter == '\n' && !lines {
            return None;
        }
        at += letter.len_utf8();
        if escapes && letter == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literals(ending: &str, text: &str) -> Vec<String> {
        mask(ending, text).1.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn literals_of_each_language_are_found_and_comments_are_not() {
        let rust = "f(\"a\\\"b\", 'c', '\\'', b\"x\", &'static str) // \"no\"; /* \"no\" */ ";
        assert_eq!(literals("rs", rust), ["\"a\\\"b\"", "'c'", "'\\''", "\"x\""]);
        assert_eq!(
            literals("rs", "f(r#\"raw \"quoted\"\"#, br\"\\\")"),
            ["r#\"raw \"quoted\"\"#", "br\"\\\""]
        );
        assert_eq!(literals("rs", "fn f<'a>(x: &'a str, y: &'b u8) {}"), [""; 0]);
        let python = "x = 'a' + \"\"\"b\n# c\n\"\"\" # it's\ny = '''z'''\n";
        assert_eq!(literals("py", python), ["'a'", "\"\"\"b\n# c\n\"\"\"", "'''z'''"]);
        assert_eq!(literals("ts", "f(`a\n// b`, 'c') /* don't */"), ["`a\n// b`", "'c'"]);
        assert_eq!(literals("go", "f(`a\\`, \"b\")"), ["`a\\`", "\"b\""]);
        assert_eq!(literals("js", "don't\n'x'"), ["'x'"], "what is never closed is none");
    }

    proptest! {
        #[test]
        fn masking_loses_nothing(text in "[a-z '\"`#/*\\\\r\n\u{1}é]{0,60}", ending in prop::sample::select(vec!["rs", "py", "js", "go", "kt"])) {
            let (masked, literals) = mask(ending, &text);
            let mut literals = literals.into_iter();
            let whole: String = masked
                .chars()
                .map(|c| if c == MASK { literals.next().unwrap().to_owned() } else { c.to_string() })
                .collect();
            prop_assert_eq!(whole.replace(MASK, ""), text.replace(MASK, ""));
            prop_assert_eq!(literals.next(), None);
        }
    }
}
