//! Whether a failure is one that the main branch has as well.

use std::collections::BTreeSet;

/// Whether what a check printed here tells of no failure that it did not tell of on the main branch.
///
/// Times, addresses and line numbers may differ. Where nothing in it looks like a failure, all of it must be the same.
pub(super) fn is_old(main: &str, here: &str) -> bool {
    let (old, new) = (failures(main), failures(here));
    if new.is_empty() { lines(main) == lines(here) } else { new.is_subset(&old) }
}

fn failures(text: &str) -> BTreeSet<String> {
    const SIGNS: [&str; 9] =
        ["fail", "error", "panick", "not ok", "exception", "assert", "warning", "\u{2717}", "\u{2718}"];
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    text.lines().filter(tells).map(steady).collect()
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(steady).collect()
}

/// The line without what differs from run to run: numbers that stand alone, with or without a unit of time.
fn steady(line: &str) -> String {
    let mut steady = String::new();
    let mut word = String::new();
    for c in line.trim().chars().chain([' ']) {
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            word.push(c);
            continue;
        }
        steady.push_str(if is_fleeting(&word) { "#" } else { &word });
        word.clear();
        steady.push(c);
    }
    steady
}

fn is_fleeting(word: &str) -> bool {
    let number = word.trim_end_matches(['s', 'm', 'h', 'u', 'n', '.']);
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let address = word.strip_prefix("0x").is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()));
    plain || address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failures_after_another_time_are_old() {
        let main = "test a::b ... FAILED\nthread 'a' (17) panicked at src/lib.rs:10:5\nfinished in 0.03s\n";
        let here = "test new ... ok\ntest a::b ... FAILED\nthread 'a' (99) panicked at src/lib.rs:12:5\nfinished in 1.2s\n";
        assert!(is_old(main, here));
    }

    #[test]
    fn one_more_failing_test_is_new_even_if_it_differs_by_a_digit() {
        let main = "test case_1 ... FAILED\n";
        assert!(!is_old(main, "test case_1 ... FAILED\ntest case_2 ... FAILED\n"));
        assert!(is_old(main, "test case_1 ... FAILED\n"));
    }

    #[test]
    fn where_nothing_looks_like_a_failure_everything_must_be_the_same() {
        assert!(is_old("Diff in a.rs\n", "Diff in a.rs\n"));
        assert!(!is_old("Diff in a.rs\n", "Diff in b.rs\n"));
        assert!(!is_old("", "killed\n") && is_old("", ""));
    }
}
