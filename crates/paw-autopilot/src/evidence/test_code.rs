//! Finds the test code of a file.

use std::fmt::Write as _;
use std::path::Path;

use super::file_kind::{FileRules, SourceKind};
use super::literals::{MASK, mask};
use super::rust_tests::test_items;

/// Splits a file into test code and other code. A test file is all test code; in other files only Rust has inline
/// tests.
pub fn split_tests(rules: &FileRules, path: &Path, text: &str) -> (String, String) {
    if rules.kind(path) == SourceKind::Test {
        return (text.to_owned(), String::new());
    }
    if path.extension().is_none_or(|end| end != "rs") {
        return (String::new(), text.to_owned());
    }
    let (mut tests, mut rest) = (String::new(), String::new());
    let mut from = 0;
    for item in test_items(text) {
        rest.push_str(&text[from..item.start]);
        tests.push_str(&text[item.clone()]);
        tests.push('\n');
        from = item.end;
    }
    rest.push_str(&text[from..]);
    (tests, rest)
}

/// Whether a line is test code.
pub fn is_test_line(rules: &FileRules, path: &Path, text: &str, line: Option<u32>) -> bool {
    if rules.kind(path) == SourceKind::Test {
        return true;
    }
    let (true, Some(line)) = (path.extension().is_some_and(|end| end == "rs"), line) else { return false };
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    let line = line as usize;
    test_items(text).iter().any(|item| (line_of(item.start)..=line_of(item.end)).contains(&line))
}

/// Languages whose comments and imports are understood.
const CODE: [&str; 13] =
    ["rs", "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "go", "java", "kt", "cs"];

pub fn is_code(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| CODE.contains(&end))
}

/// Removes whitespace, comments, imports and trailing commas, so that only changes in behaviour differ. Literals and
/// unknown languages are unchanged.
pub fn normalize(path: &Path, text: &str) -> String {
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    if !CODE.contains(&ending) {
        return text.to_owned();
    }
    let python = ending == "py";
    let (masked, literals) = mask(ending, text);
    let mut literals = literals.into_iter();
    let (mut kept, mut kept_literals) = (String::new(), Vec::new());
    // Open brackets of an import.
    let mut import: Option<i32> = None;
    for line in masked.lines() {
        let bare = line.trim();
        let of_line: Vec<&str> = literals.by_ref().take(line.matches(MASK).count()).collect();
        if let Some(open) = import {
            let open = open + depth(bare);
            import = (open > 0).then_some(open);
            continue;
        }
        if is_comment(bare, python) {
            continue;
        }
        if is_import_line(bare) {
            let open = depth(bare);
            import = (open > 0).then_some(open);
            continue;
        }
        // In Python, indentation is significant.
        if python && !bare.is_empty() {
            let blanks = line.len() - line.trim_start().len();
            // Writing to a string cannot fail.
            let _ = write!(kept, "\n{blanks}:");
        }
        kept.extend(bare.chars().filter(|c| !c.is_whitespace()));
        kept_literals.extend(of_line);
    }
    for closing in [')', ']', '}'] {
        kept = kept.replace(&format!(",{closing}"), &closing.to_string());
    }
    let mut parts = kept.split(MASK);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for (literal, part) in kept_literals.into_iter().zip(parts) {
        whole.push_str(literal);
        whole.push_str(part);
    }
    whole
}

fn depth(line: &str) -> i32 {
    line.chars().map(|c| i32::from("({[".contains(c)) - i32::from(")}]".contains(c))).sum()
}

fn is_comment(line: &str, python: bool) -> bool {
    if python { line.starts_with('#') } else { line.starts_with("//") }
}

pub(super) fn is_import_line(line: &str) -> bool {
    ["use ", "pub use ", "import ", "from ", "extern crate "].iter().any(|word| line.starts_with(word))
        || (line.starts_with("const ") && line.contains("require("))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";

    #[test]
    fn inline_rust_tests_are_split_off() {
        let rules = FileRules::default();
        let (tests, rest) = split_tests(&rules, Path::new("src/lib.rs"), TEXT);
        assert!(tests.starts_with("#[cfg(test)]") && rest == "fn add() {}\n\n\n", "{rest:?}");
        assert_eq!(split_tests(&rules, Path::new("tests/a.rs"), TEXT).1, "");
        assert_eq!(split_tests(&rules, Path::new("src/a.js"), TEXT).0, "");
        assert!(is_test_line(&rules, Path::new("src/lib.rs"), TEXT, Some(6)));
        assert!(!is_test_line(&rules, Path::new("src/lib.rs"), TEXT, Some(1)));
        assert!(!is_test_line(&rules, Path::new("src/lib.rs"), TEXT, None));
    }

    #[test]
    fn normalize_ignores_formatting_imports_and_comments() {
        let rust = |text: &str| normalize(Path::new("a.rs"), text);
        assert_eq!(
            rust("use a::b;\n// note\nassert_eq!(f(1, 2), 3);"),
            rust("use a::{\n    b,\n    c,\n};\nassert_eq!(\n    f(1, 2),\n    3,\n);\n")
        );
        assert_ne!(rust("assert_eq!(f(1), 3);"), rust("assert_eq!(f(1), 4);"));
        let python = |text: &str| normalize(Path::new("a.py"), text);
        assert_eq!(
            python("import a\ndef f():\n    g()\n"),
            python("from a import (\n    b,\n)\ndef f():\n\n    g()")
        );
        assert_ne!(python("if x:\n    a()\n    b()\n"), python("if x:\n    a()\nb()\n"));
    }

    #[test]
    fn normalize_keeps_literals() {
        let rust = |text: &str| normalize(Path::new("a.rs"), text);
        assert_ne!(rust("assert_eq!(f(), \"a b\");"), rust("assert_eq!(f(), \"ab\");"));
        assert_ne!(rust("assert_eq!(f(), \"(1,)\");"), rust("assert_eq!(f(), \"(1)\");"));
        let python = |text: &str| normalize(Path::new("a.py"), text);
        let lines = |line: &str| format!("assert f() == \"\"\"\n{line}\n\"\"\"\n");
        assert_ne!(python(&lines("# title")), python(&lines("")));
        assert_ne!(python(&lines("import a")), python(&lines("import b")));
        assert_eq!(python("import a # it's\nx = 'a b'\n"), python("# don't\nx  =  'a b'\n"));
        let js = |text: &str| normalize(Path::new("a.ts"), text);
        assert_ne!(js("expect(f()).toBe(`a\n// b`)"), js("expect(f()).toBe(`a\n`)"));
        assert_eq!(js("import x from 'y';\nf('a b', 1)"), js("f( 'a b',\n  1,\n)"));
    }
}
