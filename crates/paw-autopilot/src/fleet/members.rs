//! The requested tasks, ordered by their dependencies.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::FleetError;
use crate::tasks::file::TagList;
use crate::tasks::{ItemId, Task, TaskError, TaskId, TaskStatus};
use crate::work::WorkError;
use crate::work::task_files::files_of;

/// A requested task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetMember {
    pub task: TaskId,
    pub title: String,
    /// Files its open subtasks mention, relative to the project.
    pub files: Vec<PathBuf>,
    /// Requested tasks it depends on.
    pub after: Vec<TaskId>,
    /// tasks.json lists it as done.
    pub done: bool,
}

/// Returns the requested tasks, dependencies first, otherwise in the order given.
pub fn ordered_members(list: &TagList, requested: &[String]) -> Result<Vec<FleetMember>, FleetError> {
    let mut tasks: Vec<&Task> = Vec::new();
    for id in requested {
        let task = find(list, id)?;
        if tasks.iter().any(|other| other.id == task.id) {
            return Err(FleetError::Twice(task.id.clone()));
        }
        tasks.push(task);
    }
    let named: BTreeSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut waiting = Vec::new();
    for task in tasks {
        let done = task.status == TaskStatus::Done;
        let after = if done { Vec::new() } else { after(task, &named, list)? };
        let (task, title, files) = (task.id.clone(), task.title.clone(), files(task));
        waiting.push(FleetMember { task, title, files, after, done });
    }
    sort_by_dependencies(waiting)
}

fn files(task: &Task) -> Vec<PathBuf> {
    let open = task.subtasks.iter().filter(|subtask| subtask.status.is_open());
    let mut files: Vec<PathBuf> = open.flat_map(files_of).collect();
    files.sort();
    files.dedup();
    files
}

fn find<'a>(list: &'a TagList, id: &str) -> Result<&'a Task, FleetError> {
    let item = id.parse::<ItemId>()?;
    let ItemId::Task(id) = &item else { return Err(WorkError::OnlyTasks(item.to_string()).into()) };
    let mut found = list.tasks.iter().filter(|task| task.id == *id);
    match (found.next(), found.next()) {
        (Some(task), None) => Ok(task),
        (None, _) => Err(TaskError::NoSuchItem { item, tag: list.name.clone() }.into()),
        (Some(_), Some(_)) => Err(TaskError::Ambiguous { item, tag: list.name.clone() }.into()),
    }
}

/// Tasks that the task or its open subtasks depend on.
fn after(task: &Task, named: &BTreeSet<&TaskId>, list: &TagList) -> Result<Vec<TaskId>, FleetError> {
    let below = task.subtasks.iter().filter(|subtask| subtask.status.is_open());
    let all = task.dependencies.iter().chain(below.flat_map(|subtask| &subtask.dependencies));
    let mut after = Vec::new();
    for dependency in all {
        let other = dependency.task();
        let own = matches!(dependency, ItemId::Subtask(..)) && *other == task.id;
        let state = status_of(dependency, list);
        if own || state == Some(&TaskStatus::Done) || after.contains(other) {
            continue;
        }
        if !named.contains(other) {
            return Err(FleetError::WaitsFor {
                task: task.id.clone(),
                dependency: dependency.noun(),
                state: state.map_or_else(|| "missing".to_owned(), |state| format!("not done ({state})")),
                first: other.clone(),
            });
        }
        after.push(other.clone());
    }
    Ok(after)
}

fn status_of<'a>(item: &ItemId, list: &'a TagList) -> Option<&'a TaskStatus> {
    let task = list.find_task(item.task())?;
    match item {
        ItemId::Task(_) => Some(&task.status),
        ItemId::Subtask(_, id) => task.find_subtask(id).map(|subtask| &subtask.status),
    }
}

fn sort_by_dependencies(mut waiting: Vec<FleetMember>) -> Result<Vec<FleetMember>, FleetError> {
    let mut ordered: Vec<FleetMember> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_there = |id: &TaskId| ordered.iter().any(|earlier| earlier.task == *id);
        let Some(at) = waiting.iter().position(|member| member.after.iter().all(is_there)) else {
            return Err(FleetError::Circle(circle(&waiting)));
        };
        ordered.push(waiting.remove(at));
    }
    Ok(ordered)
}

/// Every task here waits for another one here, so following the dependencies always reaches a cycle.
fn circle(waiting: &[FleetMember]) -> Vec<TaskId> {
    let next = |task: &TaskId| {
        let member = waiting.iter().find(|member| member.task == *task)?;
        member.after.iter().find(|other| waiting.iter().any(|member| member.task == **other))
    };
    let mut path: Vec<TaskId> = waiting.first().map(|member| member.task.clone()).into_iter().collect();
    while let Some(target) = path.last().and_then(next) {
        if let Some(at) = path.iter().position(|passed| passed == target) {
            return path.split_off(at);
        }
        path.push(target.clone());
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::tasks::{TagName, TaskFile};

    fn list(tasks: &Value) -> TagList {
        let file = TaskFile::parse(&json!({"master": {"tasks": tasks}}).to_string()).unwrap();
        file.tag(&TagName::master()).unwrap().clone()
    }

    fn ordered(tasks: &Value, requested: &[&str]) -> Result<Vec<String>, String> {
        let requested: Vec<String> = requested.iter().map(ToString::to_string).collect();
        let members = ordered_members(&list(tasks), &requested).map_err(|error| error.to_string())?;
        let words = |member: &FleetMember| {
            let after: Vec<&str> = member.after.iter().map(TaskId::as_str).collect();
            format!("{} after [{}]{}", member.task, after.join(" "), if member.done { " done" } else { "" })
        };
        Ok(members.iter().map(words).collect())
    }

    #[test]
    fn fleet_tasks_are_ordered_by_dependencies_then_by_request() {
        let tasks = json!([
            {"id": 1, "title": "a", "dependencies": [3], "subtasks": [{"id": 1}]},
            {"id": 2, "title": "b", "subtasks": [{"id": 1, "dependencies": ["1.1"]}, {"id": 2, "dependencies": [1]}]},
            {"id": 3, "title": "c", "dependencies": [4]},
            {"id": 4, "title": "d", "status": "done", "dependencies": [9]},
            {"id": 5, "title": "e"},
        ]);
        assert_eq!(
            ordered(&tasks, &["2", "5", "1", "3", "4"]).unwrap(),
            ["5 after []", "3 after []", "1 after [3]", "2 after [1]", "4 after [] done"]
        );
    }

    #[test]
    fn fleet_refuses_invalid_requests() {
        let tasks = json!([
            {"id": 1, "title": "a", "dependencies": [2]}, {"id": 2, "title": "b", "dependencies": [3]},
            {"id": 3, "title": "c", "dependencies": [1]}, {"id": 4, "title": "d", "dependencies": [5]},
            {"id": 5, "title": "e", "status": "review"}, {"id": 6, "title": "f", "dependencies": [6]},
            {"id": 7, "title": "g"}, {"id": 7, "title": "g"},
        ]);
        let refusals: Vec<String> = [
            vec!["1", "2", "3"],
            vec!["7"],
            vec!["4", "3"],
            vec!["5", "5"],
            vec!["6"],
            vec!["9"],
            vec!["1.1"],
            vec!["-x"],
        ]
        .iter()
        .map(|requested| {
            ordered(&tasks, requested).unwrap_err().lines().next().unwrap_or_default().to_owned()
        })
        .collect();
        insta::assert_snapshot!(refusals.join("\n"), @"
        these tasks depend on each other, so none of them can start: 1 → 2 → 3 → 1
        task 7 is in tag 'master' more than once
        task 4 depends on task 5, which is not done (review) and not in the request
        task 5 is named twice
        these tasks depend on each other, so none of them can start: 6 → 6
        there is no task 9 in tag 'master'
        '1.1' is a subtask; a run does a whole task
        '-x' is not a task id
        ");
    }

    proptest! {
        #[test]
        fn fleet_order_contains_every_task_after_its_dependencies(
            edges in proptest::collection::vec((0_u8..8, 0_u8..8), 0..14),
        ) {
            let tasks: Vec<Value> = (0_u8..8).map(|id| {
                let to: Vec<u8> = edges.iter().filter(|(from, _)| *from == id).map(|(_, to)| *to).collect();
                json!({"id": id, "title": "t", "dependencies": to})
            }).collect();
            let requested: Vec<String> = (0..8).map(|id: u8| id.to_string()).collect();
            match ordered_members(&list(&json!(tasks)), &requested) {
                Ok(members) => {
                    prop_assert_eq!(members.len(), 8);
                    for (at, member) in members.iter().enumerate() {
                        for other in &member.after {
                            prop_assert!(members[..at].iter().any(|earlier| earlier.task == *other));
                        }
                    }
                }
                Err(FleetError::Circle(circle)) => {
                    for (at, task) in circle.iter().enumerate() {
                        let next = &circle[(at + 1) % circle.len()];
                        let id = |task: &TaskId| task.number().and_then(|id| u8::try_from(id).ok()).unwrap();
                        prop_assert!(edges.contains(&(id(task), id(next))));
                    }
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}
