//! Reads the state of the project's files for the navigator.

use std::env;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use paw_autopilot::artifacts::{RunDir, RunId};
use paw_autopilot::engine::pause::headline;
use paw_autopilot::engine::{self, view};
use paw_autopilot::tasks::file::TagList as ListOfTasks;
use paw_autopilot::tasks::{Priority, Task as StoredTask, TaskProject, TaskStatus};
use paw_autopilot::work::ProjectContext;
use paw_host::files;
use paw_screen::autopilot::{
    NavigatorView, RunActivity, RunView, StatusLabel, SubtaskView, TagView, TaskStatusKind, TaskView,
};
use paw_screen::text::Text;
use serde::Deserialize;

use super::log_line;

/// How many lines of the log are shown, and how many bytes are read for them.
const LOG_LINES: usize = 20;
const LOG_END: u64 = 64 * 1024;

/// The file that a run writes after every step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentRun {
    run_id: String,
    run: engine::Run,
}

#[derive(Debug)]
pub(super) struct ProjectReader {
    site: ProjectContext,
    tag: Option<String>,
    zone: TimeZone,
    /// The git directory with this worktree's HEAD.
    git_dir: Option<PathBuf>,
    branch: Option<String>,
    run: Option<RunId>,
}

impl ProjectReader {
    pub(super) fn new(site: ProjectContext, tag: Option<String>) -> Self {
        let git_dir = site.git.find(["rev-parse", "--absolute-git-dir"]).ok().flatten().map(PathBuf::from);
        let mut reader = Self { site, tag, zone: TimeZone::system(), git_dir, branch: None, run: None };
        reader.look_at_head();
        reader
    }

    /// Runs git only when HEAD has moved.
    pub(super) fn look_at_head(&mut self) {
        let branch = self.site.git.find_current_branch().ok().flatten();
        self.branch = branch.map(|branch| branch.to_string());
    }

    /// The directories whose changes are shown.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let project = &self.site.project;
        let mut places = vec![project.root.clone(), project.files().path().to_path_buf()];
        places.extend(project.tasks_file().parent().map(Path::to_path_buf));
        places.push(project.files().state());
        places.extend(self.run.clone().map(|id| RunDir::of(project, id).path().to_path_buf()));
        places.extend(self.git_dir.clone());
        places
    }

    pub(super) fn look(&mut self) -> NavigatorView {
        let project = &self.site.project;
        let variable = env::var("TASKMASTER_TAG").ok();
        let tag = project.resolve_tag(self.tag.as_deref(), variable.as_deref(), self.branch.as_deref());
        let mut problem = tag.as_ref().err().map(|error| Text::new(&error.to_string()));
        let tags = match project.load_tasks() {
            Ok(file) => file.tags.iter().map(list).collect(),
            Err(error) => {
                problem = Some(Text::new(&error.to_string()));
                Vec::new()
            }
        };
        let (run, log) = self.look_at_run();
        NavigatorView {
            project: Text::line(&self.site.name()),
            branch: Text::line(self.branch.as_deref().unwrap_or("(no branch)")),
            tag: tag.map(|tag| tag.to_string()).unwrap_or_default(),
            tags,
            problem,
            run,
            log,
        }
    }

    fn look_at_run(&mut self) -> (Option<RunView>, Vec<Text>) {
        let project = &self.site.project;
        let path = project.files().current_run();
        let text = files::load_text(&path).ok().flatten();
        // A file of another version is ignored.
        let current = text.and_then(|text| serde_json::from_str::<CurrentRun>(&text).ok());
        self.run = current.as_ref().and_then(|current| RunId::parse(&current.run_id));
        let Some(current) = current else { return (None, Vec::new()) };
        let log = self.run.clone().map(|id| RunDir::of(project, id).files().log());
        let log = log.map(|path| tail(&path)).unwrap_or_default();
        let lines: Vec<Text> = log.lines().filter_map(|line| log_line::shown(line, &self.zone)).collect();
        let older = lines.len().saturating_sub(LOG_LINES);
        (Some(run(&current.run, is_running(project))), lines.into_iter().skip(older).collect())
    }
}

fn run(run: &engine::Run, held: bool) -> RunView {
    let status = view::status(run);
    let phase = status.tdd_phase.map_or_else(|| status.phase.to_lowercase().replace('_', " "), str::to_owned);
    let attempt = status.current_subtask.as_ref().filter(|subtask| subtask.attempts > 0);
    let attempt =
        attempt.map(|subtask| format!(", attempt {} of {}", subtask.attempts, subtask.max_attempts));
    let activity = match (run.is_over(), headline(run)) {
        (true, _) => RunActivity::Finished,
        (false, Some(why)) => RunActivity::Paused { why: Text::line(&why) },
        (false, None) if held => RunActivity::Working,
        (false, None) => RunActivity::Paused { why: Text::line("not in progress") },
    };
    RunView {
        task: run.request.task.to_string(),
        tag: run.request.tag.to_string(),
        subtask: run.current().map(|step| step.id.to_string()),
        phase: Text::line(&format!("{phase}{}", attempt.unwrap_or_default())),
        done: status.progress.completed,
        of: status.progress.total,
        activity,
        has_branch: run.branch.is_some(),
    }
}

fn list(tag: &ListOfTasks) -> TagView {
    TagView {
        name: tag.name.to_string(),
        tasks: tag.tasks.iter().map(task).collect(),
        problems: tag.problems.iter().map(|problem| Text::line(&problem.to_string())).collect(),
    }
}

fn task(task: &StoredTask) -> TaskView {
    let subtasks = task.subtasks.iter().map(|subtask| SubtaskView {
        id: subtask.item().to_string(),
        title: Text::line(&subtask.title),
        status: word(&subtask.status),
        priority: subtask.priority.map(priority),
    });
    TaskView {
        id: task.id.to_string(),
        title: Text::line(&task.title),
        status: word(&task.status),
        priority: task.priority.map(priority),
        subtasks: subtasks.collect(),
    }
}

fn priority(priority: Priority) -> Text {
    Text::line(priority.as_str())
}

fn word(status: &TaskStatus) -> StatusLabel {
    let category = match status {
        TaskStatus::Pending => TaskStatusKind::Open,
        TaskStatus::InProgress | TaskStatus::Review => TaskStatusKind::Active,
        TaskStatus::Done => TaskStatusKind::Done,
        TaskStatus::Blocked | TaskStatus::Other(_) => TaskStatusKind::Stuck,
        TaskStatus::Deferred | TaskStatus::Cancelled => TaskStatusKind::Dropped,
    };
    StatusLabel { text: Text::line(status.as_str()), category }
}

/// Whether a process holds the lock of a run. Never writes, so that file watchers are not woken.
pub(super) fn is_running(project: &TaskProject) -> bool {
    let Ok(file) = File::open(project.files().run_lock()) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The last bytes of a file.
fn tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)))?;
        let mut bytes = Vec::new();
        file.take(LOG_END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // The first line may be cut; the parser skips it.
    read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
