//! What the project's files say now, as the navigator shows it.

use std::env;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use paw_autopilot::artifacts::{RunDir, RunId};
use paw_autopilot::engine::pause::headline;
use paw_autopilot::engine::{self, view};
use paw_autopilot::tasks::file::Tag as ListOfTasks;
use paw_autopilot::tasks::{Status, Task as StoredTask, TaskProject};
use paw_autopilot::work::Site;
use paw_host::files;
use paw_screen::autopilot::{Life, Picture, Run, Standing, Subtask, Tag, Task, Word};
use paw_screen::text::Text;
use serde::Deserialize;

use super::log_line;

/// Lines of the log that are kept, and how much of its end is read for them.
const LOG_LINES: usize = 20;
const LOG_END: u64 = 64 * 1024;

/// What views look at, as a run writes it after every step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentRun {
    run_id: String,
    run: engine::Run,
}

#[derive(Debug)]
pub(super) struct Reader {
    site: Site,
    tag: Option<String>,
    zone: TimeZone,
    /// Where git keeps this worktree's HEAD.
    git_dir: Option<PathBuf>,
    branch: Option<String>,
    run: Option<RunId>,
}

impl Reader {
    pub(super) fn new(site: Site, tag: Option<String>) -> Self {
        let git_dir = site.git.find(["rev-parse", "--absolute-git-dir"]).ok().flatten().map(PathBuf::from);
        let mut reader = Self { site, tag, zone: TimeZone::system(), git_dir, branch: None, run: None };
        reader.look_at_head();
        reader
    }

    /// git is asked only when HEAD has moved.
    pub(super) fn look_at_head(&mut self) {
        let branch = self.site.git.find_current_branch().ok().flatten();
        self.branch = branch.map(|branch| branch.to_string());
    }

    /// The directories in which something can happen that is shown, as far as they are known now.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        let project = &self.site.project;
        let mut places = vec![project.root.clone(), project.files().path().to_path_buf()];
        places.extend(project.tasks_file().parent().map(Path::to_path_buf));
        places.push(project.files().state());
        places.extend(self.run.clone().map(|id| RunDir::of(project, id).path().to_path_buf()));
        places.extend(self.git_dir.clone());
        places
    }

    pub(super) fn look(&mut self) -> Picture {
        let project = &self.site.project;
        let variable = env::var("TASKMASTER_TAG").ok();
        let tag = project.resolve_tag(self.tag.as_deref(), variable.as_deref(), self.branch.as_deref());
        let mut trouble = tag.as_ref().err().map(|error| Text::new(&error.to_string()));
        let tags = match project.load_tasks() {
            Ok(file) => file.tags.iter().map(list).collect(),
            Err(error) => {
                trouble = Some(Text::new(&error.to_string()));
                Vec::new()
            }
        };
        let (run, log) = self.look_at_run();
        let name = self.site.top.file_name().unwrap_or_default().to_string_lossy();
        Picture {
            project: Text::line(&name),
            branch: Text::line(self.branch.as_deref().unwrap_or("(no branch)")),
            tag: tag.map(|tag| tag.to_string()).unwrap_or_default(),
            tags,
            trouble,
            run,
            log,
        }
    }

    fn look_at_run(&mut self) -> (Option<Run>, Vec<Text>) {
        let project = &self.site.project;
        let path = project.files().current_run();
        let text = files::load_text(&path).ok().flatten();
        // Another version's file is no run of ours.
        let current = text.and_then(|text| serde_json::from_str::<CurrentRun>(&text).ok());
        self.run = current.as_ref().and_then(|current| RunId::parse(&current.run_id));
        let Some(current) = current else { return (None, Vec::new()) };
        let log = self.run.clone().map(|id| RunDir::of(project, id).files().log());
        let log = log.map(|path| tail(&path)).unwrap_or_default();
        let lines: Vec<Text> = log.lines().filter_map(|line| log_line::shown(line, &self.zone)).collect();
        let older = lines.len().saturating_sub(LOG_LINES);
        (Some(run(&current.run, is_at_work(project))), lines.into_iter().skip(older).collect())
    }
}

fn run(run: &engine::Run, held: bool) -> Run {
    let status = view::status(run);
    let phase = status.tdd_phase.map_or_else(|| status.phase.to_lowercase().replace('_', " "), str::to_owned);
    let attempt = status.current_subtask.as_ref().filter(|subtask| subtask.attempts > 0);
    let attempt =
        attempt.map(|subtask| format!(", attempt {} of {}", subtask.attempts, subtask.max_attempts));
    let standing = match (run.is_over(), headline(run)) {
        (true, _) => Standing::Over,
        (false, Some(why)) => Standing::Paused { why: Text::line(&why) },
        (false, None) if held => Standing::Working,
        (false, None) => Standing::Paused { why: Text::line("Nobody works on it now") },
    };
    Run {
        task: run.order.task.to_string(),
        tag: run.order.tag.to_string(),
        subtask: run.current().map(|step| step.id.to_string()),
        phase: Text::line(&format!("{phase}{}", attempt.unwrap_or_default())),
        done: status.progress.completed,
        of: status.progress.total,
        standing,
        has_branch: run.branch.is_some(),
    }
}

fn list(tag: &ListOfTasks) -> Tag {
    Tag {
        name: tag.name.to_string(),
        tasks: tag.tasks.iter().map(task).collect(),
        problems: tag.problems.iter().map(|problem| Text::line(&problem.to_string())).collect(),
    }
}

fn task(task: &StoredTask) -> Task {
    let subtasks = task.subtasks.iter().map(|subtask| Subtask {
        id: subtask.item().to_string(),
        title: Text::line(&subtask.title),
        status: word(&subtask.status),
    });
    Task {
        id: task.id.to_string(),
        title: Text::line(&task.title),
        status: word(&task.status),
        subtasks: subtasks.collect(),
    }
}

fn word(status: &Status) -> Word {
    let life = match status {
        Status::Pending => Life::Open,
        Status::InProgress | Status::Review => Life::Active,
        Status::Done => Life::Done,
        Status::Blocked | Status::Other(_) => Life::Stuck,
        Status::Deferred | Status::Cancelled => Life::Dropped,
    };
    Word { text: Text::line(status.as_str()), life }
}

/// Whether somebody holds the lock of a run. Looked at without writing, so that looking does not wake whoever follows it.
pub(super) fn is_at_work(project: &TaskProject) -> bool {
    let Ok(file) = File::open(project.files().run_lock()) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The end of a file, from the beginning of a line.
fn tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_END)))?;
        let mut bytes = Vec::new();
        file.take(LOG_END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // A line that is cut in two is no record, and is left out by whoever reads it.
    read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
