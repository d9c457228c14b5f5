//! Everybody at work: begun as the schedule says, and waited for.

use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::thread;

use paw_autopilot::fleet::{FleetPlan, PlannedTask, Schedule, Standing, find_unfinished};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::{Relaxation, Site};
use paw_core::PawError;
use paw_core::text::{self, plural};
use paw_screen::terminal::EndSignals;

use super::super::AutopilotArgs;
use super::child::{self, Stops};
use super::ending::{Ending, State};
use super::flags::{Begin, flags};
use super::place::{Places, build_on_others};
use super::radar::Radar;
use crate::output::Output;

pub(super) struct Crew<'a> {
    pub(super) args: &'a AutopilotArgs,
    pub(super) plan: &'a FleetPlan,
    pub(super) places: Places<'a>,
    pub(super) radar: &'a Radar,
    pub(super) output: Output,
}

/// A task that is over.
#[derive(Debug)]
pub(super) struct Finished<'a> {
    pub(super) task: &'a PlannedTask,
    pub(super) ending: Ending,
    /// Its project, in its worktree.
    pub(super) project: Option<PathBuf>,
    pub(super) worktree: Option<PathBuf>,
}

/// Where a task was done.
#[derive(Debug, Default)]
struct Done {
    project: Option<PathBuf>,
    worktree: Option<PathBuf>,
}

enum Sign {
    Ended { task: TaskId, ending: Ending, place: Done },
    Interrupted,
}

impl<'a> Crew<'a> {
    /// Does everything that can be done. The answers come in the order of the plan.
    pub(super) fn work(&self) -> Result<Vec<Finished<'a>>, PawError> {
        let (sender, signs) = mpsc::channel();
        catch_signals(sender.clone())?;
        let stops = Stops::default();
        let (done, open): (Vec<_>, Vec<_>) = self.plan.tasks.iter().partition(|task| task.standing.is_done());
        let mut finished: Vec<Finished<'a>> = done.into_iter().map(|task| self.done_already(task)).collect();
        let at_once = self.args.parallel;
        if !open.is_empty() {
            self.output.note(&format!(
                "{} from {}, at most {at_once} at once; Ctrl+C ends them",
                plural(open.len(), "task"),
                self.plan.base
            ));
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
                        let _ = sender.send(Sign::Ended { task: task.member.task.clone(), ending, place });
                    });
                }
                if schedule.is_over() {
                    break;
                }
                let left = match signs.recv() {
                    Ok(Sign::Ended { task, ending, place }) => {
                        self.tell(&task, &ended_words(&ending));
                        let mut left = left_out(schedule.ended(&task, ending.state == State::Done));
                        if ending.state == State::Interrupted {
                            left.extend(not_begun(schedule.stop()));
                        }
                        finished.extend(self.finished(&task, ending, place));
                        left
                    }
                    Ok(Sign::Interrupted) | Err(_) => {
                        self.output.note("ending …");
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

    fn tell(&self, task: &TaskId, words: &str) {
        self.output.note(&format!("[{task}] {}", text::reveal(words)));
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
        Finished { task, ending: Ending::of(State::Done, words), project, worktree }
    }

    fn do_task(&self, task: &PlannedTask, stops: &Stops) -> (Ending, Done) {
        let mut project = None;
        let done = self.try_task(task, stops, &mut project);
        let mut ending =
            done.unwrap_or_else(|error| Ending::of(State::Failed, error.to_string().replace('\n', "; ")));
        if let Some(site) = &project {
            ending.can_resume = ending.state != State::Done
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
        let gives_up = self.args.force.contains(&Relaxation::Run);
        let begin = if matches!(task.standing, Standing::Unfinished { .. }) && !gives_up {
            Begin::Resume
        } else {
            if let Some(ending) = build_on_others(task, self.plan, site)? {
                return Ok(ending);
            }
            Begin::Anew { task: id, tag: &self.plan.tag, built_on: &task.member.after }
        };
        if stops.is_wanted() {
            return Ok(Ending::of(State::Interrupted, "it was not begun"));
        }
        say(&format!("in {}", site.project.root.display()));
        self.radar.begin(task, &site.top, self.args.executor.as_deref());
        child::run(&flags(self.args, &begin), &site.project.root, stops, &mut say)
    }
}

fn ended_words(ending: &Ending) -> String {
    match &ending.reason {
        Some(reason) => format!("{}: {reason}", ending.state.as_str()),
        None => ending.state.as_str().to_owned(),
    }
}

fn left_out(left: Vec<paw_autopilot::fleet::Left>) -> Vec<(TaskId, Ending)> {
    let words = |because: &TaskId| format!("task {because}, which it depends on, is not done");
    left.into_iter().map(|left| (left.task, Ending::of(State::Skipped, words(&left.because)))).collect()
}

fn not_begun(tasks: Vec<TaskId>) -> Vec<(TaskId, Ending)> {
    let ending = || Ending::of(State::Interrupted, "it was not begun");
    tasks.into_iter().map(|task| (task, ending())).collect()
}

/// From here on Ctrl+C is a sign like others.
fn catch_signals(signs: Sender<Sign>) -> Result<(), PawError> {
    let interrupt = move || {
        let _ = signs.send(Sign::Interrupted);
    };
    EndSignals::on_first(interrupt).map_err(|error| PawError::IoError(error.to_string()))
}
