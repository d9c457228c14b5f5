//! Starts a run: its directory, the baseline test run, its branch.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use paw_host::clock;
use paw_host::files::Lock;
use serde_json::json;

use super::allowed;
use super::head::current_head;
use super::options::{Relaxation, RunOptions};
use super::proof::ProofCheckout;
use super::snapshot::{ChangeSnapshot, write_gitignores};
use super::{ActiveRun, ApprovalCheck, PauseRequest, ProjectContext, RunNotes, RunPlan, WorkError};
use crate::artifacts::RunDir;
use crate::artifacts::log::counts;
use crate::artifacts::run_dir::find_latest;
use crate::engine::{Run, RunEvent, RunRequest, RunStage};
use crate::runners::failure_text::what_failed;
use crate::runners::{TestOutcome, TestReport, TestRun, TestVerdict};
use crate::tasks::{ItemId, TaskStatus};

impl ActiveRun {
    /// Starts the planned run. Problems the plan found are errors; problems found by the test run pause the run.
    pub fn begin(
        mut context: ProjectContext,
        plan: &RunPlan,
        options: RunOptions,
        approves: ApprovalCheck<'_>,
    ) -> Result<Self, WorkError> {
        let problems = plan.problems();
        if !problems.is_empty() {
            return Err(WorkError::NotReady(problems));
        }
        let lock = take_lock(&context)?;
        give_up_unfinished(&context, &options)?;
        PauseRequest::of(&context.project).forget();
        let run = Run::new(order(plan, &options, &context), steps(plan))?;
        let foreign_changes: Vec<String> = ChangeSnapshot::take(&context)?
            .foreign_changes()
            .iter()
            .map(|path| context.shown(path))
            .collect();
        let checkout = ProofCheckout::create(&context)?;
        let tester = context
            .tester(&checkout, options.runner.as_deref(), approves)
            .inspect_err(|_| ProofCheckout::remove(&context))?;
        context.rules = std::mem::take(&mut context.rules).with_line(tester.line());
        let began = clock::now();
        let dir = RunDir::create(&context.project, began)?;
        write_gitignores(&context)?;
        let notes = RunNotes {
            began,
            mark: mark(&context, dir.id.as_str()),
            base: current_head(&context.git)?.1,
            relaxed: allowed::of_options(&context, &options, &foreign_changes),
            dirty: !foreign_changes.is_empty(),
            seed: checkout.seed().clone(),
            options,
            ..RunNotes::default()
        };
        let mut work = Self::new(context, dir, (run, notes), (checkout, tester), lock, TestReport::default());
        work.save()?;
        work.preflight()?;
        if work.run.stage == RunStage::Branch {
            work.make_branch(plan)?;
        }
        Ok(work)
    }

    /// Runs the suite before any change. A suite that hangs or does not build cannot prove anything later.
    pub(super) fn preflight(&mut self) -> Result<(), WorkError> {
        let head = self.context.git.tree_of("HEAD")?;
        let run = self.test_tree(&head, super::Tester::run)?;
        let details = json!({"testCmd": self.tester.name(), "gitClean": !self.notes.dirty});
        match unusable(&run, self.tester.limit().as_secs()) {
            None => {
                self.set_baseline(run.report.clone())?;
                self.log(
                    "preflight",
                    json!({"status": "ok", "details": details, "tests": counts(&run.report), "duration": millis(run.duration)}),
                )?;
                self.step(RunEvent::PreflightPassed)?;
            }
            Some(problem) => {
                self.notes.last_error = Some(problem.clone());
                self.log("preflight", json!({"status": "error", "details": details, "error": problem}))?;
                self.apply(RunEvent::PreflightFailed { problems: vec![problem] })?;
            }
        }
        Ok(())
    }

    pub(super) fn make_branch(&mut self, plan: &RunPlan) -> Result<(), WorkError> {
        let made = if plan.on_branch_already {
            Ok(())
        } else {
            // A branch name cannot start with a dash, so it is never read as an option.
            self.context.git.run(["switch", "--quiet", "--create", plan.branch.as_str()]).map(|_| ())
        };
        let event = match made {
            Ok(()) => {
                self.context.remember_tag(&plan.tag, plan.branch.as_str())?;
                self.log("branch", json!({"status": "ok", "branch": plan.branch.as_str()}))?;
                RunEvent::BranchMade { branch: plan.branch.clone(), head: current_head(&self.context.git)?.1 }
            }
            Err(error) => {
                self.log("branch", json!({"status": "error", "error": error.to_string()}))?;
                RunEvent::BranchRefused { why: error.to_string() }
            }
        };
        self.apply(event)?;
        self.begin_step()
    }

    /// Marks the current subtask as in progress and takes a snapshot.
    pub(super) fn begin_step(&mut self) -> Result<(), WorkError> {
        if let RunStage::Red { step, .. } = self.run.stage {
            let item = self.run.steps[step].id.clone();
            self.set_status(&item, &TaskStatus::InProgress)?;
            self.notes.before = ChangeSnapshot::take(&self.context)?;
            self.tested = Some(self.notes.before.clone());
            self.tested_tree = None;
            self.take_guard()?;
            self.notes.objections.clear();
            self.notes.failing.clear();
            self.notes.proven = false;
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn set_status(&self, item: &ItemId, status: &TaskStatus) -> Result<(), WorkError> {
        self.context.project.set_status(&self.run.request.tag, item, status)?;
        Ok(())
    }

    pub(super) fn set_baseline(&mut self, report: TestReport) -> Result<(), WorkError> {
        self.dir.write_baseline(&report)?;
        self.baseline = report;
        Ok(())
    }

    /// Tests that failed before the run.
    pub fn failing_before(&self) -> usize {
        self.baseline.count(TestOutcome::Failed)
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn unusable(run: &TestRun, limit: u64) -> Option<String> {
    let first = |text: &str| what_failed(text).unwrap_or_default();
    match run.verdict {
        TestVerdict::Passed | TestVerdict::Failures | TestVerdict::NoneRan => None,
        TestVerdict::TimedOut => Some(format!(
            "the tests take longer than {limit}s without any change (autopilot.testTimeout in .taskmaster/config.json, in milliseconds)"
        )),
        TestVerdict::BuildFailure => {
            let message = run.report.broken.first().map(|broken| first(&broken.message)).unwrap_or_default();
            Some(format!("the tests do not build without any change: {message}"))
        }
        TestVerdict::Crashed => Some(format!("'{}' {}: {}", run.command, run.exit, first(&run.output))),
    }
}

pub(super) fn take_lock(context: &ProjectContext) -> Result<Lock, WorkError> {
    let taken = Lock::try_take(&context.project.files().run_lock())?;
    write_gitignores(context)?;
    taken.ok_or_else(|| WorkError::Busy(context.project.root.clone()))
}

fn give_up_unfinished(context: &ProjectContext, options: &RunOptions) -> Result<(), WorkError> {
    let Some(dir) = find_latest(&context.project) else { return Ok(()) };
    let Some(mut stored) = dir.load_checkpoint()? else { return Ok(()) };
    if stored.run.is_over() {
        return Ok(());
    }
    // A run without a branch has nothing to lose.
    if !options.relaxes(Relaxation::Run) && stored.run.branch.is_some() {
        return Err(WorkError::Unfinished { run: dir.id, task: stored.run.request.task });
    }
    stored.notes.kill_leftovers();
    stored.run.step(RunEvent::Abort)?;
    dir.write_checkpoint(&stored.run, &stored.notes)?;
    Ok(dir.log(clock::now(), "abort", json!({"status": "ok", "reason": "another run was started"}))?)
}

fn steps(plan: &RunPlan) -> Vec<(ItemId, String)> {
    plan.subtasks.iter().map(|step| (step.id.clone(), step.title.clone())).collect()
}

fn order(plan: &RunPlan, options: &RunOptions, context: &ProjectContext) -> RunRequest {
    RunRequest {
        task: plan.task_id.clone(),
        tag: plan.tag.clone(),
        title: plan.title.clone(),
        default_branch: plan.default_branch.clone(),
        max_attempts: options.max_attempts.unwrap_or(context.settings.max_attempts),
        budget: options.budget,
        push: options.push,
        pull_request: options.pull_request && context.settings.pull_request.enabled,
    }
}

/// A mark that is unique on this machine.
fn mark(context: &ProjectContext, run: &str) -> String {
    let mut hasher = DefaultHasher::new();
    context.top.hash(&mut hasher);
    format!("autopilot-{run}-{:016x}", hasher.finish())
}
