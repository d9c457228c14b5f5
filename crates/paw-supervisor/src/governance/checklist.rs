//! What a document asks for, item by item. Pure.

use paw_core::text;

use super::document::ChecklistItem;

/// The most items of one document, and characters of one item.
const MOST_ITEMS: usize = 100;
const MOST_CHARS: usize = 300;

/// Lines such as `- [ ] no panics` or `* [x] tests`. A document without them has a point per list item, and one without
/// lists a point per heading below its title. Code blocks are skipped.
pub(super) fn checklist(text: &str) -> Vec<ChecklistItem> {
    let lines = outside_code(text);
    let ticks: Vec<_> = lines.iter().filter_map(|line| ticked(line)).take(MOST_ITEMS).collect();
    if !ticks.is_empty() {
        return ticks;
    }
    let open = |text: &str| ChecklistItem { text: shortened(text), done: false };
    let points: Vec<_> = lines.iter().filter_map(|line| list_item(line)).take(MOST_ITEMS).map(open).collect();
    if !points.is_empty() {
        return points;
    }
    let heading = |line: &&str| line.starts_with("##");
    let headings = lines.iter().copied().filter(heading).map(|line| line.trim_matches('#').trim());
    headings.filter(|text| !text.is_empty()).take(MOST_ITEMS).map(open).collect()
}

/// The first heading.
pub(super) fn title(text: &str) -> Option<String> {
    let lines = outside_code(text);
    let heading = lines.iter().find(|line| line.starts_with('#'))?;
    let title = shortened(heading.trim_matches('#'));
    (!title.is_empty()).then_some(title)
}

fn outside_code(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(trimmed);
        }
    }
    lines
}

fn ticked(line: &str) -> Option<ChecklistItem> {
    let (mark, text) = list_item(line)?.strip_prefix('[')?.split_once(']')?;
    let done = match mark {
        " " | "" => false,
        "x" | "X" => true,
        _ => return None,
    };
    Some(ChecklistItem { text: shortened(text), done })
}

fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|sign| line.strip_prefix(sign));
    let numbered = || {
        let (number, rest) = line.split_once(['.', ')'])?;
        let is_number =
            !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
        rest.strip_prefix(' ').filter(|_| is_number)
    };
    bullet.or_else(numbered).map(str::trim).filter(|text| !text.is_empty())
}

fn shortened(words: &str) -> String {
    text::line(&text::truncate_chars(words.trim(), MOST_CHARS)).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(document: &str) -> Vec<(String, bool)> {
        checklist(document).into_iter().map(|item| (item.text, item.done)).collect()
    }

    fn owned(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
        expected.iter().map(|(text, done)| ((*text).to_owned(), *done)).collect()
    }

    #[test]
    fn governance_checklists_are_read_outside_of_code_blocks() {
        let text = "# Done\n- [ ] tests\n  * [x] docs \n- plain\n```\n- [ ] example\n```\n+ [X] reviewed\n- [?] odd\n";
        assert_eq!(texts(text), owned(&[("tests", false), ("docs", true), ("reviewed", true)]));
    }

    #[test]
    fn a_document_without_checkboxes_is_checked_by_list_items_or_headings() {
        let lists = "# Principles\nText.\n1. No panics\n2) Small files\n- Plain words\n2026. was a year\n";
        assert_eq!(
            texts(lists),
            owned(&[("No panics", false), ("Small files", false), ("Plain words", false)])
        );
        let headings = "# Strategy\n## Unit tests\nmany\n### Integration ##\n##\n";
        assert_eq!(texts(headings), owned(&[("Unit tests", false), ("Integration", false)]));
        assert_eq!(texts("just words\n"), []);
    }

    proptest! {
        #[test]
        fn no_document_makes_it_panic(text in "(- \\[[ xX\\]]?\\]?|```|[0-9]+[.)] |#|\\PC|\n){0,40}") {
            checklist(&text);
            title(&text);
        }
    }
}
