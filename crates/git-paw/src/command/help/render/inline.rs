//! Markup inside a line: code, emphasis, links.

use super::Page;

/// Code is bold, or keeps its backticks without colour. A link keeps its text, and its target if it leaves the guide.
pub(super) fn inline(text: &str, page: Page) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[', '\\']) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let (piece, after) = take(from, page);
        shown.push_str(&piece);
        rest = after;
    }
    shown + rest
}

/// Renders the markup at the start of `from`. Returns it and the rest.
fn take(from: &str, page: Page) -> (String, &str) {
    let between = |open: &str, close: &str| from.strip_prefix(open).and_then(|inner| inner.split_once(close));
    if let Some((code, after)) = between("`", "`") {
        return (if page.colour { bold(code, page) } else { format!("`{code}`") }, after);
    }
    if let Some((words, after)) = between("**", "**") {
        return (bold(&inline(words, page), page), after);
    }
    if let Some((words, after)) =
        between("*", "*").filter(|(words, _)| !words.is_empty() && !words.starts_with(' '))
    {
        return (words.to_owned(), after);
    }
    if let Some((words, (target, after))) =
        between("[", "](").and_then(|(words, after)| Some((words, after.split_once(')')?)))
        && !words.contains(']')
    {
        let outside = target.contains("://").then(|| format!(" ({target})"));
        return (inline(words, page) + &outside.unwrap_or_default(), after);
    }
    let letters = usize::from(from.starts_with('\\'));
    let mut after = from[letters..].chars();
    (after.next().map(String::from).unwrap_or_default(), after.as_str())
}

pub(super) fn bold(text: &str, page: Page) -> String {
    if page.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// The width of a text without its escape codes.
pub(super) fn columns(text: &str) -> usize {
    let mut hidden = false;
    let mut columns = 0;
    for letter in text.chars() {
        match letter {
            '\x1b' => hidden = true,
            'm' if hidden => hidden = false,
            _ if hidden => {}
            _ => columns += 1,
        }
    }
    columns
}
