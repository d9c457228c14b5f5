//! RED: existing tests stay as strong as they were. New tests may be added, and an existing one may change only if it
//! fails now, because then it demands something new.

use std::collections::BTreeSet;

use super::FileChange;
use super::file_kind::{FileRules, SourceKind};
use super::test_code::is_test_line;
use super::test_units::{SplitFile, TestUnit, split_units};
use super::weakening::{count_assertions, find_added_skip};
use crate::runners::{BuildProblem, TestReport};

/// Functions that run for every test of a class or file.
const HOOKS: [&str; 14] = [
    "setUp",
    "setUpClass",
    "setUpModule",
    "tearDown",
    "tearDownClass",
    "tearDownModule",
    "setup_method",
    "setup_class",
    "setup_module",
    "setup_function",
    "teardown_method",
    "asyncSetUp",
    "asyncTearDown",
    "TestMain",
];

const CALLED_HOOKS: [&str; 6] = ["beforeEach(", "afterEach(", "beforeAll(", "afterAll(", "before(", "after("];
const CONTAINERS: [&str; 4] = ["class", "describe(", "suite(", "context("];

/// What fails now and did not before.
pub(super) struct NewFailures<'a> {
    pub(super) tests: BTreeSet<&'a str>,
    pub(super) broken: Vec<&'a BuildProblem>,
}

impl<'a> NewFailures<'a> {
    pub(super) fn of(baseline: &TestReport, now: &'a TestReport) -> Self {
        use crate::runners::TestOutcome::Failed;
        let failed = now.names(Failed).into_iter();
        Self {
            tests: failed.filter(|name| baseline.outcome_of(name) != Some(Failed)).collect(),
            broken: now.broken.iter().filter(|broken| !baseline.broken.contains(broken)).collect(),
        }
    }

    /// Whether this test fails, or does not build.
    fn include(&self, change: &FileChange, unit: &TestUnit) -> bool {
        let is_named = |name: &&str| {
            name.strip_suffix(unit.name.as_str())
                .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let mut places = self.broken.iter().flat_map(|broken| &broken.places);
        let is_place = |line: Option<u32>| line.is_some_and(|line| unit.lines.contains(&line));
        !unit.name.is_empty() && self.tests.iter().any(is_named)
            || places.any(|place| change.path.ends_with(&place.file) && is_place(place.line))
    }
}

/// Describes how existing tests of a file became weaker.
pub(super) fn find_lost_strength(
    rules: &FileRules,
    change: &FileChange,
    failing: &NewFailures<'_>,
) -> Option<String> {
    let before = change.before.as_deref()?;
    let kind = rules.kind(&change.path);
    let is_snapshot = change.path.extension().is_some_and(|end| end == "snap");
    if !matches!(kind, SourceKind::Test | SourceKind::Production) || is_snapshot {
        return None;
    }
    let tests_of = |text: &str| {
        let mut split = split_units(&change.path, text);
        if kind == SourceKind::Production {
            let is_test = |unit: &TestUnit| is_test_line(rules, &change.path, text, Some(unit.lines.start));
            split.units.retain(is_test);
            split.rest.clear();
        }
        split
    };
    let old = tests_of(before);
    if kind == SourceKind::Production && old.units.is_empty() {
        return None;
    }
    let Some(after) = &change.after else { return Some("the file was deleted".into()) };
    let new = tests_of(after);
    changed_unit(change, &old, &new, failing)
        .or_else(|| added_hook(&old, &new))
        .or_else(|| lost_line(&old, &new).map(|line| format!("'{line}' was removed or changed")))
}

fn changed_unit(
    change: &FileChange,
    old: &SplitFile,
    new: &SplitFile,
    failing: &NewFailures<'_>,
) -> Option<String> {
    let mut left: Vec<&TestUnit> = new.units.iter().collect();
    let mut changed = Vec::new();
    for unit in &old.units {
        match left.iter().position(|new| new.name == unit.name && new.text == unit.text) {
            Some(at) => drop(left.remove(at)),
            None => changed.push(unit),
        }
    }
    for unit in changed {
        let Some(at) = left.iter().position(|new| new.name == unit.name) else {
            return Some(format!("'{}' was removed", unit.name));
        };
        let new = left.remove(at);
        if let Some(skip) = find_added_skip(&unit.text, &new.text) {
            return Some(format!("'{skip}' was added to '{}'", unit.name));
        }
        if !failing.include(change, new) {
            return Some(format!("'{}' was changed and does not fail", unit.name));
        }
        if count_assertions(&new.text) < count_assertions(&unit.text) {
            return Some(format!("assertions of '{}' were removed", unit.name));
        }
    }
    None
}

/// A hook in an existing class or group runs for its old tests, too.
fn added_hook(old: &SplitFile, new: &SplitFile) -> Option<String> {
    let count = |split: &SplitFile, words: &[&str]| {
        split.rest.iter().filter(|line| words.iter().any(|word| line.starts_with(word))).count()
    };
    if count(new, &CONTAINERS) > count(old, &CONTAINERS) {
        return None;
    }
    let functions = |split: &SplitFile| -> Vec<String> {
        split
            .units
            .iter()
            .map(|unit| unit.name.clone())
            .filter(|name| HOOKS.contains(&name.as_str()))
            .collect()
    };
    let (before, now) = (functions(old), functions(new));
    let function = now.into_iter().find(|name| !before.contains(name));
    let called = count(new, &CALLED_HOOKS) > count(old, &CALLED_HOOKS);
    function.or(called.then(|| "a hook".to_owned())).map(|name| format!("{name} was added to existing tests"))
}

/// Every old line has to be there, in the same order.
fn lost_line<'a>(old: &'a SplitFile, new: &SplitFile) -> Option<&'a String> {
    let mut left = new.rest.iter();
    old.rest.iter().find(|line| !left.any(|new| new == *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "import unittest\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(f(1), 2)\n        self.assertEqual(f(2), 3)\n";

    fn judged(path: &str, before: &str, after: &str, failing: &[&str]) -> Option<String> {
        let change = FileChange {
            path: path.into(),
            before: Some(before.into()),
            after: Some(after.into()),
            ..FileChange::default()
        };
        let failing = NewFailures { tests: failing.iter().copied().collect(), broken: Vec::new() };
        find_lost_strength(&FileRules::default(), &change, &failing)
    }

    #[test]
    fn new_tests_next_to_old_ones_do_not_weaken_them() {
        let more = format!("{OLD}\n    def test_new(self):\n        self.assertEqual(g(), 1)\n");
        assert_eq!(judged("tests/test_a.py", OLD, &more, &["tests.Old.test_new"]), None);
        let other = format!(
            "import json\n{}\nclass New(X):\n    def setUp(self):\n        pass\n",
            OLD.replace("        self", "        self  ")
        );
        assert_eq!(judged("tests/test_a.py", OLD, &other.replace("self  ", "self"), &[]), None);
        let js = "describe('a', () => {\n  it('x', () => { expect(1).toBe(1); });\n});\n";
        let more = js.replace("\n});", "\n  it('y', () => { expect(f()).toBe(1); });\n});");
        assert_eq!(judged("a.test.js", js, &more, &["a.test.js > a y"]), None);
    }

    #[test]
    fn existing_test_may_change_only_if_it_fails_now() {
        let changed = OLD.replace("f(1), 2", "f(1), 5");
        assert_eq!(judged("tests/test_a.py", OLD, &changed, &["tests.Old.test_old"]), None);
        assert!(
            judged("tests/test_a.py", OLD, &changed, &["tests.Old.more_test_old"])
                .unwrap()
                .contains("does not fail")
        );
        assert!(judged("tests/test_a.py", OLD, &changed, &[]).unwrap().contains("does not fail"));
        let fewer = OLD.replace("        self.assertEqual(f(2), 3)\n", "").replace("f(1), 2", "f(1), 5");
        assert!(judged("tests/test_a.py", OLD, &fewer, &["Old.test_old"]).unwrap().contains("assertions"));
    }

    #[test]
    fn skips_returns_hooks_and_removed_code_weaken_tests() {
        let of = |after: String| judged("tests/test_a.py", OLD, &after, &["x.test_new"]).unwrap_or_default();
        assert!(of(OLD.replace("    def test", "    @unittest.skip('x')\n    def test")).contains(".skip("));
        assert!(
            of(OLD.replace("        self.assertEqual(f(1)", "        return\n        self.assertEqual(f(1)"))
                .contains("test_old")
        );
        assert!(of(format!("{OLD}\n    def setUp(self):\n        self.skipTest('x')\n")).contains("setUp"));
        assert!(of(OLD.replace("class Old(unittest.TestCase)", "class Old(Fake)")).contains("classOld"));
        assert!(of(String::new()).contains("removed"));
        let rust = "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert_eq!(super::f(), ()); }\n}\n";
        let weak = rust.replace("assert_eq!(super::f(), ());", "");
        assert!(judged("src/lib.rs", rust, &weak, &[]).unwrap().contains("'t'"));
        assert_eq!(judged("src/lib.rs", rust, &rust.replace("fn f() {}", "fn f() {}\nfn g() {}"), &[]), None);
        assert!(judged("tests/a.sh", "[ 1 = 1 ]\n[ 2 = 2 ]\n", "[ 1 = 1 ]\n", &[]).is_some());
        assert_eq!(judged("tests/a.sh", "[ 1 = 1 ]\n", "[ 1 = 1 ]\n[ 2 = 3 ]\n", &[]), None);
    }
}
