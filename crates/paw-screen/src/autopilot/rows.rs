//! The rows of the list: tasks, and the subtasks of those that are open.

use std::collections::{HashMap, HashSet};

use super::view::Tag;

/// Which row is meant, also when rows come and go around it. Ids can be there twice in a broken file, so the number of
/// the one that is meant belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) task: String,
    pub(super) nth: usize,
    /// The place of the subtask in its task.
    pub(super) subtask: Option<usize>,
}

impl Key {
    pub(super) fn of_task(&self) -> Self {
        Self { subtask: None, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: Key,
    /// The place of its task in the tag.
    pub(super) task: usize,
}

pub(super) fn rows(tag: &Tag, open: &HashSet<Key>) -> Vec<Row> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut rows = Vec::new();
    for (place, task) in tag.tasks.iter().enumerate() {
        let nth = seen.entry(&task.id).or_insert(0);
        let key = Key { task: task.id.clone(), nth: *nth, subtask: None };
        *nth += 1;
        let subtasks = if open.contains(&key) { task.subtasks.len() } else { 0 };
        rows.push(Row { key: key.clone(), task: place });
        rows.extend(
            (0..subtasks).map(|at| Row { key: Key { subtask: Some(at), ..key.clone() }, task: place }),
        );
    }
    rows
}

/// Where the chosen row stands now: itself, else its task, else where it stood.
pub(super) fn place(rows: &[Row], chosen: Option<&Key>, before: usize) -> usize {
    let find = |key: &Key| rows.iter().position(|row| row.key == *key);
    let found = chosen.and_then(|key| find(key).or_else(|| find(&key.of_task())));
    found.unwrap_or(before).min(rows.len().saturating_sub(1))
}

/// The first row shown, so that the chosen one is in view and the window is full.
pub(super) fn first_row(chosen: usize, rows: usize, room: usize) -> usize {
    if room == 0 || rows <= room {
        return 0;
    }
    chosen.saturating_sub(room / 2).min(rows - room)
}
