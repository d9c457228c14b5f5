//! What there is to see, as plain data.

use crate::text::Text;

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigatorView {
    pub project: Text,
    pub branch: Text,
    /// The tag that is meant where nobody has selected one.
    pub tag: String,
    pub tags: Vec<TagView>,
    /// Why there are no tasks to show, or what is wrong with them.
    pub trouble: Option<Text>,
    pub run: Option<RunView>,
    /// What the run has said last, the newest at the end.
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
    pub subtasks: Vec<SubtaskView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskView {
    /// `42.1`
    pub id: String,
    pub title: Text,
    pub status: StatusLabel,
}

/// A status in its own word, and what it means.
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

/// The run that is under way, or the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    pub task: String,
    pub tag: String,
    /// The subtask at hand.
    pub subtask: Option<String>,
    /// `GREEN, attempt 2 of 3`
    pub phase: Text,
    pub done: usize,
    pub of: usize,
    pub activity: RunActivity,
    /// It has a branch, and so something to lose.
    pub has_branch: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunActivity {
    /// Somebody is at it right now.
    Working,
    /// It waits for somebody to go on with it.
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
