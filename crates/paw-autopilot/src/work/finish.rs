//! The end of a run: format, lint, the whole suite and coverage.

use std::path::PathBuf;

use paw_host::clock;
use serde_json::json;

pub use super::commands::FinalCommands;
use super::commands::run_line;
use super::commit::commit_paths;
use super::coverage::CoverageResult;
use super::head::current_head;
use super::options::Relaxation;
use super::snapshot::{ChangeSnapshot, is_own_file};
use super::{ActiveRun, FinalGates, Tester, WorkError};
use crate::artifacts::log::counts;
use crate::artifacts::manifest::CoveragePercents;
use crate::artifacts::pull_request::{self, PullRequestFacts};
use crate::artifacts::results::{TestResult, TestRunKind};
use crate::coverage::gate::{ThresholdResult, judge, missed};
use crate::engine::{RunEvent, RunStage};
use crate::runners::{TestOutcome, TestRun, TestVerdict};

/// The result of the final checks.
#[derive(Debug, Clone)]
pub struct FinalResult {
    pub tests: TestRun,
    /// `None` if coverage was not measured.
    pub coverage: Option<Vec<ThresholdResult>>,
    /// Why coverage was not measured.
    pub unmeasured: Option<String>,
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
        if !self.has_proof() {
            let why = "no subtask was proven; nothing is marked done or pushed".to_owned();
            self.notes.last_error = Some(why.clone());
            self.apply(RunEvent::FinalFailed { why: why.clone() })?;
            return Err(WorkError::Paused(why));
        }
        let limit = self.tester.limit();
        let root = self.context.project.root.clone();
        let mut failed = None;
        let unformatted = ChangeSnapshot::take(&self.context)?;
        for line in [&commands.format, &commands.lint].into_iter().flatten() {
            failed = failed.or(run_line(line, &root, None, &self.notes.tests_mark(), limit)?.err());
        }
        let formatted = self.formatted_since(&unformatted)?;
        let index = self.checkout.index();
        let tree = self.context.git.write_worktree_tree(&index, "HEAD", &formatted)?;
        let tests = self.test_tree(&tree, Tester::run)?;
        self.tested_tree = Some(tree);
        self.check_pause()?;
        failed = failed.or_else(|| self.new_failures(&tests)).or_else(|| self.missing_proofs(&tests));
        self.set_coverage_command(commands);
        let mut unmeasured = None;
        let measured = if failed.is_none() { Some(self.measure()?) } else { None };
        let coverage = match measured {
            Some(CoverageResult::Measured(coverage)) => Some(coverage),
            Some(CoverageResult::Failed(why)) => {
                failed = Some(why);
                None
            }
            Some(CoverageResult::Unknown(why)) => {
                failed = commands.coverage_required.then(|| format!("coverage is required: {why}"));
                unmeasured = Some(why);
                None
            }
            None => None,
        };
        self.check_pause()?;
        let judged = coverage.as_ref().map(|coverage| judge(coverage, &self.context.settings.thresholds));
        if let Some(missed) = judged.as_deref().and_then(missed)
            && !self.notes.options.relaxes(Relaxation::Coverage)
        {
            let hint = "--resume --force=coverage finishes anyway; test.coverageThresholds in .taskmaster/config.json";
            failed = failed.or_else(|| Some(format!("{missed} ({hint})")));
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
        let mut proof = None;
        if let FinalGates::Run(checks) = &commands.gates
            && failed.is_none()
        {
            match self.prove_branch(checks)? {
                Ok(signed) => proof = Some(signed),
                Err(why) => failed = Some(why),
            }
            self.check_pause()?;
        }
        let mut fields =
            json!({"status": if failed.is_none() { "ok" } else { "error" }, "tests": counts(&tests.report)});
        let ran = [&commands.format, &commands.lint].into_iter().flatten().cloned();
        fields["commands"] = ran.chain([tests.command.clone()]).collect();
        if let Some(gate) = &self.gate {
            fields["coverage"] = json!(gate.words().unwrap_or_else(str::to_owned));
        }
        if let Some(why) = &failed {
            fields["error"] = json!(why);
        }
        self.log("finalize", fields)?;
        let facts = PullRequestFacts {
            suite: Some(&tests),
            baseline: Some(&self.baseline),
            coverage: self.notes.coverage.as_ref(),
            unmeasured: unmeasured.as_deref(),
            allowed: &self.allowances(judged.as_deref(), unmeasured.as_deref()),
            proof: proof.as_ref(),
            unsigned: match &commands.gates {
                FinalGates::Skip(why) => Some(why),
                FinalGates::Run(_) => None,
            },
        };
        self.write_body(&facts)?;
        self.notes.last_error.clone_from(&failed);
        self.apply(match failed.clone() {
            None => RunEvent::FinalPassed,
            Some(why) => RunEvent::FinalFailed { why },
        })?;
        let uncommitted = self.uncommitted()?;
        Ok(FinalResult { tests, coverage: judged, unmeasured, formatted, uncommitted, failed })
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

    /// Every test that proved a subtask has to pass at the end.
    fn missing_proofs(&self, tests: &TestRun) -> Option<String> {
        let passed = |name: &&String| tests.report.outcome_of(name) == Some(TestOutcome::Passed);
        let missing: Vec<&str> =
            self.notes.proven_tests.iter().filter(|name| !passed(name)).map(String::as_str).collect();
        (!missing.is_empty())
            .then(|| format!("tests that proved a subtask did not pass: {}", missing.join(", ")))
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
        let proven = self.tested_tree.clone().unwrap_or_default();
        let changed = self.find_unproven(&proven)?;
        if !changed.is_empty() {
            return Err(WorkError::Commit(self.undo_commit(&sha, &changed)?));
        }
        self.run.head = Some(sha.clone());
        self.dir.add_commit(&sha)?;
        self.take_guard()?;
        self.save()?;
        Ok(Some(sha))
    }

    fn write_body(&self, facts: &PullRequestFacts<'_>) -> Result<(), WorkError> {
        let template = match &self.context.settings.pull_request.body_template {
            Some(path) => self.context.load_inside(path),
            None => None,
        };
        Ok(self.dir.write_pull_request(&pull_request::body(&self.run, facts, template.as_deref()))?)
    }

    fn uncommitted(&self) -> Result<Vec<String>, WorkError> {
        let known = self.notes.before.foreign_changes();
        let changes = self.context.git.status()?;
        let left = changes.iter().filter(|entry| !super::snapshot::is_run_file(&entry.path));
        let left = left.filter(|entry| !known.contains(&entry.path.as_path()) && !is_own_file(&entry.path));
        Ok(left.map(|entry| self.context.shown(&entry.path)).collect())
    }
}
