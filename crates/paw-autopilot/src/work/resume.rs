//! Going on with a run: after a pause, after a crash, or just from another process.

use serde_json::json;

use super::begin::take_lock;
use super::commit::Pending;
use super::head::head;
use super::plan::plan;
use super::seen::Seen;
use super::wishes::{Relaxation, Wishes};
use super::{Approves, Site, Work, WorkError};
use crate::artifacts::run_dir::find_latest;
use crate::engine::resume::{Found, resume};
use crate::engine::{Event, Run, Stage};
use crate::message::{SUBTASK_TRAILER, finished_subtask};
use crate::tasks::{ItemId, Status};

impl Work {
    /// The run that is under way here, as it stands.
    pub fn load(mut site: Site, approves: Approves<'_>) -> Result<Self, WorkError> {
        let dir = find_latest(&site.project).ok_or(WorkError::NoRun)?;
        let lock = take_lock(&site)?;
        let stored = dir.load_checkpoint()?.ok_or(WorkError::NoRun)?;
        if stored.run.is_over() {
            return Err(WorkError::NoRun);
        }
        let tester = site.tester(stored.notes.wishes.runner.as_deref(), approves)?;
        site.rules = std::mem::take(&mut site.rules).with_line(tester.line());
        let baseline = dir.load_baseline()?.unwrap_or_default();
        Ok(Self::new(site, dir, (stored.run, stored.notes), tester, lock, baseline))
    }

    /// Takes up a run that was paused or killed: ends what is left of it, checks that branch, HEAD and task are
    /// still what they were, and goes on. Attempts count afresh, and the tests come first.
    pub fn resume(site: Site, approves: Approves<'_>) -> Result<Self, WorkError> {
        let mut work = Self::load(site, approves)?;
        work.pause.forget();
        work.notes.end_what_is_left();
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
            work.after_lost_checkpoint(&found.head)?;
        } else {
            work.accept_own_edits()?;
        }
        work.save()?;
        if work.run.stage == Stage::Preflight {
            work.preflight()?;
        }
        if work.run.stage == Stage::Branch {
            let mut wishes = work.notes.wishes.clone();
            wishes.task = Some(work.run.order.task.to_string());
            wishes.tag = Some(work.run.order.tag.to_string());
            let plan = plan(&work.site, &wishes, &[])?;
            let problems = plan.problems();
            if !problems.is_empty() {
                return Err(WorkError::NotReady(problems));
            }
            work.make_branch(&plan)?;
        }
        Ok(work)
    }

    /// What the run that is under way here was asked to be.
    pub fn stored_wishes(site: &Site) -> Result<Wishes, WorkError> {
        let dir = find_latest(&site.project).ok_or(WorkError::NoRun)?;
        let stored = dir.load_checkpoint()?.filter(|stored| !stored.run.is_over());
        stored.map(|stored| stored.notes.wishes).ok_or(WorkError::NoRun)
    }

    /// Lets more pass than the run began with, and says so in its report.
    pub fn relax(&mut self, more: &[Relaxation]) {
        for what in more {
            if !self.notes.wishes.relaxes(*what) {
                self.notes.wishes.relax.push(*what);
                self.notes.relaxed.push(format!("--force={what} was given when it was resumed"));
            }
        }
    }

    /// A push or a pull request that is not wanted any more is passed over.
    pub fn skip_what_is_not_wanted(&mut self) -> Result<(), WorkError> {
        let unwanted = match self.run.stage {
            Stage::Push => !self.run.order.push,
            Stage::PullRequest => !self.run.order.pull_request,
            _ => false,
        };
        if unwanted {
            self.happen(Event::NoPullRequest)?;
        }
        self.save()
    }

    /// Gives the run up. Branch, commits and files stay.
    pub fn abort(&mut self) -> Result<(), WorkError> {
        self.notes.end_what_is_left();
        self.step(Event::Abort)?;
        self.log("abort", json!({"status": "ok"}))
    }

    fn found(&self) -> Result<Found, WorkError> {
        let (branch, commit) = head(&self.site.git)?;
        let parent = self.site.git.find_object("HEAD^", "commit")?;
        let format = format!("--format=%(trailers:key={SUBTASK_TRAILER},valueonly)");
        let trailer = self.site.git.line(["log", "-1", &format])?;
        let is_proven = match &self.notes.committing {
            Some(pending) if self.notes.proven && parent.is_some() => {
                Pending::of_last_commit(&self.site.git)? == *pending
            }
            _ => false,
        };
        let file = self.site.project.load_tasks()?;
        let task = file.tag(&self.run.order.tag).and_then(|tag| tag.find_task(&self.run.order.task));
        Ok(Found {
            branch,
            head: commit,
            parent,
            finished: finished_subtask(trailer.trim()).filter(|_| is_proven),
            subtasks: task
                .map(|task| task.subtasks.iter().map(crate::tasks::Subtask::item).collect())
                .unwrap_or_default(),
        })
    }

    /// The commit was made and nobody wrote it down.
    fn after_lost_checkpoint(&mut self, sha: &str) -> Result<(), WorkError> {
        self.dir.add_commit(sha)?;
        let short: String = sha.chars().take(7).collect();
        self.log("commit", json!({"status": "ok", "sha": short, "note": "found after an interruption"}))?;
        if let Some(green) = self.notes.green.take() {
            self.set_baseline(green)?;
        }
        self.begin_step()
    }

    /// Whatever was done to the list of tasks meanwhile is accepted; the subtask at hand is being worked on.
    fn accept_own_edits(&mut self) -> Result<(), WorkError> {
        if let Some(item) = current(&self.run) {
            self.set_status(&item, &Status::InProgress)?;
        }
        let (before, now) = (std::mem::take(&mut self.notes.before), Seen::look(&self.site)?);
        // Interrupted right after a commit: the subtask at hand has not begun.
        self.notes.before = if before.commit() == now.commit() { before.with_ours_of(now) } else { now };
        Ok(())
    }
}

fn current(run: &Run) -> Option<ItemId> {
    run.current().map(|step| step.id.clone())
}
