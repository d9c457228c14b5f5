//! Files and lines in error messages.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLocation {
    /// Path relative to the project.
    pub file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl SourceLocation {
    pub fn new(file: impl Into<PathBuf>, line: Option<u32>) -> Self {
        Self { file: file.into(), line }
    }
}

/// All `file:line` locations inside the project, in order and without duplicates. Also finds `File "x.py", line 3`
/// and bare paths that `is_source` accepts.
pub(super) fn find_locations(
    text: &str,
    root: &Path,
    is_source: impl Fn(&Path) -> bool,
) -> Vec<SourceLocation> {
    let mut found: Vec<SourceLocation> = Vec::new();
    for line in text.lines() {
        let place = python_frame(line, root).into_iter();
        for place in place.chain(line.split(BREAKS).filter_map(|word| location_of(word, root, &is_source))) {
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}

/// Characters around a path in a message.
const BREAKS: [char; 12] = [' ', '\t', '(', ')', '\'', '"', '`', '[', ']', '<', '>', ','];

fn python_frame(line: &str, root: &Path) -> Option<SourceLocation> {
    let rest = line.trim_start().strip_prefix("File \"")?;
    let (file, rest) = rest.split_once('"')?;
    let digits: String = rest.strip_prefix(", line ")?.chars().take_while(char::is_ascii_digit).collect();
    Some(SourceLocation::new(inside(file, root)?, digits.parse().ok()))
}

fn location_of(word: &str, root: &Path, is_source: &impl Fn(&Path) -> bool) -> Option<SourceLocation> {
    let word = word.trim_start_matches("file://").trim_end_matches([':', '.', ';']);
    let word = if word.starts_with("@/") { &word[1..] } else { word };
    let mut parts = word.splitn(3, ':');
    let file = inside(parts.next()?, root)?;
    match parts.next().map(str::parse::<u32>) {
        Some(Ok(line)) if file.extension().is_some() => Some(SourceLocation::new(file, Some(line))),
        None if is_source(&file) => Some(SourceLocation::new(file, None)),
        _ => None,
    }
}

/// The path relative to the project, if it is inside it and not an installed dependency.
fn inside(path: &str, root: &Path) -> Option<PathBuf> {
    let path = Path::new(path);
    let relative = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let relative: PathBuf = relative.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    let foreign = |part: Component<'_>| match part {
        Component::Normal(name) => {
            matches!(name.to_str(), Some("node_modules" | "site-packages" | ".venv" | "venv"))
        }
        _ => true,
    };
    (!relative.as_os_str().is_empty() && !relative.components().any(foreign)).then_some(relative)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let source = |path: &Path| path.extension().is_some_and(|end| end == "ts");
        let places = find_locations(text, Path::new("/app"), source);
        places.iter().map(|place| format!("{}:{:?}", place.file.display(), place.line)).collect()
    }

    #[test]
    fn locations_are_found_in_the_messages_of_many_tools() {
        assert_eq!(found("  --> src/lib.rs:14:14"), ["src/lib.rs:Some(14)"]);
        assert_eq!(found("./x_test.go:3:11: undefined: y"), ["x_test.go:Some(3)"]);
        assert_eq!(found("  File \"/app/test_b.py\", line 1, in <module>"), ["test_b.py:Some(1)"]);
        assert_eq!(found("    at file:///app/a.test.mjs:4:28"), ["a.test.mjs:Some(4)"]);
        assert_eq!(
            found("SyntaxError[ @/app/test/math.ts ]: Unexpected end of input"),
            ["test/math.ts:None"]
        );
        assert_eq!(found("<frozen importlib._bootstrap>:1204: in _gcd_import"), Vec::<String>::new());
        assert_eq!(found("    at x (/app/node_modules/v/i.js:1:1)"), Vec::<String>::new());
        assert_eq!(found("Failed to resolve './y' from 'src/a.test.ts'."), ["src/a.test.ts:None"]);
        assert_eq!(found("/usr/lib/python3/unittest/loader.py:3 ../up.rs:3 12:30:01"), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn location_parser_never_panics(text in "(File \"|, line |[a-z/.:é\"()\n ]|[0-9]{0,12}){0,40}") {
            found(&text);
        }
    }
}
