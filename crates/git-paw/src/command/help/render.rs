//! Renders a chapter as plain text. Supports only the Markdown that our own pages use.
//!
//! - `inline`: code, emphasis and links
//! - `table`: columns that fit the page

mod inline;
mod table;

/// The page that text is rendered for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) width: usize,
    pub(super) colour: bool,
}

/// Longer lines are hard to read; narrower pages have no room for a table.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

pub(super) fn render(markdown: &str, page: Page) -> String {
    let page = Page { width: page.width.clamp(NARROWEST, WIDEST), ..page };
    let shown = without_comments(markdown);
    let mut lines = shown.lines().peekable();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() || line.starts_with("![") {
            continue;
        }
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            blocks.push(
                code.map(|line| format!("    {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n"),
            );
        } else if line.starts_with('#') {
            blocks.push(heading(line, page));
        } else {
            let mut block = vec![line];
            while let Some(next) = lines.next_if(|next| continues(&block, next)) {
                block.push(next);
            }
            blocks.push(if line.starts_with('|') { table::table(&block, page) } else { text(&block, page) });
        }
    }
    blocks.join("\n\n") + "\n"
}

/// Whether a line belongs to the block above it. Items of a list are one block.
fn continues(block: &[&str], line: &str) -> bool {
    !line.trim().is_empty()
        && !line.starts_with('#')
        && !line.starts_with("```")
        && block[0].starts_with('|') == line.starts_with('|')
}

/// Removes HTML comments, which hold instructions for tests.
fn without_comments(markdown: &str) -> String {
    let mut shown = String::new();
    let mut rest = markdown;
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    shown + rest
}

fn heading(line: &str, page: Page) -> String {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    let plain = Page { colour: false, ..page };
    let title = inline::inline(words.trim(), plain);
    let under = match level {
        1 => "=".repeat(title.chars().count()),
        2 => "-".repeat(title.chars().count()),
        _ => "~".repeat(title.chars().count()),
    };
    format!("{}\n{under}", inline::bold(&title, page))
}

/// A paragraph, or the items of a list.
fn text(block: &[&str], page: Page) -> String {
    let mut items: Vec<(usize, String)> = Vec::new();
    for line in block {
        let indent = line.len() - line.trim_start().len();
        match marker(line.trim_start()) {
            Some(width) => items.push((indent + width, (*line).to_owned())),
            None => match items.last_mut() {
                Some((_, item)) => *item = format!("{item} {}", line.trim()),
                None => items.push((0, (*line).to_owned())),
            },
        }
    }
    let set = |(hang, item): &(usize, String)| {
        let first = &item[..item.len() - item.trim_start().len()];
        let words = inline::inline(item.trim_start(), page);
        wrap(&words, page.width, first, &" ".repeat(*hang)).join("\n")
    };
    items.iter().map(set).collect::<Vec<_>>().join("\n")
}

/// How many columns `- ` or `1. ` takes.
fn marker(line: &str) -> Option<usize> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let mark = if digits > 0 { ". " } else { "- " };
    line[digits..].starts_with(mark).then_some(digits + 2)
}

/// Wraps words into lines of at most `width` columns. The first line starts with `first`, the others with `hang`.
fn wrap(text: &str, width: usize, first: &str, hang: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut is_empty) = (first.to_owned(), true);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && inline::columns(&line) + 1 + inline::columns(word) > width {
            lines.push(std::mem::replace(&mut line, hang.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests;
