//! The content of the navigator as plain data.

use crate::text::Text;

/// A snapshot of everything that the navigator shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigatorView {
    pub project: Text,
    pub branch: Text,
    /// The tag that is shown unless the user selects another one.
    pub tag: String,
    pub tags: Vec<TagView>,
    /// Why there are no tasks, or what is wrong with them.
    pub problem: Option<Text>,
    pub run: Option<RunView>,
    /// The last lines of the run's log, newest last.
    pub log: Vec<Text>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagView {
    pub name: String,
    pub tasks: Vec<TaskView>,
    /// What is wrong with the list.
    pub problems: Vec<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    pub id: String,
    pub title: Text,
    pub status: StatusLabel,
    /// As it is stored; a task without one counts as medium.
    pub priority: Option<Text>,
    pub subtasks: Vec<SubtaskView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskView {
    /// `42.1`
    pub id: String,
    pub title: Text,
    pub status: StatusLabel,
    pub priority: Option<Text>,
}

/// A status as it is stored, and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLabel {
    pub text: Text,
    pub category: TaskStatusKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatusKind {
    Open,
    Active,
    Done,
    Stuck,
    Dropped,
}

/// The current run, or the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    pub task: String,
    pub tag: String,
    /// The current subtask.
    pub subtask: Option<String>,
    /// `GREEN, attempt 2 of 3`
    pub phase: Text,
    pub done: usize,
    pub of: usize,
    pub activity: RunActivity,
    /// The run has a branch, so its work must not be dropped by starting another run.
    pub has_branch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunActivity {
    /// A process is working on it right now.
    Working,
    /// The run waits to be resumed.
    Paused {
        why: Text,
    },
    Finished,
}

impl NavigatorView {
    pub(super) fn is_working(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.activity == RunActivity::Working)
    }
}
