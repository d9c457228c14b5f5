//! The tests of a subtask, before the whole suite: an attempt that they refute needs no whole run.

use std::path::PathBuf;

use super::{ActiveRun, TddPhase, WorkError};
use crate::engine::RunStage;
use crate::evidence::FileChange;
use crate::evidence::red::changes_tests;
use crate::runners::{TestCase, TestOutcome, TestReport, TestRun, TestVerdict};

/// A run of some files, and their part of the baseline.
pub(super) struct TargetedRun {
    pub(super) tests: TestRun,
    pub(super) baseline: TestReport,
}

impl ActiveRun {
    /// Runs the test files of the subtask. `None` unless they alone refute the attempt: the whole suite decides then.
    pub(super) fn find_refutation(
        &self,
        phase: TddPhase,
        changes: &[FileChange],
    ) -> Result<Option<TargetedRun>, WorkError> {
        let Some(files) = self.subtask_tests(changes) else { return Ok(None) };
        // A flaky test must not refute working code.
        let Some(tests) = self.tester.run_files(&files, phase == TddPhase::Green)? else { return Ok(None) };
        let ran = matches!(tests.verdict, TestVerdict::Passed | TestVerdict::Failures);
        Ok((ran && self.is_refuted(&tests.report, &files)).then(|| {
            let of_files = |case: &&TestCase| {
                let file = case.file.as_ref();
                file.is_some_and(|file| files.contains(file)) || tests.report.outcome_of(&case.name).is_some()
            };
            let cases = self.baseline.cases.iter().filter(of_files).cloned().collect();
            TargetedRun { baseline: TestReport { cases, ..self.baseline.clone() }, tests }
        }))
    }

    /// RED needs a new failure, unless its tests passed before and may stay; GREEN needs its tests to pass.
    fn is_refuted(&self, report: &TestReport, files: &[PathBuf]) -> bool {
        match &self.run.stage {
            RunStage::Red { passed_at_once, .. } => {
                let old = |case: &TestCase| self.baseline.outcome_of(&case.name) == Some(TestOutcome::Failed);
                // A changed file without tests may matter to tests in other files.
                let has_tests = |file: &PathBuf| {
                    report.cases.iter().any(|case| case.file.as_ref().is_none_or(|place| place == file))
                };
                !passed_at_once && files.iter().all(has_tests) && report.failed().all(old)
            }
            RunStage::Green { red, .. } => {
                red.tests.iter().any(|name| report.outcome_of(name) == Some(TestOutcome::Failed))
            }
            _ => false,
        }
    }

    /// The files with changed test code, relative to the project. `None` if one is outside of it, or outside of the
    /// project's `targetedRunPattern`.
    fn subtask_tests(&self, changes: &[FileChange]) -> Option<Vec<PathBuf>> {
        let tests = changes.iter().filter(|change| changes_tests(&self.context.rules, change));
        let relative = tests.map(|change| {
            let path = self.context.top.join(&change.path);
            let path = path.strip_prefix(&self.context.project.root).ok()?.to_path_buf();
            self.context.rules.is_targeted(&path).then_some(path)
        });
        relative.collect()
    }
}
