//! Decides whether a `conftest.py` only gains fixtures. A fixture runs for the tests that ask for it; everything else
//! at the top of the file runs for all tests.

use super::literals::{MASK, mask};

/// Fixtures of pytest itself, which other tests use.
const BUILT_IN: [&str; 18] = [
    "cache",
    "capfd",
    "capfdbinary",
    "caplog",
    "capsys",
    "capsysbinary",
    "doctest_namespace",
    "monkeypatch",
    "pytestconfig",
    "pytester",
    "record_property",
    "record_testsuite_property",
    "record_xml_attribute",
    "recwarn",
    "request",
    "testdir",
    "tmp_path",
    "tmp_path_factory",
];

/// Whether `after` is `before` with additional fixtures, functions, imports and constants. Nothing that exists may
/// change, and nothing that is added may run on import, apply to all tests, or replace a fixture.
pub(super) fn adds_only_fixtures(before: &str, after: &str) -> bool {
    let (Some(old), Some(new)) = (statements(before), statements(after)) else { return false };
    let mut old = old.into_iter().peekable();
    let mut added = Vec::new();
    for statement in new {
        if old.peek() == Some(&statement) {
            old.next();
        } else {
            added.push(statement);
        }
    }
    let known: Vec<String> =
        statements(before).unwrap_or_default().iter().filter_map(|text| name_of(text)).collect();
    let is_new = |text: &String| name_of(text).is_none_or(|name| !known.contains(&name));
    old.next().is_none() && added.iter().all(|text| is_harmless(text) && is_new(text))
}

/// Top-level statements with their decorators and bodies. `None` if a bracket is left open.
fn statements(text: &str) -> Option<Vec<String>> {
    let (masked, literals) = mask("py", text);
    let mut literals = literals.into_iter();
    let (mut statements, mut open, mut decorated): (Vec<String>, i32, bool) = (Vec::new(), 0, false);
    for line in masked.lines() {
        let own: String = line
            .split_inclusive(MASK)
            .map(|part| match part.strip_suffix(MASK) {
                Some(code) => format!("{code}{}", literals.next().unwrap_or_default()),
                None => part.to_owned(),
            })
            .collect();
        let code = line.split('#').next().unwrap_or_default();
        let continues = open > 0 || code.starts_with([' ', '\t']) || code.trim().is_empty() || decorated;
        open +=
            code.chars().map(|c| i32::from("([{".contains(c)) - i32::from(")]}".contains(c))).sum::<i32>();
        decorated = code.starts_with('@') || (decorated && open > 0);
        match statements.last_mut() {
            _ if code.trim().is_empty() => {}
            Some(last) if continues => {
                last.push('\n');
                last.push_str(own.trim_end());
            }
            _ => statements.push(own.trim_end().to_owned()),
        }
    }
    (open == 0).then_some(statements)
}

/// The function or variable that a statement defines.
fn name_of(statement: &str) -> Option<String> {
    let header = statement.lines().find(|line| !line.starts_with('@'))?;
    let header = header.strip_prefix("async ").unwrap_or(header);
    let name = header.strip_prefix("def ").unwrap_or(header);
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty() && !header.starts_with("import ") && !header.starts_with("from ")).then_some(name)
}

fn is_harmless(statement: &str) -> bool {
    let (masked, _) = mask("py", statement);
    let mut lines = masked.lines().skip_while(|line| line.starts_with('#')).peekable();
    while let Some(decorator) = lines.next_if(|line| line.starts_with('@')) {
        if !is_fixture(decorator) {
            return false;
        }
    }
    let Some(header) = lines.next() else { return true };
    let name = name_of(statement).unwrap_or_default();
    let is_def = header.starts_with("def ") || header.starts_with("async def ");
    if is_def {
        // Default values and annotations run on import.
        let calls = header.matches('(').count() != 1 || header.matches(')').count() != 1;
        return !calls && header.trim_end().ends_with(':') && !is_reserved(&name);
    }
    if header.starts_with("import ") || header.starts_with("from ") {
        return !header.contains(';');
    }
    let is_text = header.trim_matches(MASK).trim().is_empty();
    let is_constant = header.split_once('=').is_some_and(|(left, right)| {
        let plain = left.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        plain && !right.starts_with('=') && !masked.contains(['(', ';', '.']) && !masked.contains(" for ")
    });
    is_text || (is_constant && !is_reserved(&name))
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("pytest_")
        || name.starts_with("collect_")
        || BUILT_IN.contains(&name)
        || name.starts_with("__")
}

/// `@pytest.fixture`, perhaps with plain arguments.
fn is_fixture(decorator: &str) -> bool {
    let text = decorator.trim_end();
    let Some(rest) = text.strip_prefix("@pytest.fixture").or(text.strip_prefix("@fixture")) else {
        return false;
    };
    let plain = rest.is_empty() || (rest.starts_with('(') && rest.ends_with(')'));
    plain && rest.matches('(').count() <= 1 && !rest.contains("autouse") && !rest.contains("name")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 3\n";

    #[test]
    fn new_fixtures_functions_imports_and_constants_are_harmless() {
        for more in [
            "@pytest.fixture\ndef user():\n    return make(1)\n",
            "@pytest.fixture(scope=\"session\", params=[1, 2])\ndef pair(request, number):\n    yield (request.param, number)\n",
            "from app import make\nLIMIT = 3\nNAMES = [\n    \"a (b)\",\n    'c',\n]\n",
            "\"\"\"Helpers.\"\"\"\n\ndef helper(a, b=None):\n    return a\n",
            "async def later():\n    await x()\n",
        ] {
            assert!(adds_only_fixtures(OLD, &format!("{OLD}\n{more}")), "{more}");
            assert!(adds_only_fixtures("", &format!("import pytest\n{more}")), "{more}");
        }
        assert!(adds_only_fixtures(OLD, OLD));
    }

    #[test]
    fn hooks_plugins_collection_and_code_that_runs_on_import_are_not_harmless() {
        for more in [
            "def pytest_runtest_makereport(item, call):\n    pass\n",
            "@pytest.hookimpl(hookwrapper=True)\ndef x():\n    yield\n",
            "pytest_plugins = [\"evil\"]\n",
            "collect_ignore = [\"test_a.py\"]\n",
            "@pytest.fixture(autouse=True)\ndef all_of_them(monkeypatch):\n    pass\n",
            "@pytest.fixture\ndef tmp_path():\n    return None\n",
            "@pytest.fixture(name=\"tmp_path\")\ndef other():\n    return None\n",
            "import unittest\nunittest.TestCase.assertEqual = None\n",
            "class Helper:\n    x = evil()\n",
            "def f(x=evil()):\n    pass\n",
            "X = evil()\n",
            "X = [evil() for _ in range(1)]\n",
            "import sys; sys.exit(0)\n",
            "evil()\n",
            "if True:\n    evil()\n",
            "@evil\ndef f():\n    pass\n",
            "@pytest.fixture(params=evil())\ndef f():\n    pass\n",
            "@pytest.fixture\ndef number():\n    return 4\n",
            "x = (\n",
        ] {
            assert!(!adds_only_fixtures(OLD, &format!("{OLD}\n{more}")), "{more}");
        }
        assert!(!adds_only_fixtures(OLD, &OLD.replace('3', "4")));
        assert!(!adds_only_fixtures(OLD, "import pytest\n"));
    }
}
