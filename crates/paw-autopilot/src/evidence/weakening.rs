//! Finds tests that were deleted, skipped or changed after they proved something.

use std::path::Path;

use super::FileChange;
use super::file_kind::FileRules;
use super::test_code::{normalize, split_tests};

/// Markers that skip tests, in many languages. Only added ones count.
const SKIPS: [&str; 19] = [
    "#[ignore",
    ".skip(",
    ".skipIf(",
    ".todo(",
    ".only(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "fit(",
    "fdescribe(",
    "mark.skip",
    "mark.xfail",
    "pytest.skip(",
    "unittest.skip",
    "expectedFailure",
    "skipTest(",
    "t.Skip(",
    "t.SkipNow(",
    "{ skip:",
];

const ASSERTIONS: [&str; 8] =
    ["assert", "expect(", "should", "t.Error", "t.Fatal", "t.Fail", "require.", "prop_assert"];

/// Describes how a file's tests were weakened. Formatting, comments, imports and new test files are allowed.
pub fn find_weakening(rules: &FileRules, change: &FileChange) -> Option<String> {
    let before = change.before.as_ref()?;
    let (old, _) = split_tests(rules, &change.path, before);
    if old.trim().is_empty() {
        return None;
    }
    let Some(after) = &change.after else { return Some("the file was deleted".into()) };
    let (new, _) = split_tests(rules, &change.path, after);
    if normalize(&change.path, &old) == normalize(&change.path, &new) {
        return None;
    }
    Some(how(&change.path, &old, &new))
}

pub(super) fn count_assertions(text: &str) -> usize {
    ASSERTIONS.iter().map(|word| text.matches(word).count()).sum()
}

/// A marker that skips tests and was added.
pub(super) fn find_added_skip(old: &str, new: &str) -> Option<&'static str> {
    SKIPS.into_iter().find(|word| new.matches(word).count() > old.matches(word).count())
}

/// Describes the most serious change.
fn how(path: &Path, old: &str, new: &str) -> String {
    if normalize(path, new).is_empty() {
        "its tests were deleted".into()
    } else if let Some(word) = find_added_skip(old, new) {
        format!("'{word}' was added")
    } else if count_assertions(new) < count_assertions(old) {
        "assertions were removed".into()
    } else {
        "they were changed after they had failed".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(path: &str, before: &str, after: Option<&str>) -> Option<String> {
        let change = FileChange {
            path: path.into(),
            before: Some(before.to_owned()),
            after: after.map(str::to_owned),
            ..FileChange::default()
        };
        find_weakening(&FileRules::default(), &change)
    }

    #[test]
    fn weakened_tests_are_detected() {
        let js = "import { a } from './a';\ntest('x', () => {\n  expect(a()).toBe(3);\n});\n";
        let of = |after: &str| judged("src/a.test.js", js, Some(after)).unwrap_or_default();
        assert_eq!(judged("src/a.test.js", js, None).unwrap(), "the file was deleted");
        assert_eq!(of("// nothing\n"), "its tests were deleted");
        assert_eq!(of(&js.replace("test(", "test.skip(")), "'.skip(' was added");
        assert_eq!(of(&js.replace("  expect(a()).toBe(3);\n", "")), "assertions were removed");
        assert_eq!(of(&js.replace('3', "4")), "they were changed after they had failed");
        assert_eq!(
            of(&js.replace("  expect", "  return;\n  expect")),
            "they were changed after they had failed"
        );
    }

    #[test]
    fn formatting_imports_and_other_code_do_not_weaken_tests() {
        let js = "import { a } from './a';\ntest('x', () => { expect(a()).toBe(3); });\n";
        let other = "import { a, b } from './lib/a';\n\ntest('x', () => {\n  expect(a()).toBe(3);\n});\n";
        assert_eq!(judged("a.test.js", js, Some(other)), None);
        let rust = "fn f() -> i32 { 1 }\n#[cfg(test)]\nmod tests { #[test] fn t() { assert_eq!(super::f(), 2); } }\n";
        assert_eq!(judged("src/lib.rs", rust, Some(&rust.replace("{ 1 }", "{ 2 }"))), None);
        assert!(judged("src/lib.rs", rust, Some(&rust.replace("), 2)", "), 1)"))).is_some());
        assert!(judged("src/lib.rs", rust, Some("fn f() {}")).is_some());
        assert_eq!(judged("src/a.js", "x", Some("y")), None);
    }
}
