//! Compares failures with the main branch, at the commit where the branch started.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::files;

use super::outcome::{GateFinding, GateStatus};
use super::plan::GateStep;
use super::record::{GateRecord, GateRecords};
use super::run::{GateRun, TestedCommit, digest_of};
use super::verify::{GateError, GateRequest};
use crate::proof::{self, ProvenGate};

/// Marks failures that the main branch has too, and returns the record of main's commit if it was needed. A gate that
/// was run there before is not run again, if its result was signed: any program could have written another one.
pub(super) fn compare(
    request: &GateRequest,
    tip: &str,
    records: &GateRecords,
    (ran, now): (&mut [GateRun], Timestamp),
    on_line: &mut dyn FnMut(&str),
) -> Result<Option<GateRecord>, GateError> {
    let failed: Vec<_> = ran.iter_mut().filter(|ran| ran.finding.status == GateStatus::Failed).collect();
    if failed.is_empty() {
        return Ok(None);
    }
    let Some((main, base)) = find_base(request, tip)? else { return Ok(None) };
    if base == tip {
        // The branch has no commits, so it did not cause the failures.
        for ran in failed {
            ran.finding.status = GateStatus::FailedBefore;
        }
        return Ok(None);
    }
    let conditions = proof::conditions(&request.steps, &request.preparation, request.sandbox)?;
    let known = request.proofs.find_baseline(&base, &conditions)?;
    let wanted: Vec<GateStep> = failed.iter().map(|ran| ran.finding.step()).collect();
    let mut before: Vec<GateRun> =
        wanted.iter().filter_map(|step| signed_run(&known, step, &records.log(&base, step.gate))).collect();
    let missing: Vec<GateStep> =
        wanted.into_iter().filter(|step| before.iter().all(|run| run.finding.step() != *step)).collect();
    let is_complete = missing.is_empty();
    if !is_complete {
        on_line(&format!("running the failed gates on {main}, where {} started:", request.branch));
        let checkout = request.checkouts().open(&main, on_line)?;
        checkout.check_out(&base)?;
        let target = TestedCommit { files: checkout.files(), commit: &base, branch: &main };
        before.extend(request.runner(records, &[]).run(&target, &missing, on_line)?.ran);
    }
    for ran in failed {
        let is_failure = |status| matches!(status, GateStatus::Failed | GateStatus::FailedBefore);
        let is_same = |before: &&GateRun| {
            before.finding.step() == ran.finding.step()
                && is_failure(before.finding.status)
                && before.finding.end == ran.finding.end
                && has_only_known_failures(&before.output, &ran.output)
        };
        if before.iter().any(|before| is_same(&before)) {
            ran.finding.status = GateStatus::FailedBefore;
        }
    }
    let mut record = GateRecord::new(&base, main.as_str(), now);
    record.add(before.into_iter().map(|run| run.finding).collect());
    if !is_complete {
        let mut all = record.findings.clone();
        for gate in known {
            if all.iter().all(|finding| finding.gate != gate.gate) {
                all.push(gate.into());
            }
        }
        request.proofs.record_baseline((&base, main.as_str()), &conditions, &all, now)?;
    }
    Ok(Some(record))
}

/// A signed run of this gate, if its output is still on disk and unchanged.
fn signed_run(known: &[ProvenGate], step: &GateStep, log: &Path) -> Option<GateRun> {
    let output = files::load_text(log).ok()??;
    let digest = digest_of(&output);
    let is_it =
        |gate: &&ProvenGate| gate.gate == step.gate && gate.command == step.command && gate.output == digest;
    let finding = known.iter().find(is_it)?.clone().into();
    Some(GateRun { finding: GateFinding { log: log.display().to_string(), ..finding }, output })
}

/// The main branch and its merge base with the branch. `None` for the main branch itself.
fn find_base(request: &GateRequest, tip: &str) -> Result<Option<(BranchName, String)>, GateError> {
    let git = request.repo.git();
    let Some(main) = git.find_default_branch()?.filter(|main| *main != request.branch) else {
        return Ok(None);
    };
    let base = git.find(["merge-base", &main.full_ref(), tip])?;
    Ok(base.map(|base| (main, base)))
}

/// Whether the output contains no failure that the output on the main branch lacks.
///
/// Times, addresses and line numbers may differ. If nothing looks like a failure, the whole output has to be the same.
fn has_only_known_failures(main: &str, here: &str) -> bool {
    let (old, new) = (failures(main), failures(here));
    let is_known = |(line, times): (&String, &usize)| old.get(line).is_some_and(|known| times <= known);
    if new.is_empty() {
        return lines(main) == lines(here);
    }
    new.iter().all(is_known) && count_failures(here) <= count_failures(main)
}

/// Normalized lines, and how often each occurs.
type LineCounts = BTreeMap<String, usize>;

fn failures(text: &str) -> LineCounts {
    const SIGNS: [&str; 9] =
        ["fail", "error", "panick", "not ok", "exception", "assert", "warning", "\u{2717}", "\u{2718}"];
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    count_lines(text.lines().filter(tells))
}

fn lines(text: &str) -> LineCounts {
    count_lines(text.lines())
}

fn count_lines<'a>(lines: impl Iterator<Item = &'a str>) -> LineCounts {
    let mut counts = LineCounts::new();
    for line in lines {
        *counts.entry(normalized(line)).or_default() += 1;
    }
    counts
}

/// How many failures a summary counts: `1 failed`, `3 errors`.
fn count_failures(text: &str) -> usize {
    let words: Vec<&str> = text.split_whitespace().collect();
    let counts = words.windows(2).filter(|pair| {
        let what = pair[1].to_lowercase();
        what.starts_with("fail") || what.starts_with("error")
    });
    let number = |word: &str| word.trim_start_matches(['(', '[']).parse::<usize>().ok();
    counts.filter_map(|pair| number(pair[0])).fold(0, usize::saturating_add)
}

/// The line without what differs from run to run: separate numbers, with or without a unit of time. In `test_x[1-2]` and
/// `TestX/2` they are part of a name.
fn normalized(line: &str) -> String {
    let mut normalized = String::new();
    let mut word = String::new();
    for c in line.trim().chars().chain([' ']) {
        if c.is_alphanumeric() || matches!(c, '_' | '.') {
            word.push(c);
            continue;
        }
        normalized.push_str(if is_volatile(&word) && !is_in_name(&normalized) { "#" } else { &word });
        word.clear();
        normalized.push(c);
    }
    normalized
}

/// Whether the next word belongs to the name of a test: after a `/` or in brackets, in a word that starts with a letter.
fn is_in_name(before: &str) -> bool {
    let name = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let open = name.rsplit_once('[').is_some_and(|(name, inside)| !name.is_empty() && !inside.contains(']'));
    name.starts_with(char::is_alphabetic) && (open || name.ends_with('/'))
}

fn is_volatile(word: &str) -> bool {
    let number = word.trim_end_matches(['s', 'm', 'h', 'u', 'n', '.']);
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let address = word.strip_prefix("0x").is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()));
    plain || address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_ignores_times_and_line_numbers() {
        let main = "test a::b ... FAILED\nthread 'a' (17) panicked at src/lib.rs:10:5\nfinished in 0.03s\n";
        let here = "test new ... ok\ntest a::b ... FAILED\nthread 'a' (99) panicked at src/lib.rs:12:5\nfinished in 1.2s\n";
        assert!(has_only_known_failures(main, here));
    }

    #[test]
    fn baseline_notices_a_new_failing_test_that_differs_by_a_digit() {
        let main = "test case_1 ... FAILED\n";
        assert!(!has_only_known_failures(main, "test case_1 ... FAILED\ntest case_2 ... FAILED\n"));
        assert!(has_only_known_failures(main, "test case_1 ... FAILED\n"));
    }

    #[test]
    fn baseline_keeps_numbers_in_test_names() {
        for (main, here) in [
            ("FAILED tests/test_a.py::test_x[1]\n", "FAILED tests/test_a.py::test_x[2]\n"),
            ("FAILED test_x[1-2]\n", "FAILED test_x[1-3]\n"),
            ("--- FAIL: TestX/1 (0.00s)\n", "--- FAIL: TestX/2 (0.00s)\n"),
        ] {
            assert!(has_only_known_failures(main, main) && !has_only_known_failures(main, here), "{here}");
        }
        let later = |time: &str, pid: u32| format!("[{time}] ERROR in /tmp/{pid}/a, 1/3 done\n");
        assert!(has_only_known_failures(&later("12:03:05", 17), &later("13:04:06", 18)));
    }

    #[test]
    fn baseline_notices_more_failures_but_not_fewer() {
        assert!(!has_only_known_failures("error: lost\n", "error: lost\nerror: lost\n"));
        assert!(has_only_known_failures("error: lost\nerror: lost\n", "error: lost\n"));
        let summary = |failed: u32, passed: u32| format!("== {failed} failed, {passed} passed in 0.5s ==\n");
        assert!(!has_only_known_failures(&summary(1, 9), &summary(2, 8)));
        assert!(has_only_known_failures(&summary(2, 8), &summary(1, 12)));
    }

    #[test]
    fn baseline_requires_equal_output_without_failure_lines() {
        assert!(has_only_known_failures("Diff in a.rs\n", "Diff in a.rs\n"));
        assert!(!has_only_known_failures("Diff in a.rs\n", "Diff in b.rs\n"));
        assert!(!has_only_known_failures("", "killed\n") && has_only_known_failures("", ""));
    }
}
