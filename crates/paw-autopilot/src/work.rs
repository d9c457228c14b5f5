//! The steps of a run: begin, get the next unit of work, complete it, commit, finish. An executor and an agent use
//! the same steps. git paw runs the tests itself.
//!
//! - [`context`]: the project of a run; [`options`]: what the user asked for
//! - [`plan`]: what a run would do and what blocks it; [`begin`](ActiveRun::begin): starts it
//! - [`next`]: the next unit of work; [`complete`](ActiveRun::complete): judges it with git paw's own test run
//! - `targeted`: the tests of a subtask, before the whole suite
//! - [`snapshot`]: changes since a subtask began; [`commit`](ActiveRun::commit): one commit per subtask
//! - [`proof`]: the checkout in which the tests run; [`guard`]: refs, settings and hooks, compared around every turn
//! - [`head`]: HEAD, and whether it moved; [`pause`]: pause requests
//! - [`mod@update_base`]: fast-forwards the base branch before a run
//! - [`finish`]: the whole suite and coverage; [`publish`]: push and pull request; [`resume`](ActiveRun::resume):
//!   continues a paused run

mod allowed;
mod begin;
mod commands;
mod commit;
mod complete;
pub mod context;
mod coverage;
mod error;
mod final_gates;
pub mod finish;
pub mod guard;
pub mod head;
pub mod next;
pub mod notes;
pub mod options;
pub mod pause;
pub mod plan;
pub mod proof;
pub mod publish;
mod record;
mod resume;
pub mod snapshot;
mod targeted;
pub(crate) mod task_files;
pub mod update_base;
mod verify_commit;

use std::time::Duration;

use paw_core::PawError;
use paw_core::paths::{ReportDir, TaskmasterDir};
use paw_host::clock;
use paw_host::files::Lock;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use crate::artifacts::{RunDir, RunManifest, RunStatus};
use crate::engine::{Run, RunAction, RunEvent, RunStage, Spending, StepOutcome};
use crate::runners::TestReport;
use crate::tasks::ItemId;

pub use commit::{CommitRefusal, SubtaskCommit};
pub use complete::{AttemptResult, PhaseJudgement, TddPhase};
pub use context::{ProjectContext, Tester};
pub use coverage::CoverageGate;
pub use error::WorkError;
pub use final_gates::FinalGates;
pub use next::{WorkUnit, next_steps};
pub use notes::RunNotes;
pub use options::{Relaxation, RunOptions};
pub use pause::{PauseRequest, PauseWatch};
pub use plan::{PlanCheck, RunPlan, plan};
use proof::ProofCheckout;
use snapshot::ChangeSnapshot;
pub use update_base::{BaseUpdate, update_base};

/// Whether the user has approved a command that the project's files configure.
pub type ApprovalCheck<'a> = &'a dyn Fn(&TrustSubject) -> Result<bool, PawError>;

/// A run in progress. It holds the run lock, so no other process works on it.
#[derive(Debug)]
pub struct ActiveRun {
    pub context: ProjectContext,
    pub dir: RunDir,
    pub run: Run,
    pub notes: RunNotes,
    /// A request to pause the run.
    pub pause: PauseRequest,
    gate: Option<CoverageGate>,
    tester: Tester,
    /// Where the tests run.
    checkout: ProofCheckout,
    /// The test report from before the current subtask.
    baseline: TestReport,
    /// The worktree when the tests last ran. Later changes are untested.
    tested: Option<ChangeSnapshot>,
    /// The tree that the tests last ran on.
    tested_tree: Option<String>,
    /// The last written manifest.
    written: Option<RunManifest>,
    _lock: Lock,
}

impl ActiveRun {
    /// `baseline` is the test report from before the current subtask.
    fn new(
        context: ProjectContext,
        dir: RunDir,
        (run, notes): (Run, RunNotes),
        (checkout, mut tester): (ProofCheckout, Tester),
        lock: Lock,
        baseline: TestReport,
    ) -> Self {
        tester.set_mark(notes.tests_mark());
        let pause = PauseRequest::of(&context.project);
        Self {
            context,
            dir,
            run,
            notes,
            pause,
            gate: None,
            tester,
            checkout,
            baseline,
            tested: None,
            tested_tree: None,
            written: None,
            _lock: lock,
        }
    }

    pub fn tester(&self) -> &Tester {
        &self.tester
    }

    pub fn baseline(&self) -> &TestReport {
        &self.baseline
    }

    /// The run's directory, relative to the project.
    pub fn report_path(&self) -> String {
        format!("{}/", self.report().path().display())
    }

    /// The pull request body, relative to the project.
    pub fn pull_request_path(&self) -> String {
        self.report().pull_request().display().to_string()
    }

    fn report(&self) -> ReportDir {
        TaskmasterDir::relative().run(self.dir.id.as_str())
    }

    /// Applies an event and writes the checkpoint.
    fn step(&mut self, event: RunEvent) -> Result<RunAction, WorkError> {
        let action = self.run.step(event)?;
        self.save()?;
        if self.run.is_over() {
            ProofCheckout::remove(&self.context);
        }
        Ok(action)
    }

    fn save(&mut self) -> Result<(), WorkError> {
        self.dir.write_checkpoint(&self.run, &self.notes)?;
        let manifest = self.manifest();
        if self.written.as_ref() != Some(&manifest) {
            self.dir.write_manifest(&manifest)?;
            self.written = Some(manifest);
        }
        Ok(())
    }

    /// Applies an event and logs the pause, if it causes one.
    pub fn apply(&mut self, event: RunEvent) -> Result<RunAction, WorkError> {
        let was_paused = matches!(self.run.stage, RunStage::Paused { .. });
        let action = self.step(event)?;
        if !was_paused {
            self.log_pause()?;
        }
        Ok(action)
    }

    /// The time that the run has left, with a second for a clean end. `None` without a limit.
    pub(crate) fn find_time_left(&self) -> Option<Duration> {
        let left = self.run.request.budget.time?.saturating_sub(self.run.spent.time);
        Some(left + Duration::from_secs(1))
    }

    /// Lets tests run no longer than the run has time left.
    pub(crate) fn limit_tests(&mut self) {
        let left = self.find_time_left();
        self.tester.limit_to(left);
    }

    /// Adds time and cost. Only a pause is saved at once; other changes are saved with the next step.
    pub fn spend(&mut self, spent: Spending) -> Result<(), WorkError> {
        self.run.step(RunEvent::Spent(spent))?;
        if matches!(self.run.stage, RunStage::Paused { .. }) {
            self.save()?;
            self.log_pause()?;
        }
        Ok(())
    }

    /// Appends a line to the run's log.
    pub(crate) fn log(&self, phase: &str, fields: Value) -> Result<(), WorkError> {
        Ok(self.dir.log(clock::now(), phase, fields)?)
    }

    /// Logs the pause, if the run is paused.
    fn log_pause(&self) -> Result<(), WorkError> {
        let RunStage::Paused { reason, .. } = &self.run.stage else { return Ok(()) };
        let mut fields = json!({"reason": reason.word(), "nextAction": "manual_review"});
        if let Some(step) = self.run.current() {
            fields["subtask"] = json!(step.id.to_string());
        }
        fields["error"] = json!(reason.to_string());
        self.log("pause", fields)
    }

    pub fn manifest(&self) -> RunManifest {
        let run = &self.run;
        let with = |wanted: fn(&StepOutcome) -> bool| -> Vec<ItemId> {
            run.steps.iter().filter(|step| wanted(&step.outcome)).map(|step| step.id.clone()).collect()
        };
        let (status, over) = match &run.stage {
            RunStage::Done { .. } => (RunStatus::Completed, true),
            RunStage::Aborted => (RunStatus::Aborted, true),
            RunStage::Paused { .. } => (RunStatus::Paused, false),
            _ => (RunStatus::Running, false),
        };
        let failed = match (&run.stage, run.current()) {
            (RunStage::Paused { .. } | RunStage::Aborted, Some(step)) => vec![step.id.clone()],
            _ => Vec::new(),
        };
        RunManifest {
            run_id: self.dir.id.clone(),
            task_id: run.request.task.clone(),
            tag: run.request.tag.clone(),
            branch: run.branch.as_ref().map(ToString::to_string),
            start_time: self.notes.began,
            end_time: over.then(clock::now),
            status,
            subtasks_completed: with(|outcome| *outcome != StepOutcome::Open),
            subtasks_failed: failed,
            total_commits: with(|outcome| matches!(outcome, StepOutcome::Committed { .. })).len(),
            pr_url: match &run.stage {
                RunStage::Done { pull_request } => pull_request.clone(),
                _ => None,
            },
            final_coverage: self.notes.coverage,
            relaxed: self.notes.relaxed.clone(),
        }
    }
}
