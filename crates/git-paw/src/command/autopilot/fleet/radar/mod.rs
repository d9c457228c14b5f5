//! Who of the tasks changes what another one changes: said while they work, and once more at the end.
//!
//! - `words`: a collision in words
//! - `look`: every pair once, when all have ended
//! - `desk`: the tasks as agents of the session, where one with a broker is running

mod desk;
mod look;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paw_autopilot::fleet::{FleetPlan, PlannedTask};
use paw_autopilot::tasks::TaskId;
use paw_autopilot::work::Site;
use paw_autopilot::work::seen::is_ours;
use paw_broker::radar::{Facts, Kind, Patrol, Signal};
use paw_broker::watch::{self, Target};
use paw_broker::{Message, SessionId};
use paw_core::paths::{PawDir, TaskmasterDir};
use paw_core::{AgentId, PawError};
use paw_host::config;

use super::ending::Ending;
use crate::context::Context;
use crate::output::Output;
use desk::Desk;
pub(super) use words::Collision;

/// One of the tasks, as one who changes files.
#[derive(Debug, Clone)]
struct Sailor {
    task: TaskId,
    agent: AgentId,
    /// Everything it builds on, however far back.
    after: BTreeSet<TaskId>,
}

#[derive(Debug)]
pub(super) struct Radar {
    crew: Vec<Sailor>,
    settings: watch::Settings,
    /// The project, seen from a worktree's root.
    inside: PathBuf,
    /// Nothing where worktrees cannot be watched.
    patrol: Mutex<Option<Patrol>>,
    desk: Option<Arc<Mutex<Desk>>>,
    output: Output,
}

impl Radar {
    pub(super) fn start(plan: &FleetPlan, site: &Site, context: &Context) -> Result<Self, PawError> {
        let desk = desk::open(context)?;
        let crew = crew(plan, desk.as_ref().map(Desk::members).unwrap_or_default());
        let inside = site.project.root.strip_prefix(&site.top).unwrap_or(Path::new(""));
        let mut settings =
            watch::Settings::new(&site.repo.common_dir, PawDir::of(&site.repo.common_dir).autopilot_radar());
        settings.bases =
            vec![format!("refs/heads/{}", plan.base), format!("refs/remotes/origin/{}", plan.base)];
        settings.excluded.push(inside.join(TaskmasterDir::NAME));
        let desk = desk.map(|desk| Arc::new(Mutex::new(desk)));
        let conflict = config::load_layers(Some(&site.repo.root), None)?.resolve()?.supervisor;
        let conflict = conflict.map(|supervisor| supervisor.conflict).unwrap_or_default();
        let (told, to, output) = (crew.clone(), desk.clone(), context.output);
        let signal = move |signal| {
            if let Signal::Publish(message) = signal {
                on_message(&message, &told, to.as_deref(), output);
            }
        };
        let session = SessionId::new("autopilot");
        let patrol = Patrol::start(session, conflict, settings.clone(), [], [], signal);
        if let Err(error) = &patrol {
            context.output.warn(&format!("nobody watches whether tasks change the same files: {error}"));
        }
        let inside = inside.to_path_buf();
        Ok(Self { crew, settings, inside, patrol: Mutex::new(patrol.ok()), desk, output: context.output })
    }

    /// A task begins in its worktree.
    pub(super) fn begin(&self, task: &PlannedTask, worktree: &Path, cli: Option<&str>) {
        let Some(sailor) = self.sailor(&task.member.task) else { return };
        if let Some(desk) = &self.desk {
            let said = lock(desk).begin(&sailor.agent, task, &self.inside);
            self.warn_once(said);
        }
        if let Some(patrol) = lock(&self.patrol).as_ref() {
            let (agent, cli) = (sailor.agent.clone(), cli.map(str::to_owned));
            patrol.watch(Target { agent, worktree: worktree.to_path_buf(), cli });
        }
    }

    /// It is over, whatever became of it. Its work may still collide with that of others.
    pub(super) fn end(&self, task: &TaskId, ending: &Ending) {
        if let (Some(desk), Some(sailor)) = (&self.desk, self.sailor(task)) {
            let said = lock(desk).end(&sailor.agent, ending);
            self.warn_once(said);
        }
    }

    /// What does not fit together of everything there is. `worktrees` are those that were worked in.
    pub(super) fn finish(&self, worktrees: &[(TaskId, PathBuf)]) -> Vec<Collision> {
        // What it has to say is said again, more exactly.
        drop(lock(&self.patrol).take());
        let mut found = look::all_pairs(&self.crew, worktrees, &self.settings).unwrap_or_else(|error| {
            self.output.warn(&format!("cannot tell whether the tasks fit together: {error}"));
            Vec::new()
        });
        if let Some(desk) = &self.desk {
            found.extend(lock(desk).close(&self.crew));
        }
        found
    }

    fn sailor(&self, task: &TaskId) -> Option<&Sailor> {
        self.crew.iter().find(|sailor| sailor.task == *task)
    }

    fn warn_once(&self, said: Result<(), PawError>) {
        if let Err(error) = said {
            let words = error.to_string();
            let first = words.lines().next().unwrap_or_default();
            self.output.warn(&format!("the session is not told about the tasks: {first}"));
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks, by names that nobody in the session has: a name belongs to whoever has its token.
fn crew(plan: &FleetPlan, members: &[AgentId]) -> Vec<Sailor> {
    let mut crew: Vec<Sailor> = Vec::new();
    // None comes before what it depends on.
    for planned in &plan.tasks {
        let agent = AgentId::for_branch(&planned.branch, |id| {
            members.contains(id) || crew.iter().any(|other| other.agent == *id)
        });
        let direct = &planned.member.after;
        let before = crew.iter().filter(|other| direct.contains(&other.task));
        let after = before.flat_map(|other| other.after.iter().chain([&other.task])).cloned().collect();
        crew.push(Sailor { task: planned.member.task.clone(), agent, after });
    }
    crew
}

/// What the watcher and the radar say, for people and for the session.
fn on_message(message: &Message, crew: &[Sailor], desk: Option<&Mutex<Desk>>, output: Output) {
    if let (Message::Status(status), Some(desk)) = (message, desk) {
        let mut status = status.clone();
        if let Some(files) = &mut status.modified_files {
            files.retain(|file| !is_ours(Path::new(file)));
        }
        // One that is lost is followed by others.
        let _ = lock(desk).say(&status.agent_id.clone(), &Message::Status(status));
    }
    let Some(facts) = Facts::find(message).filter(|facts| facts.kind == Kind::InFlight) else { return };
    // Both sides are told; people are told once.
    if facts.you > facts.other {
        return;
    }
    let of = |agent: &AgentId| crew.iter().find(|sailor| sailor.agent == *agent);
    let (Some(one), Some(other)) = (of(&facts.you), of(&facts.other)) else { return };
    // Every task changes its own line of our files, and we settle that ourselves.
    for file in facts.files.iter().filter(|file| !is_ours(Path::new(&file.path))) {
        if let Some(words) = words::in_flight(one, other, facts.level, file) {
            output.note(&words);
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_autopilot::fleet::{Member, PlannedTask, Standing};
    use paw_autopilot::tasks::TagName;
    use paw_core::BranchName;

    use super::*;

    #[test]
    fn a_task_never_goes_by_the_name_of_an_agent_of_the_session() {
        let task = |id: u32, after: &[u32]| PlannedTask {
            member: Member {
                task: TaskId::new(&id.to_string()).unwrap(),
                title: String::new(),
                files: Vec::new(),
                after: after.iter().map(|id| TaskId::new(&id.to_string()).unwrap()).collect(),
                done: false,
            },
            branch: BranchName::new(format!("work/task-{id}")).unwrap(),
            standing: Standing::New,
        };
        let plan = FleetPlan {
            tag: TagName::new("work").unwrap(),
            base: "main".into(),
            commit: String::new(),
            tasks: vec![task(1, &[]), task(2, &[1])],
            differs: false,
        };
        let names = |members: &[AgentId]| {
            crew(&plan, members).iter().map(|sailor| sailor.agent.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["work-task-1", "work-task-2"]);
        let taken = AgentId::new("work-task-2").unwrap();
        let given = names(std::slice::from_ref(&taken));
        assert_eq!(given[0], "work-task-1");
        assert_ne!(given[1], taken.as_str());
    }
}
