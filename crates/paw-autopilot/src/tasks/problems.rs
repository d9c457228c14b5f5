//! Problems in a task list. They never prevent reading the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::id::ItemId;
use super::model::{Task, TaskStatus};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskProblem {
    /// The task or subtask; also describes one without an id.
    pub item: String,
    pub kind: ProblemKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    DuplicateId,
    WrongType,
    UnknownStatus,
    UnknownPriority,
    SelfDependency,
    MissingDependency,
    CircularDependency,
    /// It depends on a cancelled item.
    CancelledDependency,
}

impl TaskProblem {
    pub(super) fn new(item: impl fmt::Display, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { item: item.to_string(), kind, message: message.into() }
    }
}

impl fmt::Display for TaskProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.message)
    }
}

/// Finds duplicate ids and dependencies that cannot be met.
pub fn find_problems(tasks: &[Task]) -> Vec<TaskProblem> {
    let items = items(tasks);
    let mut known: BTreeMap<&ItemId, &TaskStatus> = BTreeMap::new();
    let mut problems = Vec::new();
    for (id, status, _) in &items {
        if known.insert(id, status).is_some() {
            problems.push(TaskProblem::new(id, ProblemKind::DuplicateId, "duplicate id"));
        }
    }
    for (id, status, dependencies) in &items {
        for dependency in *dependencies {
            let problem = match known.get(dependency) {
                _ if dependency == id => (ProblemKind::SelfDependency, "depends on itself".to_owned()),
                None => {
                    (ProblemKind::MissingDependency, format!("depends on {dependency}, which does not exist"))
                }
                Some(TaskStatus::Cancelled) if status.is_open() => (
                    ProblemKind::CancelledDependency,
                    format!("depends on {dependency}, which is cancelled and will never be done"),
                ),
                Some(_) => continue,
            };
            problems.push(TaskProblem::new(id, problem.0, problem.1));
        }
    }
    problems.extend(cycles(&items).into_iter().map(|cycle| {
        let path: Vec<_> = cycle.iter().chain(cycle.first()).map(ToString::to_string).collect();
        let message = format!("depends on itself through others: {}", path.join(" → "));
        TaskProblem::new(&cycle[0], ProblemKind::CircularDependency, message)
    }));
    problems
}

type ItemEdges<'a> = (ItemId, &'a TaskStatus, &'a [ItemId]);

fn items(tasks: &[Task]) -> Vec<ItemEdges<'_>> {
    tasks
        .iter()
        .flat_map(|task| {
            let own = (task.item(), &task.status, task.dependencies.as_slice());
            let below = task.subtasks.iter();
            std::iter::once(own).chain(
                below.map(|subtask| (subtask.item(), &subtask.status, subtask.dependencies.as_slice())),
            )
        })
        .collect()
}

/// All cycles of more than one item, each starting at its smallest. Iterative, so that long chains do not overflow
/// the stack.
fn cycles(items: &[ItemEdges<'_>]) -> Vec<Vec<ItemId>> {
    let mut edges: BTreeMap<&ItemId, Vec<&ItemId>> = BTreeMap::new();
    for (id, _, dependencies) in items {
        edges.entry(id).or_default().extend(*dependencies);
    }
    let mut finished: BTreeSet<&ItemId> = BTreeSet::new();
    let mut found: BTreeSet<Vec<ItemId>> = BTreeSet::new();
    for start in edges.keys() {
        let mut path: Vec<(&ItemId, usize)> = vec![(start, 0)];
        let mut on_path: BTreeMap<&ItemId, usize> = BTreeMap::from([(*start, 0)]);
        while let Some((node, next)) = path.pop() {
            let Some(target) = edges.get(node).and_then(|targets| targets.get(next)).copied() else {
                on_path.remove(node);
                finished.insert(node);
                continue;
            };
            path.push((node, next + 1));
            if let Some(at) = on_path.get(target) {
                let circle: Vec<ItemId> = path[*at..].iter().map(|(id, _)| (*id).clone()).collect();
                if circle.len() > 1 {
                    found.insert(from_smallest(circle));
                }
            } else if !finished.contains(target) && edges.contains_key(target) {
                on_path.insert(target, path.len());
                path.push((target, 0));
            }
        }
    }
    found.into_iter().collect()
}

fn from_smallest(mut circle: Vec<ItemId>) -> Vec<ItemId> {
    let smallest = circle.iter().enumerate().min_by_key(|(_, id)| *id).map_or(0, |(at, _)| at);
    circle.rotate_left(smallest);
    circle
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::file::TaskFile;
    use super::super::tag::TagName;
    use super::*;

    fn problems(tasks: &serde_json::Value) -> Vec<String> {
        let file = TaskFile::parse(&json!({"master": {"tasks": tasks}}).to_string()).unwrap();
        file.tag(&TagName::master()).unwrap().problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn duplicates_cycles_and_unmet_dependencies_are_reported() {
        let found = problems(&json!([
            {"id": 1, "title": "a", "dependencies": [2]},
            {"id": "2", "title": "b", "dependencies": ["3"]},
            {"id": 3, "title": "c", "dependencies": [1, 3, 9, 4]},
            {"id": 3, "title": "again"},
            {"id": 4, "title": "d", "status": "cancelled", "subtasks": [
                {"id": 1, "title": "x", "dependencies": [2]},
                {"id": 2, "title": "y", "dependencies": ["4.1"]},
            ]},
        ]));
        insta::assert_snapshot!(found.join("\n"), @"
        3: duplicate id
        3: depends on itself
        3: depends on 9, which does not exist
        3: depends on 4, which is cancelled and will never be done
        1: depends on itself through others: 1 → 2 → 3 → 1
        4.1: depends on itself through others: 4.1 → 4.2 → 4.1
        ");
    }

    #[test]
    fn valid_list_has_no_problems() {
        let sound = json!([{"id": 1, "title": "a"}, {"id": 2, "title": "b", "dependencies": ["1", "3.1"]},
            {"id": 3, "title": "c", "subtasks": [{"id": 1, "title": "x"}]}]);
        assert!(problems(&sound).is_empty(), "{:?}", problems(&sound));
    }

    #[test]
    fn long_dependency_chain_does_not_overflow_the_stack() {
        let tasks: Vec<_> =
            (0..20_000).map(|id| json!({"id": id, "title": "t", "dependencies": [id + 1]})).collect();
        assert_eq!(problems(&json!(tasks)).len(), 1);
    }

    proptest! {
        #[test]
        fn cycle_is_found_exactly_when_no_order_exists(edges in proptest::collection::vec((0_u8..6, 0_u8..6), 0..12)) {
            let tasks: Vec<_> = (0_u8..6).map(|id| {
                let to: Vec<u8> = edges.iter().filter(|(from, to)| *from == id && *to != id).map(|(_, to)| *to).collect();
                json!({"id": id, "title": "t", "dependencies": to})
            }).collect();
            let circular = problems(&json!(tasks)).iter().any(|problem| problem.contains("through others"));
            let mut left: BTreeSet<u8> = (0..6).collect();
            loop {
                let free: Vec<u8> = left.iter().copied()
                    .filter(|id| !edges.iter().any(|(from, to)| from == id && from != to && left.contains(to))).collect();
                if free.is_empty() { break; }
                for id in free { left.remove(&id); }
            }
            prop_assert_eq!(circular, !left.is_empty());
        }
    }
}
