//! The beginning of a run: its directory, the suite as it is, its branch.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use paw_host::clock;
use paw_host::files::Lock;
use serde_json::json;

use super::head::head;
use super::seen::{Seen, keep_out_of_git};
use super::wishes::{Relaxation, Wishes};
use super::{Approves, Notes, PauseWish, Plan, Site, Work, WorkError};
use crate::artifacts::RunDir;
use crate::artifacts::log::counts;
use crate::artifacts::run_dir::find_latest;
use crate::engine::{Event, Order, Run, Stage};
use crate::runners::{Outcome, Report, TestRun, Verdict};
use crate::tasks::{ItemId, Status};

impl Work {
    /// Begins what was planned. Whatever stands in its way was named by the plan; what only shows when the tests are run
    /// pauses the run.
    pub fn begin(
        mut site: Site,
        plan: &Plan,
        wishes: Wishes,
        approves: Approves<'_>,
    ) -> Result<Self, WorkError> {
        let problems = plan.problems();
        if !problems.is_empty() {
            return Err(WorkError::NotReady(problems));
        }
        let tester = site.tester(wishes.runner.as_deref(), approves)?;
        site.rules = std::mem::take(&mut site.rules).with_line(tester.line());
        let lock = take_lock(&site)?;
        give_up_unfinished(&site, &wishes)?;
        PauseWish::of(&site.project).forget();
        let run = Run::new(order(plan, &wishes, &site), steps(plan))?;
        let began = clock::now();
        let dir = RunDir::create(&site.project, began)?;
        keep_out_of_git(&site)?;
        let notes = Notes {
            began,
            mark: mark(&site, dir.id.as_str()),
            base: head(&site.git)?.1,
            relaxed: relaxed(&site, &wishes)?,
            wishes,
            ..Notes::default()
        };
        let mut work = Self::new(site, dir, (run, notes), tester, lock, Report::default());
        work.save()?;
        work.preflight()?;
        if work.run.stage == Stage::Branch {
            work.make_branch(plan)?;
        }
        Ok(work)
    }

    /// The suite before anybody has changed anything. One that hangs or does not build can prove nothing later.
    pub(super) fn preflight(&mut self) -> Result<(), WorkError> {
        let run = self.tester.run()?;
        let details = json!({"testCmd": self.tester.name(), "gitClean": self.notes.relaxed.is_empty()});
        match unusable(&run, self.tester.limit().as_secs()) {
            None => {
                self.set_baseline(run.report.clone())?;
                self.log(
                    "preflight",
                    json!({"status": "ok", "details": details, "tests": counts(&run.report), "duration": millis(run.duration)}),
                )?;
                self.step(Event::PreflightPassed)?;
            }
            Some(problem) => {
                self.notes.last_error = Some(problem.clone());
                self.log("preflight", json!({"status": "error", "details": details, "error": problem}))?;
                self.happen(Event::PreflightFailed { problems: vec![problem] })?;
            }
        }
        Ok(())
    }

    pub(super) fn make_branch(&mut self, plan: &Plan) -> Result<(), WorkError> {
        let made = if plan.on_branch_already {
            Ok(())
        } else {
            // A name that begins with a dash is no branch name, so it cannot be an option.
            self.site.git.run(["switch", "--quiet", "--create", plan.branch.as_str()]).map(|_| ())
        };
        let event = match made {
            Ok(()) => {
                self.site.remember_tag(&plan.tag, plan.branch.as_str())?;
                self.log("branch", json!({"status": "ok", "branch": plan.branch.as_str()}))?;
                Event::BranchMade { branch: plan.branch.clone(), head: head(&self.site.git)?.1 }
            }
            Err(error) => {
                self.log("branch", json!({"status": "error", "error": error.to_string()}))?;
                Event::BranchRefused { why: error.to_string() }
            }
        };
        self.happen(event)?;
        self.begin_step()
    }

    /// Says in the list of tasks what is being worked on, and remembers how things are.
    pub(super) fn begin_step(&mut self) -> Result<(), WorkError> {
        if let Stage::Red { step, .. } = self.run.stage {
            let item = self.run.steps[step].id.clone();
            self.set_status(&item, &Status::InProgress)?;
            self.notes.before = Seen::look(&self.site)?;
            self.tested = Some(self.notes.before.clone());
            self.notes.objections.clear();
            self.notes.failing.clear();
            self.notes.proven = false;
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn set_status(&self, item: &ItemId, status: &Status) -> Result<(), WorkError> {
        self.site.project.set_status(&self.run.order.tag, item, status)?;
        Ok(())
    }

    pub(super) fn set_baseline(&mut self, report: Report) -> Result<(), WorkError> {
        self.dir.write_baseline(&report)?;
        self.baseline = report;
        Ok(())
    }

    /// Tests that fail before anything was changed: they prove nothing, and are nobody's fault now.
    pub fn failing_before(&self) -> usize {
        self.baseline.count(Outcome::Failed)
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn unusable(run: &TestRun, limit: u64) -> Option<String> {
    let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    match run.verdict {
        Verdict::Passed | Verdict::Failures | Verdict::NoneRan => None,
        Verdict::TimedOut => Some(format!(
            "the tests take longer than {limit}s as they are (autopilot.testTimeout in .taskmaster/config.json, in milliseconds)"
        )),
        Verdict::BuildFailure => {
            let message = run.report.broken.first().map(|broken| first(&broken.message)).unwrap_or_default();
            Some(format!("the tests do not build as they are: {message}"))
        }
        Verdict::Crashed => Some(format!("'{}' {}: {}", run.command, run.exit, first(&run.output))),
    }
}

pub(super) fn take_lock(site: &Site) -> Result<Lock, WorkError> {
    let taken = Lock::try_take(&site.project.files().run_lock())?;
    keep_out_of_git(site)?;
    taken.ok_or_else(|| WorkError::Busy(site.project.root.clone()))
}

fn give_up_unfinished(site: &Site, wishes: &Wishes) -> Result<(), WorkError> {
    let Some(dir) = find_latest(&site.project) else { return Ok(()) };
    let Some(mut stored) = dir.load_checkpoint()? else { return Ok(()) };
    if stored.run.is_over() {
        return Ok(());
    }
    // One that never made its branch has nothing to lose.
    if !wishes.relaxes(Relaxation::Run) && stored.run.branch.is_some() {
        return Err(WorkError::Unfinished { run: dir.id, task: stored.run.order.task });
    }
    stored.notes.end_what_is_left();
    stored.run.step(Event::Abort)?;
    dir.write_checkpoint(&stored.run, &stored.notes)?;
    Ok(dir.log(clock::now(), "abort", json!({"status": "ok", "reason": "another run was begun"}))?)
}

fn relaxed(site: &Site, wishes: &Wishes) -> Result<Vec<String>, WorkError> {
    let mut relaxed = Vec::new();
    let foreign: Vec<String> = Seen::look(site)?.foreign().iter().map(|path| site.shown(path)).collect();
    if !foreign.is_empty() {
        relaxed.push(format!("it began beside uncommitted changes: {}", foreign.join(", ")));
    }
    if wishes.relaxes(Relaxation::Coverage) {
        relaxed.push("coverage below its thresholds was let pass".into());
    }
    Ok(relaxed)
}

fn steps(plan: &Plan) -> Vec<(ItemId, String)> {
    plan.subtasks.iter().map(|step| (step.id.clone(), step.title.clone())).collect()
}

fn order(plan: &Plan, wishes: &Wishes, site: &Site) -> Order {
    Order {
        task: plan.task_id.clone(),
        tag: plan.tag.clone(),
        title: plan.title.clone(),
        default_branch: plan.default_branch.clone(),
        max_attempts: wishes.max_attempts.unwrap_or(site.settings.max_attempts),
        budget: wishes.budget,
        push: wishes.push,
        pull_request: wishes.pull_request && site.settings.pull_request.enabled,
    }
}

/// Nobody else's, on this machine.
fn mark(site: &Site, run: &str) -> String {
    let mut hasher = DefaultHasher::new();
    site.top.hash(&mut hasher);
    format!("autopilot-{run}-{:016x}", hasher.finish())
}
