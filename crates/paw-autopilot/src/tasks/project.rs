//! Finds, loads and edits a project's task files.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use paw_core::paths::TaskmasterDir;
use paw_host::files::{self, Access};

use super::TaskError;
use super::cascade::cascade;
use super::edit::{self, EditError, NewTask};
use super::file::{FileShapeError, TagList, TaskFile};
use super::id::ItemId;
use super::lock::TaskLock;
use super::model::{Task, TaskStatus};
use super::settings::ProjectSettings;
use super::state::{self, TaskmasterState};
use super::tag::{TagName, TagSources, resolve};

/// Files that mark a project, the current location first.
const MARKERS: [&str; 4] =
    [TaskmasterDir::TASKS, TaskmasterDir::NAME, TaskmasterDir::OLD_CONFIG, TaskmasterDir::OLD_TASKS];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProject {
    pub root: PathBuf,
}

impl TaskProject {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Finds the nearest project at or above `start`, but not above `top`: tasks in the home directory do not belong
    /// to this project.
    pub fn find(start: &Path, top: &Path) -> Option<Self> {
        start
            .ancestors()
            .take_while(|dir| dir.starts_with(top))
            .find(|dir| MARKERS.iter().any(|marker| dir.join(marker).exists()))
            .map(Self::at)
    }

    pub fn files(&self) -> TaskmasterDir {
        TaskmasterDir::of(&self.root)
    }

    /// The current location, unless only the old one exists.
    pub fn tasks_file(&self) -> PathBuf {
        usual_or_old(self.files().tasks(), self.files().old_tasks())
    }

    pub fn config_file(&self) -> PathBuf {
        usual_or_old(self.files().config(), self.files().old_config())
    }

    pub fn state_file(&self) -> PathBuf {
        self.files().state_file()
    }

    pub fn load_tasks(&self) -> Result<TaskFile, TaskError> {
        let path = self.tasks_file();
        let text = files::load_text(&path)?.ok_or_else(|| TaskError::NoProject(self.root.clone()))?;
        TaskFile::parse(&text).map_err(|problem| unreadable(&path, problem))
    }

    pub fn load_state(&self) -> Result<TaskmasterState, TaskError> {
        let path = self.state_file();
        let Some(text) = files::load_text(&path)? else { return Ok(TaskmasterState::default()) };
        TaskmasterState::parse(&text).map_err(|problem| TaskError::Unreadable { path, problem })
    }

    pub fn load_settings(&self) -> Result<ProjectSettings, TaskError> {
        let path = self.config_file();
        let Some(text) = files::load_text(&path)? else { return Ok(ProjectSettings::default()) };
        ProjectSettings::parse(&text).map_err(|problem| TaskError::Unreadable { path, problem })
    }

    /// Finds the tag to use.
    pub fn resolve_tag(
        &self,
        flag: Option<&str>,
        variable: Option<&str>,
        branch: Option<&str>,
    ) -> Result<TagName, TaskError> {
        let (state, settings) = (self.load_state()?, self.load_settings()?);
        resolve(&TagSources {
            flag,
            variable,
            branch: branch.and_then(|branch| state.tag_of_branch(branch)),
            state: state.current_tag(),
            default: settings.default_tag.as_deref(),
        })
    }

    /// Sets a status and the statuses that follow from it, in one step. Returns all changes.
    pub fn set_status(
        &self,
        tag: &TagName,
        item: &ItemId,
        status: &TaskStatus,
    ) -> Result<Vec<(ItemId, TaskStatus)>, TaskError> {
        self.edit_tasks(None, |text| {
            let file = TaskFile::parse(text)?;
            let changes = cascade(require_item(&file, tag, item)?, item, status);
            Ok((edit::set_statuses(text, tag, &changes)?, changes))
        })
    }

    /// Adds a task and creates the file if needed.
    pub fn add_task(&self, tag: &TagName, new: &NewTask, now: Timestamp) -> Result<ItemId, TaskError> {
        self.edit_tasks(Some(edit::empty_file(tag, now)), |text| edit::add(text, tag, new))
    }

    /// Adds a task with its subtasks in one step and creates the file if needed.
    pub fn add_task_with_subtasks(
        &self,
        tag: &TagName,
        new: &NewTask,
        subtasks: &[NewTask],
        now: Timestamp,
    ) -> Result<(ItemId, Vec<ItemId>), TaskError> {
        self.edit_tasks(Some(edit::empty_file(tag, now)), |text| {
            let (mut text, task) = edit::add(text, tag, new)?;
            let mut added = Vec::new();
            for subtask in subtasks {
                let subtask = NewTask { parent: Some(task.task().clone()), ..subtask.clone() };
                let (longer, id) = edit::add(&text, tag, &subtask)?;
                text = longer;
                added.push(id);
            }
            Ok((text, (task, added)))
        })
    }

    /// Adds several tasks in one step.
    pub fn add_tasks(&self, tag: &TagName, new: &[NewTask]) -> Result<Vec<ItemId>, TaskError> {
        self.edit_tasks(None, |text| {
            let mut text = text.to_owned();
            let mut added = Vec::new();
            for task in new {
                let (longer, id) = edit::add(&text, tag, task)?;
                text = longer;
                added.push(id);
            }
            Ok((text, added))
        })
    }

    /// Makes a tag the active one and records its branch.
    pub fn set_active_tag(
        &self,
        tag: &TagName,
        branch: Option<&str>,
        now: Timestamp,
    ) -> Result<(), TaskError> {
        let path = self.state_file();
        let before = files::load_text(&path)?;
        let after = state::set_active_tag(before.as_deref(), tag, branch, now)
            .map_err(|problem| TaskError::Unreadable { path: path.clone(), problem })?;
        if before.as_deref() != Some(&after) {
            files::write_atomic(&path, after.as_bytes(), Access::Usual)?;
        }
        Ok(())
    }

    /// Reads, changes and writes under the lock. An unchanged file is not written.
    fn edit_tasks<T>(
        &self,
        fresh: Option<String>,
        change: impl FnOnce(&str) -> Result<(String, T), EditError>,
    ) -> Result<T, TaskError> {
        let path = self.tasks_file();
        if fresh.is_none() && !path.exists() {
            return Err(TaskError::NoProject(self.root.clone()));
        }
        let lock = TaskLock::take(&path)?;
        let before = files::load_text(&path)?;
        let text = before.clone().or(fresh).ok_or_else(|| TaskError::NoProject(self.root.clone()))?;
        let (after, answer) = change(&text).map_err(|error| match error {
            EditError::Shape(problem) => unreadable(&path, problem),
            EditError::Task(error) => error,
        })?;
        if before.as_deref() != Some(&after) {
            lock.confirm()?;
            files::write_atomic(&path, after.as_bytes(), Access::Usual)?;
        }
        Ok(answer)
    }
}

/// The tag, or an error.
pub fn require_tag<'a>(file: &'a TaskFile, tag: &TagName) -> Result<&'a TagList, TaskError> {
    file.tag(tag).ok_or_else(|| TaskError::NoSuchTag { tag: tag.clone(), known: file.tag_names() })
}

/// The task of an item, or an error if the item does not exist.
pub fn require_item<'a>(file: &'a TaskFile, tag: &TagName, item: &ItemId) -> Result<&'a Task, TaskError> {
    let missing = || TaskError::NoSuchItem { item: item.clone(), tag: tag.clone() };
    let task = require_tag(file, tag)?.find_task(item.task()).ok_or_else(missing)?;
    match item {
        ItemId::Subtask(_, id) if task.find_subtask(id).is_none() => Err(missing()),
        _ => Ok(task),
    }
}

fn usual_or_old(usual: PathBuf, old: PathBuf) -> PathBuf {
    if old.is_file() && !usual.exists() { old } else { usual }
}

fn unreadable(path: &Path, problem: FileShapeError) -> TaskError {
    let path = path.to_path_buf();
    match problem {
        FileShapeError::Json(problem) => TaskError::Unreadable { path, problem },
        other => TaskError::Shape { path, problem: other.to_string() },
    }
}
