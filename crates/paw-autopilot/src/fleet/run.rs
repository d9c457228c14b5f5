//! Starts the tasks in the order of the schedule and waits for them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use paw_core::PawError;
use paw_core::text::plural;
use paw_host::signals::ShutdownSignals;

use super::child::{self, StopSwitch};
use super::conflicts::FleetConflicts;
use super::outcome::{TaskOutcome, TaskState};
use super::worktrees::{FleetWorktrees, merge_dependencies_of};
use super::{FleetPlan, PlannedTask, Schedule, SkippedTask, TaskProgress, find_unfinished};
use crate::tasks::{TagName, TaskId};
use crate::work::ProjectContext;

/// How a task's process starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStart<'a> {
    /// A new run, on top of its dependencies.
    New { task: &'a TaskId, tag: &'a TagName, built_on: &'a [TaskId] },
    /// Resume a paused or interrupted run.
    Resume,
}

/// A line for the user while tasks run. Texts are not sanitized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetNotice<'a> {
    Task { task: &'a TaskId, line: &'a str },
    Note(&'a str),
    Warning(&'a str),
}

/// Receives notices from any thread.
pub type FleetNotify = Arc<dyn Fn(FleetNotice<'_>) + Send + Sync>;

/// Several tasks, each run by its own process in its own worktree.
pub struct Fleet<'a> {
    pub plan: &'a FleetPlan,
    pub worktrees: FleetWorktrees<'a>,
    pub conflicts: &'a FleetConflicts,
    pub notify: FleetNotify,
    /// The number of tasks that run in parallel.
    pub parallel: usize,
    pub executor: Option<&'a str>,
    /// Abandon unfinished runs instead of resuming them.
    pub gives_up: bool,
    /// Builds the arguments of a task's process.
    pub arguments: &'a (dyn Fn(&TaskStart<'_>) -> Vec<String> + Sync),
}

impl std::fmt::Debug for Fleet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("plan", self.plan).finish_non_exhaustive()
    }
}

/// A task that has ended.
#[derive(Debug)]
pub struct FinishedTask<'a> {
    pub task: &'a PlannedTask,
    pub outcome: TaskOutcome,
    /// The project in the task's worktree.
    pub project: Option<PathBuf>,
    pub worktree: Option<PathBuf>,
}

/// Where a task ran.
#[derive(Debug, Default)]
struct TaskLocation {
    project: Option<PathBuf>,
    worktree: Option<PathBuf>,
}

enum FleetEvent {
    Ended { task: TaskId, outcome: TaskOutcome, place: TaskLocation },
    Interrupted,
}

impl<'a> Fleet<'a> {
    /// Runs all tasks that can run. Results are in the order of the plan.
    pub fn work(&self) -> Result<Vec<FinishedTask<'a>>, PawError> {
        let (sender, events) = mpsc::channel();
        catch_signals(sender.clone())?;
        let stops = StopSwitch::default();
        let (done, open): (Vec<_>, Vec<_>) = self.plan.tasks.iter().partition(|task| task.progress.is_done());
        let mut finished: Vec<FinishedTask<'a>> =
            done.into_iter().map(|task| self.done_already(task)).collect();
        let at_once = self.parallel;
        if !open.is_empty() {
            let tasks = plural(open.len(), "task");
            let base = &self.plan.base;
            self.note(&format!("{tasks} from {base}, at most {at_once} in parallel; Ctrl+C stops them"));
        }
        let parts = open.iter().map(|task| (task.member.task.clone(), task.member.after.clone()));
        let mut schedule = Schedule::new(parts, at_once);
        thread::scope(|scope| {
            loop {
                let begun = schedule.begin();
                for task in open.iter().filter(|task| begun.contains(&task.member.task)) {
                    let (sender, stops) = (sender.clone(), &stops);
                    scope.spawn(move || {
                        let (outcome, place) = self.do_task(task, stops);
                        self.conflicts.end(&task.member.task, &outcome);
                        let _ =
                            sender.send(FleetEvent::Ended { task: task.member.task.clone(), outcome, place });
                    });
                }
                if schedule.is_over() {
                    break;
                }
                let left = match events.recv() {
                    Ok(FleetEvent::Ended { task, outcome, place }) => {
                        self.tell(&task, &describe_outcome(&outcome));
                        let mut left =
                            skipped_outcomes(schedule.ended(&task, outcome.state == TaskState::Done));
                        if outcome.state == TaskState::Interrupted {
                            left.extend(unstarted_outcomes(schedule.stop()));
                        }
                        finished.extend(self.finished(&task, outcome, place));
                        left
                    }
                    Ok(FleetEvent::Interrupted) | Err(_) => {
                        self.note("stopping …");
                        stops.stop();
                        unstarted_outcomes(schedule.stop())
                    }
                };
                for (task, outcome) in left {
                    self.tell(&task, &describe_outcome(&outcome));
                    finished.extend(self.finished(&task, outcome, TaskLocation::default()));
                }
            }
        });
        let place = |id: &TaskId| self.plan.tasks.iter().position(|task| task.member.task == *id);
        finished.sort_by_key(|finished| place(&finished.task.member.task));
        Ok(finished)
    }

    fn note(&self, line: &str) {
        (self.notify)(FleetNotice::Note(line));
    }

    fn tell(&self, task: &TaskId, line: &str) {
        (self.notify)(FleetNotice::Task { task, line });
    }

    fn finished(&self, id: &TaskId, outcome: TaskOutcome, place: TaskLocation) -> Option<FinishedTask<'a>> {
        let task = self.plan.tasks.iter().find(|task| task.member.task == *id)?;
        Some(FinishedTask { task, outcome, project: place.project, worktree: place.worktree })
    }

    fn done_already(&self, task: &'a PlannedTask) -> FinishedTask<'a> {
        let (words, worktree) = match &task.progress {
            TaskProgress::Finished { worktree } => {
                (format!("already done on {}", task.branch), worktree.clone())
            }
            _ => (format!("already done on {}", self.plan.base), None),
        };
        let project = worktree.as_ref().map(|top| self.worktrees.inside(top));
        FinishedTask { task, outcome: TaskOutcome::of(TaskState::Done, words), project, worktree }
    }

    fn do_task(&self, task: &PlannedTask, stops: &StopSwitch) -> (TaskOutcome, TaskLocation) {
        let mut project = None;
        let done = self.try_task(task, stops, &mut project);
        let mut outcome = done.unwrap_or_else(|error| {
            TaskOutcome::of(TaskState::Failed, error.to_string().replace('\n', "; "))
        });
        if let Some(context) = &project {
            outcome.can_resume = outcome.state != TaskState::Done
                && matches!(find_unfinished(&context.project, &task.member.task), Ok(true));
        }
        let place = project
            .map(|context| TaskLocation { project: Some(context.project.root), worktree: Some(context.top) });
        (outcome, place.unwrap_or_default())
    }

    fn try_task(
        &self,
        task: &PlannedTask,
        stops: &StopSwitch,
        project: &mut Option<ProjectContext>,
    ) -> Result<TaskOutcome, PawError> {
        let id = &task.member.task;
        let mut say = |words: &str| self.tell(id, words);
        let top = self.worktrees.find_or_create(task, self.plan, &mut say)?;
        let context = project.insert(self.worktrees.project(&top)?);
        let begin = if matches!(task.progress, TaskProgress::Unfinished { .. }) && !self.gives_up {
            TaskStart::Resume
        } else {
            if let Some(outcome) = merge_dependencies_of(task, self.plan, context)? {
                return Ok(outcome);
            }
            TaskStart::New { task: id, tag: &self.plan.tag, built_on: &task.member.after }
        };
        if stops.is_wanted() {
            return Ok(TaskOutcome::of(TaskState::Interrupted, "not started"));
        }
        say(&format!("in {}", context.project.root.display()));
        self.conflicts.begin(task, &context.top, self.executor);
        child::run(&(self.arguments)(&begin), &context.project.root, stops, &mut say)
    }
}

fn describe_outcome(outcome: &TaskOutcome) -> String {
    match &outcome.reason {
        Some(reason) => format!("{}: {reason}", outcome.state.as_str()),
        None => outcome.state.as_str().to_owned(),
    }
}

fn skipped_outcomes(left: Vec<SkippedTask>) -> Vec<(TaskId, TaskOutcome)> {
    let words = |because: &TaskId| format!("task {because}, which it depends on, is not done");
    left.into_iter()
        .map(|left| (left.task, TaskOutcome::of(TaskState::Skipped, words(&left.because))))
        .collect()
}

fn unstarted_outcomes(tasks: Vec<TaskId>) -> Vec<(TaskId, TaskOutcome)> {
    let outcome = || TaskOutcome::of(TaskState::Interrupted, "not started");
    tasks.into_iter().map(|task| (task, outcome())).collect()
}

/// Turns Ctrl+C into an event.
fn catch_signals(events: Sender<FleetEvent>) -> Result<(), PawError> {
    let interrupt = move || {
        let _ = events.send(FleetEvent::Interrupted);
    };
    ShutdownSignals::on_first(interrupt)
}
