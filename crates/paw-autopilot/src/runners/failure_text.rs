//! The line of a failure message that says what failed: the assertion, the exception or the compiler's error.

/// Finds what failed in the nonempty lines of one kind of message.
type FailureRule = fn(&[&str]) -> Option<String>;

/// What failed, in one line: `assert 1 == 2`. `None` if the message is empty.
pub fn what_failed(message: &str) -> Option<String> {
    let lines: Vec<&str> = message.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let rules: [FailureRule; 5] = [pytest, traceback, rust_panic, go, error_line];
    rules.iter().find_map(|rule| rule(&lines)).or_else(|| first_telling(&lines))
}

/// pytest marks the lines of the error with an `E`. Of several errors, the last one ended the test.
fn pytest(lines: &[&str]) -> Option<String> {
    let blocks = lines.split(|line| !line.starts_with("E  ")).filter(|block| !block.is_empty());
    let mut last = None;
    for block in blocks {
        let block: Vec<&str> = block.iter().map(|line| line[1..].trim()).collect();
        let says = |line: &&&str| line.starts_with("assert ") || is_exception(line);
        last = block.iter().find(says).or(block.last()).copied().or(last);
    }
    last.map(str::to_owned)
}

/// The first line below the last frame of a Python traceback. Captured output may follow it.
fn traceback(lines: &[&str]) -> Option<String> {
    let frame = |line: &&str| line.starts_with("  File \"") && line.contains(", line ");
    let begins = |line: &&str| line.starts_with("Traceback (most recent call last)");
    let at = lines.iter().rposition(frame).filter(|_| lines.iter().any(begins))?;
    lines[at..].iter().skip(1).find(|line| !line.starts_with(' ')).map(|line| (*line).to_owned())
}

/// `thread 'x' panicked at src/lib.rs:9:24:`, then the message, then the two sides of a comparison.
fn rust_panic(lines: &[&str]) -> Option<String> {
    let at = lines.iter().position(|line| line.contains("panicked at "))?;
    if let Some((_, quoted)) = lines[at].split_once("panicked at '") {
        return Some(quoted.rsplit_once("', ").map_or(quoted, |(message, _)| message).to_owned());
    }
    let message = lines.get(at + 1)?.trim();
    let sides = lines[at + 2..].iter().map(|line| line.trim());
    let sides = sides.take_while(|line| ["left: ", "right: "].iter().any(|side| line.starts_with(side)));
    Some(joined(message, &sides.collect::<Vec<_>>()))
}

/// Output of a Go test, between its own notes about the test, and of the compiler.
fn go(lines: &[&str]) -> Option<String> {
    let note = |line: &str| {
        ["=== ", "--- FAIL", "--- SKIP", "FAIL\t"].iter().any(|note| line.trim_start().starts_with(note))
    };
    let heading = |line: &str| line.starts_with("# ");
    if !lines.iter().any(|line| note(line)) && !lines.first().is_some_and(|line| heading(line)) {
        return None;
    }
    let said: Vec<&str> =
        lines.iter().copied().filter(|line| !note(line) && !heading(line)).map(str::trim).collect();
    let panicked = said.iter().find(|line| line.starts_with("panic: ")).copied();
    let Some(first) = panicked.or(said.first().copied()) else {
        return Some("the process ended before the test".into());
    };
    // testify prints a table below the location.
    let cell = |name: &str| said.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match cell("Error:").filter(|_| first.ends_with(':')) {
        Some(error) => {
            let sides =
                said.iter().filter(|line| line.starts_with("expected:") || line.starts_with("actual"));
            Some(joined(
                &format!("{first} {}", error.trim_end_matches(':')),
                &sides.copied().collect::<Vec<_>>(),
            ))
        }
        None => Some(first.to_owned()),
    }
}

/// The first line that names an error, with what a matcher expected and received.
fn error_line(lines: &[&str]) -> Option<String> {
    let shown = |line: &str| line.trim().trim_start_matches("Exception during run: ").to_owned();
    let at = lines.iter().position(|line| is_error(&shown(line)))?;
    let line = shown(lines[at]);
    let line = line.split(" // ").next().unwrap_or_default().trim_end();
    let compares = line.contains("expect(") || line.ends_with(':');
    let details = if compares { details(&lines[at + 1..]) } else { Vec::new() };
    let line = if line.contains("expect(") { line.trim_start_matches("Error: ") } else { line };
    Some(joined(line.trim_end_matches(':'), &details))
}

/// The two sides of a comparison, without the legend of a diff; else the first line.
fn details<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let is_stack = |line: &&str| ["at ", "❯ ", "note: "].iter().any(|stack| line.starts_with(stack));
    let told: Vec<&str> = lines.iter().map(|line| line.trim()).take_while(|line| !is_stack(line)).collect();
    let legend = |line: &str| {
        ["- Expected ", "+ Received ", "+ actual - expected"].iter().any(|legend| line.starts_with(legend))
    };
    let side = |line: &&&str| {
        ["Expected", "Received", "- ", "+ "].iter().any(|side| line.starts_with(side)) && !legend(line)
    };
    let sides: Vec<&str> = told.iter().filter(side).copied().take(2).collect();
    if sides.is_empty() { told.into_iter().take(1).collect() } else { sides }
}

fn joined(line: &str, details: &[&str]) -> String {
    if details.is_empty() { line.to_owned() } else { format!("{line}: {}", details.join(", ")) }
}

/// `ValueError: x`, `requests.exceptions.Timeout`: a name, perhaps with a message.
fn is_exception(line: &str) -> bool {
    let name = line.split(": ").next().unwrap_or_default().trim_end_matches(':');
    name.starts_with(|c: char| c.is_uppercase() || name.contains('.') && c.is_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

/// `TypeError: x`, `AssertionError [ERR_ASSERTION]: x`, `error[E0425]: x`, `panic: x`.
fn is_error(line: &str) -> bool {
    let Some((head, _)) = line.split_once(':') else { return false };
    let word =
        head.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).next().unwrap_or_default();
    word.ends_with("Error") || word.ends_with("Exception") || ["error", "fatal", "panic"].contains(&word)
}

/// Without an error, the first line that is not a heading.
fn first_telling(lines: &[&str]) -> Option<String> {
    let heading = |line: &str| {
        line == "● Test suite failed to run" || line == "collection failure" || line.starts_with("FAIL ")
    };
    let mut told = lines.iter().map(|line| line.trim());
    let first = told.clone().find(|line| !heading(line)).or_else(|| told.next())?;
    Some(first.trim_start_matches("note: ").trim_start_matches('●').trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn failure_text_is_the_assertion_of_every_kind_of_message() {
        for (message, says) in [
            (
                "def test_bad():\n>       assert 1 == 2\nE       assert 1 == 2\nE        +  where 1 = f()\n\ntest_a.py:9: AssertionError",
                "assert 1 == 2",
            ),
            (
                "E   ValueError: a\n\nDuring handling, another exception occurred:\n\nE   KeyError: 'b'",
                "KeyError: 'b'",
            ),
            (
                "collection failure\nE     File \"/app/test_a.py\", line 5\nE       def x(\nE            ^\nE   SyntaxError: '(' was never closed",
                "SyntaxError: '(' was never closed",
            ),
            ("E       fixture 'nope' not found\n>       available fixtures: x", "fixture 'nope' not found"),
            (
                "Traceback (most recent call last):\n  File \"/app/test_a.py\", line 8, in test_bad\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\nStdout:\nnoise",
                "AssertionError: 1 != 2",
            ),
            (
                "\nthread 'tests::bad' (194) panicked at src/lib.rs:9:24:\nassertion `left == right` failed: numbers\n  left: 1\n right: 2\nnote: run with",
                "assertion `left == right` failed: numbers: left: 1, right: 2",
            ),
            ("thread 'x' panicked at 'boom', src/lib.rs:3:5", "boom"),
            (
                "note: test did not panic as expected at src/lib.rs:12:32",
                "test did not panic as expected at src/lib.rs:12:32",
            ),
            (
                "=== RUN   TestSum\n    a_test.go:9: got 2, want 3\n--- FAIL: TestSum (0.00s)",
                "a_test.go:9: got 2, want 3",
            ),
            (
                "=== RUN   TestX\n--- FAIL: TestX (0.00s)\npanic: boom [recovered]\n\tpanic: boom",
                "panic: boom [recovered]",
            ),
            (
                "=== RUN   TestY\n    y_test.go:9: \n        \tError Trace:\ty_test.go:9\n        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n--- FAIL: TestY",
                "y_test.go:9: Not equal: expected: 1, actual  : 2",
            ),
            ("# m/b [m/b.test]\nb/b_test.go:3:11: undefined: y", "b/b_test.go:3:11: undefined: y"),
            (
                "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 3\nReceived: 2\n    at x",
                "expect(received).toBe(expected): Expected: 3, Received: 2",
            ),
            (
                "Error: expect(received).toEqual(expected)\n\n- Expected  - 1\n+ Received  + 1\n\n  Array [\n-   1,\n+   2,\n  ]\n    at x",
                "expect(received).toEqual(expected): -   1,, +   2,",
            ),
            (
                "AssertionError: expected 2 to be 3 // Object.is equality\n    at /app/a.test.js:6:21",
                "AssertionError: expected 2 to be 3",
            ),
            (
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n2 !== 3\n\n    at x",
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3",
            ),
            (
                "file:///app/a.mjs:3\nimport x from './y'\n       ^\n\nSyntaxError: no export 'x'\n    at z",
                "SyntaxError: no export 'x'",
            ),
            (
                "  ● Test suite failed to run\n\n    Cannot find module './missing.js' from 'a.test.js'",
                "Cannot find module './missing.js' from 'a.test.js'",
            ),
            (
                "error[E0425]: cannot find function `nothing` in this scope",
                "error[E0425]: cannot find function `nothing` in this scope",
            ),
            ("it was expected to fail", "it was expected to fail"),
        ] {
            assert_eq!(what_failed(message).as_deref(), Some(says), "{message}");
        }
        assert_eq!(what_failed(" \n"), None);
    }

    proptest! {
        #[test]
        fn failure_text_parser_never_panics(
            message in "(E   |Traceback \\(most recent call last\\)|  File \"x\", line 1|panicked at |'|: |\n|=== RUN|Error: |expect\\(|Expected|# |é){0,25}"
        ) {
            what_failed(&message);
        }
    }
}
