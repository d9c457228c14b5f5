//! A run step by step: begin, ask for the next thing to do, complete it, commit, finish. The steps are the same for an
//! executor we drive and for an agent that asks, and the tests are run here.
//!
//! - [`site`]: the project a run works in; [`wishes`]: what a run was asked to be
//! - [`plan`]: what a run would do and what is in its way; [`begin`](Work::begin): doing the first of it
//! - [`unit`]: the next thing to do; [`complete`](Work::complete): what became of it, by our own tests
//! - [`seen`]: what differs from how a subtask began; [`commit`](Work::commit): one commit for one subtask
//! - [`head`]: where HEAD is, and whether the run left it there; [`pause`]: a request to pause
//! - [`mod@update_base`]: the base branch brought up to its remote, before a run
//! - [`finish`]: the whole suite, coverage, push and pull request; [`resume`](Work::resume): going on after a pause

mod begin;
mod commands;
mod commit;
mod complete;
mod error;
pub mod finish;
pub mod head;
mod measure;
pub mod notes;
pub mod pause;
pub mod plan;
pub mod publish;
mod record;
mod resume;
pub mod seen;
pub mod site;
pub(crate) mod task_files;
pub mod unit;
pub mod update_base;
pub mod wishes;

use paw_core::PawError;
use paw_core::paths::{ReportDir, TaskmasterDir};
use paw_host::clock;
use paw_host::files::Lock;
use paw_host::trust::TrustSubject;
use serde_json::{Value, json};

use crate::artifacts::{Manifest, RunDir, RunStatus};
use crate::engine::{Action, Event, Run, Spent, Stage, StepOutcome};
use crate::runners::Report;
use crate::tasks::ItemId;

pub use commit::{Committed, NoCommit};
pub use complete::{Judged, Judgement, Phase};
pub use error::WorkError;
pub use measure::Measuring;
pub use notes::Notes;
pub use pause::{PauseWatch, PauseWish};
pub use plan::{Check, Plan, plan};
use seen::Seen;
pub use site::{Site, Tester};
pub use unit::{Unit, next_steps};
pub use update_base::{Updated, update_base};
pub use wishes::{Relaxation, Wishes};

/// Whether the user has approved what a project's own files would have us run.
pub type Approves<'a> = &'a dyn Fn(&TrustSubject) -> Result<bool, PawError>;

/// A run that is under way, and held: nobody else works on it while this is there.
#[derive(Debug)]
pub struct Work {
    pub site: Site,
    pub dir: RunDir,
    pub run: Run,
    pub notes: Notes,
    /// Somebody may want it to stand still.
    pub pause: PauseWish,
    measuring: Option<Measuring>,
    tester: Tester,
    /// The suite as the subtask at hand began.
    baseline: Report,
    /// How things were when the tests last ran. What changed since is not what they have seen.
    tested: Option<Seen>,
    /// The manifest as it was last written.
    written: Option<Manifest>,
    _lock: Lock,
}

impl Work {
    /// A run in `dir` and what it needs. The baseline is the suite as the subtask at hand began.
    fn new(
        site: Site,
        dir: RunDir,
        (run, notes): (Run, Notes),
        mut tester: Tester,
        lock: Lock,
        baseline: Report,
    ) -> Self {
        tester.set_mark(notes.tests_mark());
        let pause = PauseWish::of(&site.project);
        Self {
            site,
            dir,
            run,
            notes,
            pause,
            measuring: None,
            tester,
            baseline,
            tested: None,
            written: None,
            _lock: lock,
        }
    }

    pub fn tester(&self) -> &Tester {
        &self.tester
    }

    pub fn baseline(&self) -> &Report {
        &self.baseline
    }

    /// Where the run's files are, as a person would type it from the project.
    pub fn report_path(&self) -> String {
        format!("{}/", self.report().path().display())
    }

    /// The text of its pull request, likewise.
    pub fn pull_request_path(&self) -> String {
        self.report().pull_request().display().to_string()
    }

    fn report(&self) -> ReportDir {
        TaskmasterDir::relative().run(self.dir.id.as_str())
    }

    /// One transition, and the checkpoint after it.
    fn step(&mut self, event: Event) -> Result<Action, WorkError> {
        let action = self.run.step(event)?;
        self.save()?;
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

    /// An event from outside: an executor that failed, a wish to pause.
    pub fn happen(&mut self, event: Event) -> Result<Action, WorkError> {
        let was_paused = matches!(self.run.stage, Stage::Paused { .. });
        let action = self.step(event)?;
        if !was_paused {
            self.log_pause()?;
        }
        Ok(action)
    }

    /// Time and money spent. What follows right after is written down anyway; only a pause is not put off.
    pub fn spend(&mut self, spent: Spent) -> Result<(), WorkError> {
        self.run.step(Event::Spent(spent))?;
        if matches!(self.run.stage, Stage::Paused { .. }) {
            self.save()?;
            self.log_pause()?;
        }
        Ok(())
    }

    /// A line in the run's log.
    pub(crate) fn log(&self, phase: &str, fields: Value) -> Result<(), WorkError> {
        Ok(self.dir.log(clock::now(), phase, fields)?)
    }

    /// A line about the pause, where there is one now.
    fn log_pause(&self) -> Result<(), WorkError> {
        let Stage::Paused { reason, .. } = &self.run.stage else { return Ok(()) };
        let mut fields = json!({"reason": reason.word(), "nextAction": "manual_review"});
        if let Some(step) = self.run.current() {
            fields["subtask"] = json!(step.id.to_string());
        }
        fields["error"] = json!(reason.to_string());
        self.log("pause", fields)
    }

    pub fn manifest(&self) -> Manifest {
        let run = &self.run;
        let with = |wanted: fn(&StepOutcome) -> bool| -> Vec<ItemId> {
            run.steps.iter().filter(|step| wanted(&step.outcome)).map(|step| step.id.clone()).collect()
        };
        let (status, over) = match &run.stage {
            Stage::Done { .. } => (RunStatus::Completed, true),
            Stage::Aborted => (RunStatus::Aborted, true),
            Stage::Paused { .. } => (RunStatus::Paused, false),
            _ => (RunStatus::Running, false),
        };
        let failed = match (&run.stage, run.current()) {
            (Stage::Paused { .. } | Stage::Aborted, Some(step)) => vec![step.id.clone()],
            _ => Vec::new(),
        };
        Manifest {
            run_id: self.dir.id.clone(),
            task_id: run.order.task.clone(),
            tag: run.order.tag.clone(),
            branch: run.branch.as_ref().map(ToString::to_string),
            start_time: self.notes.began,
            end_time: over.then(clock::now),
            status,
            subtasks_completed: with(|outcome| *outcome != StepOutcome::Open),
            subtasks_failed: failed,
            total_commits: with(|outcome| matches!(outcome, StepOutcome::Committed { .. })).len(),
            pr_url: match &run.stage {
                Stage::Done { pull_request } => pull_request.clone(),
                _ => None,
            },
            final_coverage: self.notes.coverage,
            relaxed: self.notes.relaxed.clone(),
        }
    }
}
