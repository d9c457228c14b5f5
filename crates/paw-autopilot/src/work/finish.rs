//! The end of a run: format, lint, the whole suite and coverage.

use std::path::PathBuf;

use paw_host::clock;
use serde_json::json;

pub use super::commands::FinalCommands;
use super::commands::{load_coverage, run_line};
use super::commit::commit_paths;
use super::head::current_head;
use super::options::Relaxation;
use super::snapshot::{ChangeSnapshot, is_own_file};
use super::{ActiveRun, WorkError};
use crate::artifacts::log::counts;
use crate::artifacts::manifest::CoveragePercents;
use crate::artifacts::pull_request;
use crate::artifacts::results::{TestResult, TestRunKind};
use crate::coverage::Coverage;
use crate::coverage::gate::{ThresholdResult, ThresholdStatus, judge};
use crate::engine::{RunEvent, RunStage};
use crate::runners::{TestOutcome, TestRun, TestVerdict};

/// The result of the final checks.
#[derive(Debug, Clone)]
pub struct FinalResult {
    pub tests: TestRun,
    /// `None` if coverage was not measured.
    pub coverage: Option<Vec<ThresholdResult>>,
    /// The commit with the formatter's changes.
    pub formatted: Option<String>,
    /// Uncommitted files: tests for behaviour that already existed.
    pub uncommitted: Vec<String>,
    /// Why the checks failed.
    pub failed: Option<String>,
}

impl ActiveRun {
    /// Runs the final checks and writes the body of the pull request.
    pub fn finalize(&mut self, commands: &FinalCommands) -> Result<FinalResult, WorkError> {
        match &self.run.stage {
            RunStage::Finalize => {}
            RunStage::Paused { reason, .. } => return Err(WorkError::Paused(reason.to_string())),
            other => return Err(WorkError::NotNow { wanted: "finalize", stage: other.name() }),
        }
        self.require_unmoved_head()?;
        let limit = self.tester.limit();
        let root = self.context.project.root.clone();
        let mut failed = None;
        let unformatted = ChangeSnapshot::take(&self.context)?;
        for line in [&commands.format, &commands.lint].into_iter().flatten() {
            failed = failed.or(run_line(line, &root, &self.notes.tests_mark(), limit)?.err());
        }
        let formatted = self.formatted_since(&unformatted)?;
        let tests = self.tester.run()?;
        self.check_pause()?;
        failed = failed.or_else(|| self.new_failures(&tests));
        let coverage = if failed.is_none() { self.measure(commands, &mut failed)? } else { None };
        self.check_pause()?;
        let judged = coverage.as_ref().map(|coverage| judge(coverage, &self.context.settings.thresholds));
        if let Some(missed) = judged.as_deref().and_then(missed)
            && !self.notes.options.relaxes(Relaxation::Coverage)
        {
            failed = failed.or(Some(missed));
        }
        self.notes.coverage = coverage.as_ref().map(CoveragePercents::from);
        let result = TestResult::of(TestRunKind::Final, &tests, coverage.as_ref(), clock::now());
        self.dir.write_result(TestRunKind::Final, &result)?;
        self.notes.last_result = Some("test-results/final-suite.json".into());
        let formatted = if failed.is_none() && commands.format.is_some() {
            self.commit_format(&formatted)?
        } else {
            None
        };
        let mut fields =
            json!({"status": if failed.is_none() { "ok" } else { "error" }, "tests": counts(&tests.report)});
        if let Some(why) = &failed {
            fields["error"] = json!(why);
        }
        self.log("finalize", fields)?;
        self.write_body(&tests)?;
        self.notes.last_error.clone_from(&failed);
        self.apply(match failed.clone() {
            None => RunEvent::FinalPassed,
            Some(why) => RunEvent::FinalFailed { why },
        })?;
        let uncommitted = self.uncommitted()?;
        Ok(FinalResult { tests, coverage: judged, formatted, uncommitted, failed })
    }

    /// Tests that failed before the run may still fail.
    fn new_failures(&self, tests: &TestRun) -> Option<String> {
        match tests.verdict {
            TestVerdict::Passed => return None,
            TestVerdict::Failures => {}
            TestVerdict::NoneRan => return Some("no test ran".into()),
            TestVerdict::TimedOut => return Some("the tests timed out".into()),
            TestVerdict::BuildFailure => return Some("the tests do not build".into()),
            TestVerdict::Crashed => return Some(format!("the test runner {}", tests.exit)),
        }
        let old = |name: &&str| self.baseline.outcome_of(name) == Some(TestOutcome::Failed);
        let new: Vec<&str> =
            tests.report.names(TestOutcome::Failed).into_iter().filter(|name| !old(name)).collect();
        (!new.is_empty()).then(|| format!("failing: {}", new.join(", ")))
    }

    fn measure(
        &self,
        commands: &FinalCommands,
        failed: &mut Option<String>,
    ) -> Result<Option<Coverage>, WorkError> {
        let Some(line) = &commands.coverage else { return Ok(None) };
        let (root, since) = (&self.context.project.root, clock::now());
        if let Err(why) = run_line(line, root, &self.notes.tests_mark(), self.tester.limit())? {
            *failed = Some(why);
            return Ok(None);
        }
        let coverage = load_coverage(commands.coverage_report.as_deref(), root, since)?;
        if coverage.is_none() && commands.coverage_required {
            *failed = Some(format!("coverage is required, but '{line}' wrote no report"));
        }
        Ok(coverage)
    }

    /// Tracked files changed since `earlier`, without files the user changed.
    fn formatted_since(&self, earlier: &ChangeSnapshot) -> Result<Vec<PathBuf>, WorkError> {
        let foreign_changes = earlier.foreign_changes();
        let changed = earlier.changes_until(&ChangeSnapshot::take(&self.context)?).into_iter();
        let committed = changed.filter(|change| change.before.is_some()).map(|change| change.path);
        Ok(committed
            .filter(|path| !is_own_file(path) && !foreign_changes.contains(&path.as_path()))
            .collect())
    }

    /// Commits the formatter's changes separately, after the tests have passed with them.
    fn commit_format(&mut self, paths: &[PathBuf]) -> Result<Option<String>, WorkError> {
        if paths.is_empty() {
            return Ok(None);
        }
        let message = format!("style: format (task {0})\n\nTask: {0}\n", self.run.request.task);
        commit_paths(&self.context.git, paths, &message).map_err(WorkError::Commit)?;
        let (_, sha) = current_head(&self.context.git)?;
        self.run.head = Some(sha.clone());
        self.dir.add_commit(&sha)?;
        self.save()?;
        Ok(Some(sha))
    }

    fn write_body(&self, tests: &TestRun) -> Result<(), WorkError> {
        let template = match &self.context.settings.pull_request.body_template {
            Some(path) => self.context.load_inside(path),
            None => None,
        };
        let coverage = self.notes.coverage.as_ref();
        let mut body = pull_request::body(&self.run, Some(&tests.report), coverage, template.as_deref());
        if !self.notes.relaxed.is_empty() {
            body.push_str("\n## Allowed by --force\n\n");
            body.extend(self.notes.relaxed.iter().map(|line| format!("- {line}\n")));
        }
        Ok(self.dir.write_pull_request(&body)?)
    }

    fn uncommitted(&self) -> Result<Vec<String>, WorkError> {
        let known = self.notes.before.foreign_changes();
        let changes = self.context.git.status()?;
        let left = changes.iter().filter(|entry| !super::snapshot::is_run_file(&entry.path));
        let left = left.filter(|entry| !known.contains(&entry.path.as_path()) && !is_own_file(&entry.path));
        Ok(left.map(|entry| self.context.shown(&entry.path)).collect())
    }
}

/// Describes the missed thresholds.
fn missed(judged: &[ThresholdResult]) -> Option<String> {
    let missed: Vec<String> = judged
        .iter()
        .filter(|judged| judged.status == ThresholdStatus::Missed)
        .map(|judged| {
            format!("{} {:.1} % of {} %", judged.metric, judged.percent.unwrap_or_default(), judged.wanted)
        })
        .collect();
    (!missed.is_empty()).then(|| format!("coverage is too low: {}", missed.join(", ")))
}
