//! Continues a run after a pause, after a crash, or from another process.

use serde_json::json;

use super::begin::take_lock;
use super::commit::PendingCommit;
use super::finish::FinalCommands;
use super::head::current_head;
use super::options::{Relaxation, RunOptions};
use super::plan::plan;
use super::proof::ProofCheckout;
use super::snapshot::ChangeSnapshot;
use super::{ActiveRun, ApprovalCheck, ProjectContext, WorkError};
use crate::artifacts::run_dir::find_latest;
use crate::engine::resume::{ResumeContext, resume};
use crate::engine::{PauseReason, Run, RunEvent, RunStage};
use crate::evidence::runner_files::needs_permission;
use crate::message::{SUBTASK_TRAILER, finished_subtask};
use crate::tasks::{ItemId, TaskStatus};

impl ActiveRun {
    /// Loads the current run.
    pub fn load(context: ProjectContext, approves: ApprovalCheck<'_>) -> Result<Self, WorkError> {
        Self::load_run(context, approves, false)
    }

    /// `renewed`: with the dependencies as they are now.
    fn load_run(
        mut context: ProjectContext,
        approves: ApprovalCheck<'_>,
        renewed: bool,
    ) -> Result<Self, WorkError> {
        let dir = find_latest(&context.project).ok_or(WorkError::NoRun)?;
        let lock = take_lock(&context)?;
        let mut stored = dir.load_checkpoint()?.ok_or(WorkError::NoRun)?;
        if stored.run.is_over() {
            return Err(WorkError::NoRun);
        }
        let checkout = if renewed {
            ProofCheckout::create(&context)?
        } else {
            ProofCheckout::open(&context, stored.notes.seed.clone())?
        };
        let tester = context.tester(&checkout, stored.notes.options.runner.as_deref(), approves)?;
        let allowed = stored.notes.allowed.clone();
        context.rules = std::mem::take(&mut context.rules).with_line(tester.line()).with_allowed(allowed);
        stored.notes.seed = checkout.seed().clone();
        let baseline = dir.load_baseline()?.unwrap_or_default();
        Ok(Self::new(context, dir, (stored.run, stored.notes), (checkout, tester), lock, baseline))
    }

    /// Resumes a run: kills leftover processes, checks that branch, HEAD and task are unchanged, and continues.
    /// Attempts start again, and files written meanwhile are tested first.
    pub fn resume(
        context: ProjectContext,
        approves: ApprovalCheck<'_>,
        relax: &[Relaxation],
    ) -> Result<Self, WorkError> {
        let allow = relax.contains(&Relaxation::Protected);
        let mut work = Self::load_run(context, approves, allow)?;
        let is_protected =
            matches!(&work.run.stage, RunStage::Paused { reason: PauseReason::Protected { .. }, .. });
        if is_protected
            && !allow
            && let Some(what) = work.find_protected_change()?
        {
            return Err(WorkError::StillChanged(what));
        }
        work.relax(relax)?;
        work.pause.forget();
        work.notes.kill_leftovers();
        let found = work.found()?;
        let known =
            work.run.steps.iter().filter(|step| step.outcome != crate::engine::StepOutcome::Open).count();
        let run = resume(&work.run, &found)?;
        let taken =
            run.steps.iter().filter(|step| step.outcome != crate::engine::StepOutcome::Open).count() > known;
        work.run = run;
        work.notes.proven = false;
        work.notes.committing = None;
        work.log("resume", json!({"status": "ok", "at": work.run.stage.name()}))?;
        if taken {
            work.recover_commit(&found.head)?;
        } else {
            work.accept_task_edits()?;
        }
        work.skip_tests_of_nothing()?;
        work.take_guard()?;
        work.save()?;
        if work.run.stage == RunStage::Preflight {
            work.preflight()?;
        }
        if work.run.stage == RunStage::Branch {
            let mut options = work.notes.options.clone();
            options.task = Some(work.run.request.task.to_string());
            options.tag = Some(work.run.request.tag.to_string());
            let plan = plan(&work.context, &options, &[], &FinalCommands::default())?;
            let problems = plan.problems();
            if !problems.is_empty() {
                return Err(WorkError::NotReady(problems));
            }
            work.make_branch(&plan)?;
        }
        Ok(work)
    }

    /// Testing first is for files that were written meanwhile. Without any, the next step is to write them.
    fn skip_tests_of_nothing(&mut self) -> Result<(), WorkError> {
        let changes = self.changes()?;
        match &mut self.run.stage {
            RunStage::Red { attempt: attempt @ 0, .. } if changes.is_empty() => *attempt = 1,
            RunStage::Green { attempt: attempt @ 0, red, .. } if changes == red.changes => *attempt = 1,
            _ => {}
        }
        Ok(())
    }

    /// The options of the current run.
    pub fn load_options(context: &ProjectContext) -> Result<RunOptions, WorkError> {
        let dir = find_latest(&context.project).ok_or(WorkError::NoRun)?;
        let stored = dir.load_checkpoint()?.filter(|stored| !stored.run.is_over());
        stored.map(|stored| stored.notes.options).ok_or(WorkError::NoRun)
    }

    /// Adds relaxations and records them in the report.
    fn relax(&mut self, more: &[Relaxation]) -> Result<(), WorkError> {
        for what in more {
            if *what == Relaxation::Protected {
                let names = self.allow_protected()?;
                self.notes.relaxed.push(format!("protected files were allowed on resume: {names}"));
                continue;
            }
            if !self.notes.options.relaxes(*what) {
                self.notes.options.relax.push(*what);
                self.notes.relaxed.push(format!("--force={what} was given on resume"));
            }
        }
        Ok(())
    }

    /// Allows protected files with the content they have now, and returns their names.
    fn allow_protected(&mut self) -> Result<String, WorkError> {
        let mut names = Vec::new();
        for change in self.changes()?.iter().filter(|change| needs_permission(&self.context.rules, change)) {
            self.notes.allowed.insert(change.path.clone(), change.digest());
            names.push(self.context.shown(&change.path));
        }
        self.context.rules = std::mem::take(&mut self.context.rules).with_allowed(self.notes.allowed.clone());
        Ok(if names.is_empty() { "git settings and dependencies".into() } else { names.join(", ") })
    }

    /// Skips a push or pull request that the user no longer wants.
    pub fn skip_unwanted_publishing(&mut self) -> Result<(), WorkError> {
        let unwanted = match self.run.stage {
            RunStage::Push => !self.run.request.push,
            RunStage::PullRequest => !self.run.request.pull_request,
            _ => false,
        };
        if unwanted {
            self.apply(RunEvent::NoPullRequest)?;
        }
        self.save()
    }

    /// Aborts the run. Branch, commits and files stay.
    pub fn abort(&mut self) -> Result<(), WorkError> {
        self.notes.kill_leftovers();
        self.step(RunEvent::Abort)?;
        self.log("abort", json!({"status": "ok"}))
    }

    fn found(&self) -> Result<ResumeContext, WorkError> {
        let (branch, commit) = current_head(&self.context.git)?;
        let parent = self.context.git.find_object("HEAD^", "commit")?;
        let format = format!("--format=%(trailers:key={SUBTASK_TRAILER},valueonly)");
        let trailer = self.context.git.line(["log", "-1", &format])?;
        let is_proven = match &self.notes.committing {
            Some(pending) if self.notes.proven && parent.is_some() => {
                PendingCommit::of_last_commit(&self.context.git)? == *pending
            }
            _ => false,
        };
        let file = self.context.project.load_tasks()?;
        let task = file.tag(&self.run.request.tag).and_then(|tag| tag.find_task(&self.run.request.task));
        Ok(ResumeContext {
            branch,
            head: commit,
            parent,
            finished: finished_subtask(trailer.trim()).filter(|_| is_proven),
            subtasks: task
                .map(|task| task.subtasks.iter().map(crate::tasks::Subtask::item).collect())
                .unwrap_or_default(),
        })
    }

    /// The commit was made just before the crash, so that it is not in the checkpoint.
    fn recover_commit(&mut self, sha: &str) -> Result<(), WorkError> {
        self.dir.add_commit(sha)?;
        let short: String = sha.chars().take(7).collect();
        self.log("commit", json!({"status": "ok", "sha": short, "note": "found after an interruption"}))?;
        if let Some(green) = self.notes.green.take() {
            self.set_baseline(green)?;
        }
        self.begin_step()
    }

    /// Accepts edits of tasks.json made meanwhile and marks the current subtask as in progress.
    fn accept_task_edits(&mut self) -> Result<(), WorkError> {
        if let Some(item) = current(&self.run) {
            self.set_status(&item, &TaskStatus::InProgress)?;
        }
        let (before, now) = (std::mem::take(&mut self.notes.before), ChangeSnapshot::take(&self.context)?);
        // If the run was interrupted right after a commit, the current subtask has not begun.
        self.notes.before = if before.commit() == now.commit() { before.with_own_files_of(now) } else { now };
        Ok(())
    }
}

fn current(run: &Run) -> Option<ItemId> {
    run.current().map(|step| step.id.clone())
}
