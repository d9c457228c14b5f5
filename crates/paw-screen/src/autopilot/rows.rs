//! The rows of the list: tasks, and the subtasks of expanded tasks.

use std::collections::{HashMap, HashSet};

use super::view::TagView;

/// Identifies a row while rows are added and removed around it. A broken file can contain an id twice, so the key also
/// counts occurrences of the id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RowKey {
    pub(super) task: String,
    pub(super) nth: usize,
    /// The index of the subtask in its task, if the row is a subtask.
    pub(super) subtask: Option<usize>,
}

impl RowKey {
    pub(super) fn of_task(&self) -> Self {
        Self { subtask: None, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskRow {
    pub(super) key: RowKey,
    /// The index of the task in its tag.
    pub(super) task: usize,
}

pub(super) fn rows(tag: &TagView, open: &HashSet<RowKey>) -> Vec<TaskRow> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut rows = Vec::new();
    for (index, task) in tag.tasks.iter().enumerate() {
        let nth = seen.entry(&task.id).or_insert(0);
        let key = RowKey { task: task.id.clone(), nth: *nth, subtask: None };
        *nth += 1;
        let subtasks = if open.contains(&key) { task.subtasks.len() } else { 0 };
        rows.push(TaskRow { key: key.clone(), task: index });
        rows.extend(
            (0..subtasks).map(|at| TaskRow { key: RowKey { subtask: Some(at), ..key.clone() }, task: index }),
        );
    }
    rows
}

/// The current index of the selected row: the row itself, else its task, else its last index.
pub(super) fn selected_index(rows: &[TaskRow], selected: Option<&RowKey>, before: usize) -> usize {
    let find = |key: &RowKey| rows.iter().position(|row| row.key == *key);
    let found = selected.and_then(|key| find(key).or_else(|| find(&key.of_task())));
    found.unwrap_or(before).min(rows.len().saturating_sub(1))
}

/// The first visible row, so that the selected one is visible and the window is full.
pub(super) fn first_row(selected: usize, rows: usize, room: usize) -> usize {
    if room == 0 || rows <= room {
        return 0;
    }
    selected.saturating_sub(room / 2).min(rows - room)
}
