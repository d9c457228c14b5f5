//! Patterns that match one row.

/// Whether the whole text matches the pattern, in which `*` matches one or more characters.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.len() > part.len() && rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The text that matches the pattern's only `*`.
pub(super) fn capture<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
    let (before, after) = pattern.split_once('*')?;
    text.strip_prefix(before)?.strip_suffix(after).filter(|found| !found.is_empty())
}

/// A row such as `❯ 2. No`.
pub(super) struct Choice<'a> {
    pub(super) number: usize,
    pub(super) label: &'a str,
    pub(super) pointed: bool,
}

pub(super) fn choice(text: &str, cursor: char) -> Option<Choice<'_>> {
    let text = text.trim_start();
    let (text, pointed) = match text.strip_prefix(cursor) {
        Some(rest) => (rest.trim_start(), true),
        None => (text, false),
    };
    let (number, label) = text.split_once(". ")?;
    let plain = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| number.parse().ok()).flatten().filter(|number| *number > 0)?;
    Some(Choice { number, label: label.trim(), pointed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_at_least_one_character() {
        assert!(matches(" Do you want to create *?", " Do you want to create a?b?"));
        assert!(matches("*? (Y)es/(N)o*[Yes]:", "Add it? (Y)es/(N)o/(A)ll [Yes]:"));
        assert!(matches("plain", "plain"));
        for (pattern, text) in [("a *?", "a ?"), ("plain", "plain "), ("a*b*c", "a-c"), ("● x(*)", "● x(y")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        assert_eq!(capture("● Bash(*)", "● Bash(f(x))"), Some("f(x)"));
        assert_eq!(capture("● Bash(*)", "● Bash()"), None);
    }

    #[test]
    fn choice_rejects_lookalikes() {
        let found = choice(" ❯ 1. Yes", '❯').unwrap();
        assert_eq!((found.number, found.label, found.pointed), (1, "Yes", true));
        for text in ["❯ 1․ Yes", "❯ １. Yes", "> 1. Yes", "❯ one. Yes", "❯ 0. Yes", "❯ 11. Yes", ""]
        {
            assert!(choice(text, '❯').is_none(), "{text}");
        }
    }
}
