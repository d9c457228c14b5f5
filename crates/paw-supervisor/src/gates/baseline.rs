//! Failures compared with the main branch, at the commit where the branch left it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::files;

use super::outcome::{Finding, Status};
use super::plan::GateStep;
use super::record::{Record, Records};
use super::run::{Ran, Site};
use super::verify::{GateError, GateRequest};

/// Marks failures that the main branch has as well, and returns what is known about its commit, where it was asked.
/// A check that was run there before is not run again.
pub(super) fn compare(
    order: &GateRequest,
    tip: &str,
    records: &Records,
    ran: &mut [Ran],
    now: Timestamp,
    on_line: &mut dyn FnMut(&str),
) -> Result<Option<Record>, GateError> {
    let failed: Vec<_> = ran.iter_mut().filter(|ran| ran.finding.status == Status::Failed).collect();
    let Some((main, base)) = find_base(order, tip)?.filter(|_| !failed.is_empty()) else { return Ok(None) };
    if base == tip {
        // It has no commit of its own, so nothing here is its doing.
        for ran in failed {
            ran.finding.status = Status::FailedBefore;
        }
        return Ok(None);
    }
    let mut record = records.load(&base)?.unwrap_or_else(|| Record::new(&base, main.as_str(), now));
    let missing: Vec<GateStep> =
        failed.iter().map(|ran| ran.finding.step()).filter(|step| record.find(step).is_none()).collect();
    if !missing.is_empty() {
        on_line(&format!("the same on {main}, where {} left it:", order.branch));
        let checkout = order.checkout("main", &base, &main, on_line)?;
        let site = Site {
            dir: &checkout.dir,
            commit: &base,
            records,
            limit: order.limit,
            variables: &[],
            stop: &order.stop,
        };
        record.add(site.run(&missing, on_line)?.into_iter().map(|ran| ran.finding).collect());
        records.save(&record)?;
    }
    for ran in failed {
        let step = ran.finding.step();
        let is_failure = |before: &&Finding| matches!(before.status, Status::Failed | Status::FailedBefore);
        let Some(before) = record.find(&step).filter(is_failure) else { continue };
        let printed = files::load_text(&records.log(&base, step.gate))?.unwrap_or_default();
        if before.end == ran.finding.end && is_old(&printed, &ran.output) {
            ran.finding.status = Status::FailedBefore;
        }
    }
    Ok(Some(record))
}

/// The main branch and the commit at which the branch left it. The main branch itself is compared with nothing.
fn find_base(order: &GateRequest, tip: &str) -> Result<Option<(BranchName, String)>, GateError> {
    let git = order.repo.git();
    let Some(main) = git.find_default_branch()?.filter(|main| *main != order.branch) else { return Ok(None) };
    let base = git.find(["merge-base", &main.full_ref(), tip])?;
    Ok(base.map(|base| (main, base)))
}

/// Whether what a check printed here tells of no failure that it did not tell of on the main branch.
///
/// Times, addresses and line numbers may differ. Where nothing in it looks like a failure, all of it must be the same.
fn is_old(main: &str, here: &str) -> bool {
    let (old, new) = (failures(main), failures(here));
    let is_known = |(line, times): (&String, &usize)| old.get(line).is_some_and(|known| times <= known);
    if new.is_empty() {
        return lines(main) == lines(here);
    }
    new.iter().all(is_known) && told(here) <= told(main)
}

/// Lines, and how often each is there.
type Lines = BTreeMap<String, usize>;

fn failures(text: &str) -> Lines {
    const SIGNS: [&str; 9] =
        ["fail", "error", "panick", "not ok", "exception", "assert", "warning", "\u{2717}", "\u{2718}"];
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    counted(text.lines().filter(tells))
}

fn lines(text: &str) -> Lines {
    counted(text.lines())
}

fn counted<'a>(lines: impl Iterator<Item = &'a str>) -> Lines {
    let mut counted = Lines::new();
    for line in lines {
        *counted.entry(steady(line)).or_default() += 1;
    }
    counted
}

/// How many failures a summary counts: `1 failed`, `3 errors`.
fn told(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let counts = words.windows(2).filter(|pair| {
        let what = pair[1].to_lowercase();
        what.starts_with("fail") || what.starts_with("error")
    });
    let number = |word: &str| word.trim_start_matches(['(', '[']).parse::<usize>().ok();
    counts.filter_map(|pair| number(pair[0])).fold(0, usize::saturating_add)
}

/// The line without what differs from run to run: numbers that stand alone, with or without a unit of time. In `test_x[1-2]`
/// and `TestX/2` they are part of a name.
fn steady(line: &str) -> String {
    let mut steady = String::new();
    let mut word = String::new();
    for c in line.trim().chars().chain([' ']) {
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            word.push(c);
            continue;
        }
        steady.push_str(if is_fleeting(&word) && !is_in_name(&steady) { "#" } else { &word });
        word.clear();
        steady.push(c);
    }
    steady
}

/// Whether what comes next belongs to the name of a test: behind a `/` or in brackets, in a word that begins with a letter.
fn is_in_name(before: &str) -> bool {
    let name = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let open = name.rsplit_once('[').is_some_and(|(name, inside)| !name.is_empty() && !inside.contains(']'));
    name.starts_with(char::is_alphabetic) && (open || name.ends_with('/'))
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
    fn a_number_in_the_name_of_a_test_is_its_name() {
        for (main, here) in [
            ("FAILED tests/test_a.py::test_x[1]\n", "FAILED tests/test_a.py::test_x[2]\n"),
            ("FAILED test_x[1-2]\n", "FAILED test_x[1-3]\n"),
            ("--- FAIL: TestX/1 (0.00s)\n", "--- FAIL: TestX/2 (0.00s)\n"),
        ] {
            assert!(is_old(main, main) && !is_old(main, here), "{here}");
        }
        let later = |time: &str, pid: u32| format!("[{time}] ERROR in /tmp/{pid}/a, 1/3 done\n");
        assert!(is_old(&later("12:03:05", 17), &later("13:04:06", 18)));
    }

    #[test]
    fn one_more_of_the_same_and_a_larger_count_are_new_and_a_smaller_one_is_not() {
        assert!(!is_old("error: lost\n", "error: lost\nerror: lost\n"));
        assert!(is_old("error: lost\nerror: lost\n", "error: lost\n"));
        let summary = |failed: u32, passed: u32| format!("== {failed} failed, {passed} passed in 0.5s ==\n");
        assert!(!is_old(&summary(1, 9), &summary(2, 8)));
        assert!(is_old(&summary(2, 8), &summary(1, 12)));
    }

    #[test]
    fn where_nothing_looks_like_a_failure_everything_must_be_the_same() {
        assert!(is_old("Diff in a.rs\n", "Diff in a.rs\n"));
        assert!(!is_old("Diff in a.rs\n", "Diff in b.rs\n"));
        assert!(!is_old("", "killed\n") && is_old("", ""));
    }
}
