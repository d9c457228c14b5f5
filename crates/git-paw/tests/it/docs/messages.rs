//! Compares the docs with the sources: quoted messages, and configuration keys without effect.

use std::fs;
use std::path::PathBuf;

use super::{load_page, root};

/// Shorter parts match anywhere.
const TELLING: usize = 6;

/// All sources, with string literals joined and unescaped.
fn sources() -> Vec<String> {
    let mut left: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    let mut sources = Vec::new();
    while let Some(path) = left.pop() {
        // Its declaration and tests do not count as uses of a key.
        if path.ends_with("config/schema") || path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(join_strings(&fs::read_to_string(path).unwrap()));
        }
    }
    sources
}

fn join_strings(source: &str) -> String {
    let mut pieces = source.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    let joined = pieces.fold(first, |text, piece| text + piece.trim_start());
    joined.replace("\\\"", "\"").replace("\\n", "\n")
}

/// The messages that are headings: ``### `message` ``, with `…` for what differs.
fn quoted(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect()
}

/// Whether one source contains all parts of a message, in order.
fn is_in(source: &str, message: &str) -> bool {
    let mut rest = source;
    message.split('…').map(str::trim).filter(|piece| piece.len() >= TELLING).all(|piece| {
        match rest.split_once(piece) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        }
    })
}

#[test]
fn every_message_quoted_in_the_docs_exists_in_the_sources() {
    let (page, sources) = (load_page("docs/troubleshooting.md"), sources());
    let messages = quoted(&page);
    assert!(messages.len() >= 20, "{messages:?}");
    for message in messages {
        assert!(message.split('…').any(|piece| piece.trim().len() >= TELLING), "{message:?} says too little");
        assert!(sources.iter().any(|source| is_in(source, message)), "no source contains {message:?}");
    }
}

#[test]
fn a_quoted_message_that_does_not_exist_is_detected() {
    let source = join_strings("\"cannot \\\n        open {path}: it is \\\"gone\\\"\"");
    assert!(is_in(&source, "cannot open …: it is \"gone\""));
    assert!(
        !is_in(&source, "cannot close …: it is \"gone\"") && !is_in(&source, "it is \"gone\" … cannot open")
    );
}

#[test]
fn configuration_keys_without_effect_are_documented_as_such() {
    let (page, sources) = (load_page("docs/keys.md"), sources().concat());
    for row in page.lines().filter(|row| row.starts_with("| `")) {
        let name = row.split('`').nth(1).unwrap();
        let field = if name == "type" { "spec_type" } else { name };
        let reads = |after: &str| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_read = sources.split(&format!(".{field}")).skip(1).any(reads);
        assert_eq!(!is_read, row.contains("| no effect: "), "{name}: its help does not say what comes of it");
    }
}
