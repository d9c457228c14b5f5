//! The next item among all tasks, and the order of a task's subtasks.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::id::{ItemId, SubtaskId};
use super::model::{Priority, Subtask, Task, TaskStatus};

/// The next item, or `None` if nothing is ready.
///
/// Subtasks of started tasks come before new tasks. Then higher priority, fewer dependencies, smaller id.
pub fn next_item(tasks: &[Task]) -> Option<ItemId> {
    let done = done(tasks);
    let begun = tasks.iter().filter(|task| task.status == TaskStatus::InProgress);
    let subtask = begun
        .flat_map(|task| task.subtasks.iter().map(move |subtask| (task, subtask)))
        .filter(|(_, subtask)| subtask.status.is_open() && met(&subtask.dependencies, &done))
        .min_by_key(|(task, subtask)| {
            let priority = subtask.priority.or(task.priority).unwrap_or_default();
            (Reverse(priority), subtask.dependencies.len(), &task.id, &subtask.id)
        });
    if let Some((_, subtask)) = subtask {
        return Some(subtask.item());
    }
    tasks
        .iter()
        .filter(|task| task.status.is_open() && met(&task.dependencies, &done))
        .min_by_key(|task| {
            let priority: Priority = task.priority.unwrap_or_default();
            (Reverse(priority), task.dependencies.len(), &task.id)
        })
        .map(Task::item)
}

fn done(tasks: &[Task]) -> BTreeSet<ItemId> {
    let own = tasks.iter().filter(|task| task.status == TaskStatus::Done).map(Task::item);
    let below = tasks.iter().flat_map(|task| &task.subtasks);
    own.chain(below.filter(|subtask| subtask.status == TaskStatus::Done).map(Subtask::item)).collect()
}

fn met(dependencies: &[ItemId], done: &BTreeSet<ItemId>) -> bool {
    dependencies.iter().all(|dependency| done.contains(dependency))
}

/// A task's open subtasks in execution order, and those that never become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskPlan<'a> {
    pub order: Vec<&'a SubtaskId>,
    pub stuck: Vec<&'a SubtaskId>,
}

/// Orders open subtasks by dependencies, then by position in the file.
pub fn plan_subtasks<'a>(task: &'a Task, tasks: &[Task]) -> SubtaskPlan<'a> {
    let mut done = done(tasks);
    let mut left: Vec<&Subtask> = task.subtasks.iter().filter(|subtask| subtask.status.is_open()).collect();
    let mut order = Vec::new();
    while let Some(at) = left.iter().position(|subtask| met(&subtask.dependencies, &done)) {
        let subtask = left.remove(at);
        done.insert(subtask.item());
        order.push(&subtask.id);
    }
    SubtaskPlan { order, stuck: left.into_iter().map(|subtask| &subtask.id).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::file::TaskFile;
    use super::*;

    fn tasks(value: &Value) -> Vec<Task> {
        TaskFile::parse(&json!({"tasks": value}).to_string()).unwrap().tags.remove(0).tasks
    }

    fn next(value: &Value) -> String {
        next_item(&tasks(value)).map_or_else(|| "nothing".to_owned(), |item| item.to_string())
    }

    #[test]
    fn subtasks_of_started_tasks_come_first() {
        assert_eq!(
            next(&json!([
                {"id": 1, "title": "a", "priority": "critical"},
                {"id": 2, "title": "b", "status": "in-progress", "priority": "low", "subtasks": [
                    {"id": 1, "title": "x", "status": "done"},
                    {"id": 2, "title": "y", "dependencies": [3]},
                    {"id": 3, "title": "z", "dependencies": [1]},
                ]},
            ])),
            "2.3"
        );
    }

    #[test]
    fn next_task_is_chosen_by_priority_dependencies_and_id() {
        assert_eq!(
            next(&json!([
                {"id": 10, "title": "a", "priority": "high"},
                {"id": "9", "title": "b", "priority": "high"},
                {"id": 3, "title": "c", "priority": "high", "dependencies": [4]},
                {"id": 4, "title": "d", "status": "completed"},
                {"id": 5, "title": "e", "priority": "critical", "dependencies": [10]},
                {"id": 6, "title": "f"},
            ])),
            "9"
        );
    }

    #[test]
    fn done_subtask_meets_a_dependency_even_if_its_task_is_not_done() {
        let value = json!([
            {"id": 1, "title": "a", "status": "deferred", "subtasks": [{"id": 1, "title": "x", "status": "done"}]},
            {"id": 2, "title": "b", "dependencies": ["1.1"]},
        ]);
        assert_eq!(next(&value), "2");
    }

    #[test]
    fn no_task_is_next_when_all_are_blocked_or_closed() {
        let value = json!([{"id": 1, "title": "a", "status": "cancelled"}, {"id": 2, "title": "b", "dependencies": [1]},
            {"id": 3, "title": "c", "dependencies": [3]}]);
        assert_eq!(next(&value), "nothing");
    }

    #[test]
    fn subtasks_are_planned_in_the_order_of_their_dependencies() {
        let tasks = tasks(&json!([{"id": 1, "title": "a", "subtasks": [
            {"id": 1, "title": "x", "dependencies": [3]}, {"id": 2, "title": "y", "status": "done"},
            {"id": 3, "title": "z", "dependencies": [2]}, {"id": 4, "title": "w", "dependencies": ["9.1"]},
        ]}]));
        let plan = plan_subtasks(&tasks[0], &tasks);
        assert_eq!(plan.order.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["3", "1"]);
        assert_eq!(plan.stuck.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["4"]);
    }

    proptest! {
        #[test]
        fn no_subtask_is_planned_before_what_it_depends_on(edges in proptest::collection::vec((0_u8..6, 0_u8..6), 0..10)) {
            let subtasks: Vec<_> = (0_u8..6).map(|id| {
                let to: Vec<u8> = edges.iter().filter(|(from, _)| *from == id).map(|(_, to)| *to).collect();
                json!({"id": id, "title": "s", "dependencies": to})
            }).collect();
            let tasks = tasks(&json!([{"id": 1, "title": "t", "subtasks": subtasks}]));
            let plan = plan_subtasks(&tasks[0], &tasks);
            prop_assert_eq!(plan.order.len() + plan.stuck.len(), 6);
            for (from, to) in edges {
                let at = |id: u8| plan.order.iter().position(|planned| planned.as_str() == id.to_string());
                if let Some(from) = at(from) {
                    prop_assert!(at(to).is_some_and(|to| to < from));
                }
            }
        }
    }
}
