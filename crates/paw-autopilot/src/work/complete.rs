//! What became of a piece of work, by our own tests. Reported numbers do not count.

use std::path::PathBuf;

use super::measure::Measured;
use super::record::last_error;
use super::seen::Seen;
use super::{Work, WorkError};
use crate::engine::{Event, Pause, Stage};
use crate::evidence::{FileChange, Kind, Objection, Red, judge_green, judge_red};
use crate::runners::{Case, Outcome, TestRun};
use crate::tasks::{ItemId, Status};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Red,
    Green,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Red => "RED",
            Self::Green => "GREEN",
        }
    }
}

/// What our tests have shown about one attempt.
#[derive(Debug, Clone)]
pub struct Judged {
    pub phase: Phase,
    pub subtask: ItemId,
    pub attempt: u32,
    pub judgement: Judgement,
    /// What was written: tests in RED, code in GREEN.
    pub files: Vec<PathBuf>,
    pub tests: TestRun,
    /// Why nobody knows whether the tests run what was written. Said once in a run.
    pub unmeasured: Option<String>,
}

/// One attempt at a phase, with the tests that were run on it.
pub(super) struct Attempt {
    pub(super) phase: Phase,
    pub(super) subtask: ItemId,
    pub(super) number: u32,
    pub(super) tests: TestRun,
    changes: Vec<FileChange>,
    /// What changed while the tests ran, which makes them worthless.
    disturbed: Option<Objection>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Proven,
    /// New tests passed before there was code for them. `settled`: for the second time, so it is there already.
    AlreadyGreen {
        settled: bool,
    },
    Refused(Vec<Objection>),
}

impl Work {
    /// Runs the tests and says what they prove. HEAD and branch must be where we left them, else the run pauses.
    pub fn complete(&mut self) -> Result<Judged, WorkError> {
        let (step, number, phase) = match &self.run.stage {
            Stage::Red { step, attempt, .. } => (*step, *attempt, Phase::Red),
            Stage::Green { step, attempt, .. } => (*step, *attempt, Phase::Green),
            Stage::Paused { reason, .. } => return Err(WorkError::Paused(reason.to_string())),
            other => return Err(WorkError::NotNow { wanted: "complete a phase", stage: other.name() }),
        };
        self.require_untouched_head()?;
        let subtask = self.run.steps[step].id.clone();
        let (tests, seen, disturbed) = self.run_tests()?;
        let changes = self.notes.before.until(&seen);
        self.tested = Some(seen);
        let attempt = Attempt { phase, subtask, number, tests, changes, disturbed };
        let (judgement, unmeasured) = match phase {
            Phase::Red => (self.judge_red(&attempt)?, None),
            Phase::Green => self.judge_green(&attempt)?,
        };
        let Attempt { subtask, tests, changes, .. } = attempt;
        let files = written(self, &changes, phase);
        if judgement == (Judgement::AlreadyGreen { settled: true }) {
            // Its tests stay where they are and go along with the next commit.
            self.set_status(&subtask, &Status::Done)?;
            self.set_baseline(tests.report.clone())?;
            let before = std::mem::take(&mut self.notes.before);
            self.begin_step()?;
            self.notes.before = before.with_ours_of(Seen::look(&self.site)?);
            self.save()?;
        }
        self.log_pause()?;
        let unmeasured = unmeasured.filter(|_| !std::mem::replace(&mut self.notes.told_unmeasured, true));
        Ok(Judged { phase, subtask, attempt: number, judgement, files, tests, unmeasured })
    }

    /// Runs the tests, and once more where something changed under them. What changed then too is no proof's subject.
    fn run_tests(&mut self) -> Result<(TestRun, Seen, Option<Objection>), WorkError> {
        let mut before = Seen::look(&self.site)?;
        let mut is_second = false;
        loop {
            let tests = self.tester.run()?;
            self.heed_pause()?;
            let seen = Seen::look(&self.site)?;
            match before.find_disturbed(&seen, &self.site.rules) {
                Some(_) if !is_second => (before, is_second) = (seen, true),
                disturbed => {
                    let objection = disturbed.map(|file| Objection::ChangedWhileTested { file });
                    return Ok((tests, seen, objection));
                }
            }
        }
    }

    /// How things were when the tests last ran.
    pub fn last_look(&self) -> Option<&Seen> {
        self.tested.as_ref()
    }

    /// What differs from how the subtask began.
    pub fn changes(&self) -> Result<Vec<FileChange>, WorkError> {
        Ok(self.notes.before.until(&Seen::look(&self.site)?))
    }

    fn judge_red(&mut self, attempt: &Attempt) -> Result<Judgement, WorkError> {
        let Stage::Red { passed_at_once, .. } = self.run.stage else {
            return Err(WorkError::NotNow { wanted: "judge tests", stage: self.run.stage.name() });
        };
        let red = match &attempt.disturbed {
            Some(objection) => Red::Refused(vec![objection.clone()]),
            None => judge_red(&self.site.rules, &self.baseline, &attempt.changes, &attempt.tests),
        };
        let judgement = match &red {
            Red::Proven(_) => Judgement::Proven,
            Red::AlreadyGreen => Judgement::AlreadyGreen { settled: passed_at_once },
            Red::Refused(objections) => Judgement::Refused(objections.clone()),
        };
        self.remember(&judgement, &attempt.tests, false);
        self.record(attempt, &judgement, None)?;
        self.step(Event::RedJudged(red))?;
        Ok(judgement)
    }

    fn judge_green(&mut self, attempt: &Attempt) -> Result<(Judgement, Option<String>), WorkError> {
        let Attempt { tests, changes, .. } = attempt;
        let Stage::Green { red, .. } = &self.run.stage else {
            return Err(WorkError::NotNow { wanted: "judge code", stage: self.run.stage.name() });
        };
        let mut judged = match &attempt.disturbed {
            Some(objection) => Err(vec![objection.clone()]),
            None => judge_green(&self.site.rules, &self.baseline, red, changes, tests),
        };
        let measured = if judged.is_ok() { self.measure_subtask(changes)? } else { Measured::default() };
        self.heed_pause()?;
        if let Some(why) = measured.unknown.clone().filter(|_| self.is_measuring_required()) {
            self.notes.last_error = Some(why.clone());
            self.happen(Event::NotMeasured { why: why.clone() })?;
            return Err(WorkError::Paused(Pause::Coverage { why }.to_string()));
        }
        if let Some(objection) = measured.objection {
            judged = Err(vec![objection]);
        }
        let judgement = match &judged {
            Ok(_) => Judgement::Proven,
            Err(objections) => Judgement::Refused(objections.clone()),
        };
        self.remember(&judgement, tests, judged.is_ok());
        if judged.is_ok() {
            self.notes.green = Some(tests.report.clone());
        }
        self.record(attempt, &judgement, measured.coverage.as_ref())?;
        self.step(Event::GreenJudged(judged))?;
        Ok((judgement, measured.unknown))
    }

    fn remember(&mut self, judgement: &Judgement, tests: &TestRun, proven: bool) {
        self.notes.proven = proven;
        let old = |case: &&Case| self.baseline.outcome_of(&case.name) == Some(Outcome::Failed);
        self.notes.failing = tests.report.failed().filter(|case| !old(case)).take(20).cloned().collect();
        self.notes.objections = match judgement {
            Judgement::Refused(objections) => objections.clone(),
            Judgement::Proven | Judgement::AlreadyGreen { .. } => Vec::new(),
        };
        self.notes.last_error = match judgement {
            Judgement::Refused(objections) => last_error(tests, objections),
            Judgement::Proven | Judgement::AlreadyGreen { .. } => None,
        };
    }
}

/// What a phase has written, the kind it was asked for first.
fn written(work: &Work, changes: &[FileChange], phase: Phase) -> Vec<PathBuf> {
    let rules = &work.site.rules;
    let since: Vec<FileChange> = match (&work.run.stage, phase) {
        (Stage::Commit { red, .. }, Phase::Green) => crate::evidence::changes::between(&red.seen, changes),
        _ => changes.to_vec(),
    };
    let kinds = |wanted: Kind| {
        since
            .iter()
            .filter(move |change| rules.kind(&change.path) == wanted)
            .map(|change| change.path.clone())
    };
    let (first, second) = match phase {
        Phase::Red => (Kind::Test, Kind::Production),
        Phase::Green => (Kind::Production, Kind::Manifest),
    };
    let mut files: Vec<PathBuf> = kinds(first).collect();
    if files.is_empty() {
        files = kinds(second).collect();
    }
    files
}
