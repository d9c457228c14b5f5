//! Judges an attempt with git paw's own test run. Results reported by agents do not count.

use std::path::PathBuf;

use super::coverage::SubtaskCoverage;
use super::record::last_error;
use super::snapshot::ChangeSnapshot;
use super::{ActiveRun, WorkError};
use crate::engine::{PauseReason, RunEvent, RunStage};
use crate::evidence::{
    FileChange, Objection, RedJudgement, RedProof, SourceKind, changed_dependencies, judge_green, judge_red,
};
use crate::runners::{TestCase, TestOutcome, TestReport, TestRun};
use crate::tasks::{ItemId, TaskStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TddPhase {
    Red,
    Green,
}

impl TddPhase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Red => "RED",
            Self::Green => "GREEN",
        }
    }
}

/// The result of one attempt.
#[derive(Debug, Clone)]
pub struct AttemptResult {
    pub phase: TddPhase,
    pub subtask: ItemId,
    pub attempt: u32,
    pub judgement: PhaseJudgement,
    /// The written files: tests in RED, code in GREEN.
    pub files: Vec<PathBuf>,
    pub tests: TestRun,
    /// Why coverage is unknown. Set once per run.
    pub unmeasured: Option<String>,
}

/// One attempt at a phase, with its test run.
pub(super) struct PhaseAttempt {
    pub(super) phase: TddPhase,
    pub(super) subtask: ItemId,
    pub(super) number: u32,
    pub(super) tests: TestRun,
    /// The baseline of a targeted run; `None` if the whole suite ran.
    pub(super) baseline: Option<TestReport>,
    changes: Vec<FileChange>,
    /// What would be committed, and what the tests ran on.
    tree: String,
    /// Why the result is invalid.
    disturbed: Option<Objection>,
}

impl PhaseAttempt {
    /// The report from before the subtask, as far as these tests ran.
    fn baseline<'a>(&'a self, work: &'a ActiveRun) -> &'a TestReport {
        self.baseline.as_ref().unwrap_or(&work.baseline)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseJudgement {
    Proven,
    /// New tests passed without new code. `settled`: for the second time, so the subtask is already implemented.
    AlreadyGreen {
        settled: bool,
    },
    Refused(Vec<Objection>),
}

impl ActiveRun {
    /// Runs the tests and judges the current phase. Pauses the run if HEAD or the branch moved.
    pub fn complete(&mut self) -> Result<AttemptResult, WorkError> {
        let (step, number, phase) = match &self.run.stage {
            RunStage::Red { step, attempt, .. } => (*step, *attempt, TddPhase::Red),
            RunStage::Green { step, attempt, .. } => (*step, *attempt, TddPhase::Green),
            RunStage::Paused { reason, .. } => return Err(WorkError::Paused(reason.to_string())),
            other => return Err(WorkError::NotNow { wanted: "complete a phase", stage: other.name() }),
        };
        self.require_unmoved_head()?;
        let subtask = self.run.steps[step].id.clone();
        let (snapshot, tree) = self.take_tree()?;
        let changes = self.notes.before.changes_until(&snapshot);
        let ((tests, baseline), disturbed) = self.run_tests(phase, &changes, &tree)?;
        self.tested = Some(snapshot);
        self.tested_tree = Some(tree.clone());
        let attempt = PhaseAttempt { phase, subtask, number, tests, baseline, changes, tree, disturbed };
        let (judgement, unmeasured) = match phase {
            TddPhase::Red => (self.judge_red(&attempt)?, None),
            TddPhase::Green => self.judge_green(&attempt)?,
        };
        let PhaseAttempt { subtask, tests, changes, .. } = attempt;
        let files = written(self, &changes, phase);
        if judgement == (PhaseJudgement::AlreadyGreen { settled: true }) {
            // The new tests become part of the next commit, and so does the status.
            if self.has_proof() {
                self.set_status(&subtask, &TaskStatus::Done)?;
            }
            self.set_baseline(tests.report.clone())?;
            let before = std::mem::take(&mut self.notes.before);
            self.begin_step()?;
            self.notes.before = before.with_own_files_of(ChangeSnapshot::take(&self.context)?);
            self.save()?;
        }
        self.log_pause()?;
        let unmeasured = unmeasured.filter(|_| !std::mem::replace(&mut self.notes.reported_unmeasured, true));
        Ok(AttemptResult { phase, subtask, attempt: number, judgement, files, tests, unmeasured })
    }

    /// The worktree when the tests last ran.
    pub fn last_snapshot(&self) -> Option<&ChangeSnapshot> {
        self.tested.as_ref()
    }

    /// Changes since the subtask began.
    pub fn changes(&self) -> Result<Vec<FileChange>, WorkError> {
        Ok(self.notes.before.changes_until(&ChangeSnapshot::take(&self.context)?))
    }

    fn judge_red(&mut self, attempt: &PhaseAttempt) -> Result<PhaseJudgement, WorkError> {
        let RunStage::Red { passed_at_once, .. } = self.run.stage else {
            return Err(WorkError::NotNow { wanted: "judge tests", stage: self.run.stage.name() });
        };
        let red = match &attempt.disturbed {
            Some(objection) => RedJudgement::Refused(vec![objection.clone()]),
            None => judge_red(&self.context.rules, attempt.baseline(self), &attempt.changes, &attempt.tests),
        };
        let red = match red {
            RedJudgement::Proven(proof) => {
                RedJudgement::Proven(RedProof { tree: Some(attempt.tree.clone()), ..proof })
            }
            RedJudgement::Refused(mut objections) => {
                objections.extend(changed_dependencies(&attempt.changes));
                RedJudgement::Refused(objections)
            }
            other @ RedJudgement::AlreadyGreen => other,
        };
        let judgement = match &red {
            RedJudgement::Proven(_) => PhaseJudgement::Proven,
            RedJudgement::AlreadyGreen => PhaseJudgement::AlreadyGreen { settled: passed_at_once },
            RedJudgement::Refused(objections) => PhaseJudgement::Refused(objections.clone()),
        };
        self.remember(&judgement, &attempt.tests, false);
        self.record(attempt, &judgement, None)?;
        self.step(RunEvent::RedJudged(red))?;
        Ok(judgement)
    }

    fn judge_green(&mut self, attempt: &PhaseAttempt) -> Result<(PhaseJudgement, Option<String>), WorkError> {
        let PhaseAttempt { tests, changes, .. } = attempt;
        let RunStage::Green { red, .. } = self.run.stage.clone() else {
            return Err(WorkError::NotNow { wanted: "judge code", stage: self.run.stage.name() });
        };
        let mut judged = match &attempt.disturbed {
            Some(objection) => Err(vec![objection.clone()]),
            None => judge_green(&self.context.rules, attempt.baseline(self), &red, changes, tests),
        };
        if let Ok(green) = &judged
            && let Some(objection) = self.recheck(&red, green, tests, &attempt.tree)?
        {
            judged = Err(vec![objection]);
        }
        self.check_pause()?;
        let measured =
            if judged.is_ok() { self.measure_coverage(changes)? } else { SubtaskCoverage::default() };
        self.check_pause()?;
        if let Some(why) = measured.unknown.clone().filter(|_| self.is_coverage_required()) {
            self.notes.last_error = Some(why.clone());
            self.apply(RunEvent::NotMeasured { why: why.clone() })?;
            return Err(WorkError::Paused(PauseReason::Coverage { why }.to_string()));
        }
        if let Some(objection) = measured.objection {
            judged = Err(vec![objection]);
        }
        if let Err(objections) = &mut judged {
            objections.extend(changed_dependencies(changes));
        }
        let judgement = match &judged {
            Ok(_) => PhaseJudgement::Proven,
            Err(objections) => PhaseJudgement::Refused(objections.clone()),
        };
        self.remember(&judgement, tests, judged.is_ok());
        if judged.is_ok() {
            self.notes.green = Some(tests.report.clone());
        }
        self.record(attempt, &judgement, measured.coverage.as_ref())?;
        self.step(RunEvent::GreenJudged(judged))?;
        Ok((judgement, measured.unknown))
    }

    fn remember(&mut self, judgement: &PhaseJudgement, tests: &TestRun, proven: bool) {
        self.notes.proven = proven;
        let old = |case: &&TestCase| self.baseline.outcome_of(&case.name) == Some(TestOutcome::Failed);
        self.notes.failing = tests.report.failed().filter(|case| !old(case)).take(20).cloned().collect();
        self.notes.objections = match judgement {
            PhaseJudgement::Refused(objections) => objections.clone(),
            PhaseJudgement::Proven | PhaseJudgement::AlreadyGreen { .. } => Vec::new(),
        };
        self.notes.last_error = match judgement {
            PhaseJudgement::Refused(objections) => last_error(tests, objections),
            PhaseJudgement::Proven | PhaseJudgement::AlreadyGreen { .. } => None,
        };
    }
}

/// The files a phase wrote, the requested kind first.
fn written(work: &ActiveRun, changes: &[FileChange], phase: TddPhase) -> Vec<PathBuf> {
    let rules = &work.context.rules;
    let since: Vec<FileChange> = match (&work.run.stage, phase) {
        (RunStage::Commit { red, .. }, TddPhase::Green) => {
            crate::evidence::changes::between(&red.changes, changes)
        }
        _ => changes.to_vec(),
    };
    let kinds = |wanted: SourceKind| {
        since
            .iter()
            .filter(move |change| rules.kind(&change.path) == wanted)
            .map(|change| change.path.clone())
    };
    let (first, second) = match phase {
        TddPhase::Red => (SourceKind::Test, SourceKind::Production),
        TddPhase::Green => (SourceKind::Production, SourceKind::Manifest),
    };
    let mut files: Vec<PathBuf> = kinds(first).collect();
    if files.is_empty() {
        files = kinds(second).collect();
    }
    files
}
