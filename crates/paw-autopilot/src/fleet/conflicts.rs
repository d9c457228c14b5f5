//! Finds tasks that change the same files, while they run and once more at the end.
//!
//! - `conflict`: a file that two tasks change
//! - `pairs`: compares every pair of tasks once all have finished
//! - `session_link`: publishes the tasks as agents of a running session

mod conflict;
mod pairs;
mod session_link;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paw_broker::conflict::{ConflictCategory, ConflictMonitor, ConflictMonitorEvent, ConflictReport};
use paw_broker::watch::{self, WatchTarget};
use paw_broker::{Message, SessionId};
use paw_core::paths::{PawDir, TaskmasterDir};
use paw_core::{AgentId, PawError};
use paw_host::config;
use paw_session::lifecycle::Session;

use super::outcome::TaskOutcome;
use super::run::{FleetNotice, FleetNotify};
use super::{FleetPlan, PlannedTask};
use crate::tasks::TaskId;
use crate::work::ProjectContext;
use crate::work::snapshot::is_own_file;
pub use conflict::TaskConflict;
use session_link::SessionLink;

/// A task as an agent of the conflict detection.
#[derive(Debug, Clone)]
struct TaskAgent {
    task: TaskId,
    agent: AgentId,
    /// All tasks it depends on, directly or not.
    after: BTreeSet<TaskId>,
}

pub struct FleetConflicts {
    agents: Vec<TaskAgent>,
    settings: watch::WatchSettings,
    /// The project's path inside a worktree.
    inside: PathBuf,
    /// `None` if worktrees cannot be watched.
    patrol: Mutex<Option<ConflictMonitor>>,
    link: Option<Arc<Mutex<SessionLink>>>,
    notify: FleetNotify,
}

impl std::fmt::Debug for FleetConflicts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetConflicts").field("agents", &self.agents).finish_non_exhaustive()
    }
}

impl FleetConflicts {
    /// `session`: the session of this repository, running or not.
    pub fn start(
        plan: &FleetPlan,
        context: &ProjectContext,
        session: Option<&Session>,
        notify: FleetNotify,
    ) -> Result<Self, PawError> {
        let link = session.map(SessionLink::open).transpose()?.flatten();
        let agents = task_agents(plan, link.as_ref().map(SessionLink::members).unwrap_or_default());
        let inside = context.project.root.strip_prefix(&context.top).unwrap_or(Path::new(""));
        let mut settings = watch::WatchSettings::new(
            &context.repo.common_dir,
            PawDir::of(&context.repo.common_dir).autopilot_radar(),
        );
        settings.bases =
            vec![format!("refs/heads/{}", plan.base), format!("refs/remotes/origin/{}", plan.base)];
        settings.excluded.push(inside.join(TaskmasterDir::NAME));
        let link = link.map(|link| Arc::new(Mutex::new(link)));
        let conflict = config::load_layers(Some(&context.repo.root), None)?.resolve()?.supervisor;
        let conflict = conflict.map(|supervisor| supervisor.conflict).unwrap_or_default();
        let (told, to, notifier) = (agents.clone(), link.clone(), notify.clone());
        let signal = move |signal| {
            if let ConflictMonitorEvent::Publish(message) = signal {
                on_message(&message, &told, to.as_deref(), &notifier);
            }
        };
        let session = SessionId::new("autopilot");
        let patrol = ConflictMonitor::start(session, conflict, settings.clone(), [], [], signal);
        if let Err(error) = &patrol {
            let words = format!("cannot watch the tasks for conflicts: {error}");
            notify(FleetNotice::Warning(&words));
        }
        let inside = inside.to_path_buf();
        Ok(Self { agents, settings, inside, patrol: Mutex::new(patrol.ok()), link, notify })
    }

    /// Starts watching a task's worktree.
    pub(super) fn begin(&self, task: &PlannedTask, worktree: &Path, cli: Option<&str>) {
        let Some(known) = self.find(&task.member.task) else { return };
        if let Some(link) = &self.link {
            let result = lock(link).begin(&known.agent, task, &self.inside);
            self.warn(result);
        }
        if let Some(patrol) = lock(&self.patrol).as_ref() {
            let (agent, cli) = (known.agent.clone(), cli.map(str::to_owned));
            patrol.watch(WatchTarget { agent, worktree: worktree.to_path_buf(), cli });
        }
    }

    /// Reports the end of a task. Its changes still count for later conflicts.
    pub(super) fn end(&self, task: &TaskId, outcome: &TaskOutcome) {
        if let (Some(link), Some(known)) = (&self.link, self.find(task)) {
            let result = lock(link).end(&known.agent, outcome);
            self.warn(result);
        }
    }

    /// Compares all tasks' changes. `worktrees` lists the worktrees that were used.
    pub fn finish(&self, worktrees: &[(TaskId, PathBuf)]) -> Vec<TaskConflict> {
        // The comparison below is more precise than what the watcher still has queued.
        drop(lock(&self.patrol).take());
        let mut found = pairs::all_pairs(&self.agents, worktrees, &self.settings).unwrap_or_else(|error| {
            let line = format!("cannot compare the tasks' changes: {error}");
            (self.notify)(FleetNotice::Warning(&line));
            Vec::new()
        });
        if let Some(link) = &self.link {
            found.extend(lock(link).close(&self.agents));
        }
        found
    }

    fn find(&self, task: &TaskId) -> Option<&TaskAgent> {
        self.agents.iter().find(|known| known.task == *task)
    }

    fn warn(&self, result: Result<(), PawError>) {
        if let Err(error) = result {
            let words = error.to_string();
            let first = words.lines().next().unwrap_or_default();
            let line = format!("cannot report the tasks to the session: {first}");
            (self.notify)(FleetNotice::Warning(&line));
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives each task an agent name that no session agent has: a name belongs to the holder of its token.
fn task_agents(plan: &FleetPlan, members: &[AgentId]) -> Vec<TaskAgent> {
    let mut agents: Vec<TaskAgent> = Vec::new();
    // Dependencies come first in the plan.
    for planned in &plan.tasks {
        let agent = AgentId::for_branch(&planned.branch, |id| {
            members.contains(id) || agents.iter().any(|other| other.agent == *id)
        });
        let direct = &planned.member.after;
        let before = agents.iter().filter(|other| direct.contains(&other.task));
        let after = before.flat_map(|other| other.after.iter().chain([&other.task])).cloned().collect();
        agents.push(TaskAgent { task: planned.member.task.clone(), agent, after });
    }
    agents
}

/// Forwards messages of the conflict detection to the user and the session.
fn on_message(
    message: &Message,
    agents: &[TaskAgent],
    link: Option<&Mutex<SessionLink>>,
    notify: &FleetNotify,
) {
    if let (Message::Status(status), Some(link)) = (message, link) {
        let mut status = status.clone();
        // To the session, the task's files are what its agent says; only the session's process observes.
        status.clear_source();
        if let Some(files) = &mut status.modified_files {
            files.retain(|file| !is_own_file(Path::new(file)));
        }
        // A lost status update is followed by others.
        let _ = lock(link).say(&status.agent_id.clone(), &Message::Status(status));
    }
    let Some(facts) = ConflictReport::find(message).filter(|facts| facts.kind == ConflictCategory::InFlight)
    else {
        return;
    };
    // Both agents get a message; the user sees one.
    if facts.you > facts.other {
        return;
    }
    let of = |agent: &AgentId| agents.iter().find(|known| known.agent == *agent);
    let (Some(one), Some(other)) = (of(&facts.you), of(&facts.other)) else { return };
    // Every task changes its own line in tasks.json, which is merged automatically.
    for file in facts.files.iter().filter(|file| !is_own_file(Path::new(&file.path))) {
        if let Some(words) = conflict::describe_in_flight(one, other, facts.level, file) {
            notify(FleetNotice::Note(&words));
        }
    }
}

#[cfg(test)]
mod tests {
    use paw_core::BranchName;

    use super::*;
    use crate::fleet::{FleetMember, TaskProgress};
    use crate::tasks::TagName;

    #[test]
    fn fleet_task_never_gets_the_name_of_a_session_agent() {
        let task = |id: u32, after: &[u32]| PlannedTask {
            member: FleetMember {
                task: TaskId::new(&id.to_string()).unwrap(),
                title: String::new(),
                files: Vec::new(),
                after: after.iter().map(|id| TaskId::new(&id.to_string()).unwrap()).collect(),
                done: false,
            },
            branch: BranchName::new(format!("work/task-{id}")).unwrap(),
            progress: TaskProgress::New,
        };
        let plan = FleetPlan {
            tag: TagName::new("work").unwrap(),
            base: "main".into(),
            commit: String::new(),
            tasks: vec![task(1, &[]), task(2, &[1])],
            differs: false,
        };
        let names = |members: &[AgentId]| {
            task_agents(&plan, members).iter().map(|known| known.agent.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["work-task-1", "work-task-2"]);
        let taken = AgentId::new("work-task-2").unwrap();
        let given = names(std::slice::from_ref(&taken));
        assert_eq!(given[0], "work-task-1");
        assert_ne!(given[1], taken.as_str());
    }
}
