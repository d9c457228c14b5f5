//! The tasks at work: begun as the schedule says, and waited for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use paw_core::PawError;
use paw_host::signals::EndSignals;

use super::child::{self, Stops};
use super::ending::{Ending, TaskState};
use super::place::{Places, build_on_others};
use super::radar::Radar;
use super::{FleetPlan, Left, PlannedTask, Schedule, Standing, find_unfinished};
use crate::tasks::{TagName, TaskId};
use crate::work::Site;

/// How the process of a task begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin<'a> {
    /// With the task, on top of what it depends on.
    New { task: &'a TaskId, tag: &'a TagName, built_on: &'a [TaskId] },
    /// Where an earlier run was paused or interrupted.
    Resume,
}

/// What is worth a line while the tasks run. Texts may be as other programs wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetNotice<'a> {
    Task { task: &'a TaskId, line: &'a str },
    Note(&'a str),
    Warning(&'a str),
}

/// Takes notices, from any thread.
pub type FleetNotify = Arc<dyn Fn(FleetNotice<'_>) + Send + Sync>;

/// Several tasks, each done by a process of its own in a worktree of its own.
pub struct Fleet<'a> {
    pub plan: &'a FleetPlan,
    pub places: Places<'a>,
    pub radar: &'a Radar,
    pub notify: FleetNotify,
    /// How many run at once.
    pub parallel: usize,
    pub executor: Option<&'a str>,
    /// Unfinished runs are given up instead of resumed.
    pub gives_up: bool,
    /// The arguments of the process that does a task.
    pub arguments: &'a (dyn Fn(&Begin<'_>) -> Vec<String> + Sync),
}

impl std::fmt::Debug for Fleet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("plan", self.plan).finish_non_exhaustive()
    }
}

/// A task that is over.
#[derive(Debug)]
pub struct Finished<'a> {
    pub task: &'a PlannedTask,
    pub ending: Ending,
    /// Its project, in its worktree.
    pub project: Option<PathBuf>,
    pub worktree: Option<PathBuf>,
}

/// Where a task was done.
#[derive(Debug, Default)]
struct Done {
    project: Option<PathBuf>,
    worktree: Option<PathBuf>,
}

enum Event {
    Ended { task: TaskId, ending: Ending, place: Done },
    Interrupted,
}

impl<'a> Fleet<'a> {
    /// Does everything that can be done. The answers come in the order of the plan.
    pub fn work(&self) -> Result<Vec<Finished<'a>>, PawError> {
        let (sender, events) = mpsc::channel();
        catch_signals(sender.clone())?;
        let stops = Stops::default();
        let (done, open): (Vec<_>, Vec<_>) = self.plan.tasks.iter().partition(|task| task.standing.is_done());
        let mut finished: Vec<Finished<'a>> = done.into_iter().map(|task| self.done_already(task)).collect();
        let at_once = self.parallel;
        if !open.is_empty() {
            let tasks = if open.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", open.len()) };
            let base = &self.plan.base;
            self.note(&format!("{tasks} from {base}, at most {at_once} at once; Ctrl+C ends them"));
        }
        let parts = open.iter().map(|task| (task.member.task.clone(), task.member.after.clone()));
        let mut schedule = Schedule::new(parts, at_once);
        thread::scope(|scope| {
            loop {
                let begun = schedule.begin();
                for task in open.iter().filter(|task| begun.contains(&task.member.task)) {
                    let (sender, stops) = (sender.clone(), &stops);
                    scope.spawn(move || {
                        let (ending, place) = self.do_task(task, stops);
                        self.radar.end(&task.member.task, &ending);
                        let _ = sender.send(Event::Ended { task: task.member.task.clone(), ending, place });
                    });
                }
                if schedule.is_over() {
                    break;
                }
                let left = match events.recv() {
                    Ok(Event::Ended { task, ending, place }) => {
                        self.tell(&task, &ended_words(&ending));
                        let mut left = left_out(schedule.ended(&task, ending.state == TaskState::Done));
                        if ending.state == TaskState::Interrupted {
                            left.extend(not_begun(schedule.stop()));
                        }
                        finished.extend(self.finished(&task, ending, place));
                        left
                    }
                    Ok(Event::Interrupted) | Err(_) => {
                        self.note("ending …");
                        stops.stop();
                        not_begun(schedule.stop())
                    }
                };
                for (task, ending) in left {
                    self.tell(&task, &ended_words(&ending));
                    finished.extend(self.finished(&task, ending, Done::default()));
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

    fn finished(&self, id: &TaskId, ending: Ending, place: Done) -> Option<Finished<'a>> {
        let task = self.plan.tasks.iter().find(|task| task.member.task == *id)?;
        Some(Finished { task, ending, project: place.project, worktree: place.worktree })
    }

    fn done_already(&self, task: &'a PlannedTask) -> Finished<'a> {
        let (words, worktree) = match &task.standing {
            Standing::Finished { worktree } => (format!("{} has it already", task.branch), worktree.clone()),
            _ => (format!("{} has it already", self.plan.base), None),
        };
        let project = worktree.as_ref().map(|top| self.places.inside(top));
        Finished { task, ending: Ending::of(TaskState::Done, words), project, worktree }
    }

    fn do_task(&self, task: &PlannedTask, stops: &Stops) -> (Ending, Done) {
        let mut project = None;
        let done = self.try_task(task, stops, &mut project);
        let mut ending =
            done.unwrap_or_else(|error| Ending::of(TaskState::Failed, error.to_string().replace('\n', "; ")));
        if let Some(site) = &project {
            ending.can_resume = ending.state != TaskState::Done
                && matches!(find_unfinished(&site.project, &task.member.task), Ok(true));
        }
        let place = project.map(|site| Done { project: Some(site.project.root), worktree: Some(site.top) });
        (ending, place.unwrap_or_default())
    }

    fn try_task(
        &self,
        task: &PlannedTask,
        stops: &Stops,
        project: &mut Option<Site>,
    ) -> Result<Ending, PawError> {
        let id = &task.member.task;
        let mut say = |words: &str| self.tell(id, words);
        let top = self.places.take(task, self.plan, &mut say)?;
        let site = project.insert(self.places.project(&top)?);
        let begin = if matches!(task.standing, Standing::Unfinished { .. }) && !self.gives_up {
            Begin::Resume
        } else {
            if let Some(ending) = build_on_others(task, self.plan, site)? {
                return Ok(ending);
            }
            Begin::New { task: id, tag: &self.plan.tag, built_on: &task.member.after }
        };
        if stops.is_wanted() {
            return Ok(Ending::of(TaskState::Interrupted, "it was not begun"));
        }
        say(&format!("in {}", site.project.root.display()));
        self.radar.begin(task, &site.top, self.executor);
        child::run(&(self.arguments)(&begin), &site.project.root, stops, &mut say)
    }
}

fn ended_words(ending: &Ending) -> String {
    match &ending.reason {
        Some(reason) => format!("{}: {reason}", ending.state.as_str()),
        None => ending.state.as_str().to_owned(),
    }
}

fn left_out(left: Vec<Left>) -> Vec<(TaskId, Ending)> {
    let words = |because: &TaskId| format!("task {because}, which it depends on, is not done");
    left.into_iter().map(|left| (left.task, Ending::of(TaskState::Skipped, words(&left.because)))).collect()
}

fn not_begun(tasks: Vec<TaskId>) -> Vec<(TaskId, Ending)> {
    let ending = || Ending::of(TaskState::Interrupted, "it was not begun");
    tasks.into_iter().map(|task| (task, ending())).collect()
}

/// From here on Ctrl+C is an event like others.
fn catch_signals(events: Sender<Event>) -> Result<(), PawError> {
    let interrupt = move || {
        let _ = events.send(Event::Interrupted);
    };
    EndSignals::on_first(interrupt)
}
