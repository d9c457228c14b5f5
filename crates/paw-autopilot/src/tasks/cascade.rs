//! Statuses that follow when one is set.

use super::id::ItemId;
use super::model::{Subtask, Task, TaskStatus};

/// All status changes, the requested one first. Unchanged items are omitted.
///
/// A done task closes its open subtasks. A subtask updates its task: done with the last one, in-progress with the
/// first, pending if none has started.
pub fn cascade(task: &Task, item: &ItemId, status: &TaskStatus) -> Vec<(ItemId, TaskStatus)> {
    let mut changes = vec![(item.clone(), status.clone())];
    match item {
        ItemId::Task(_) => {
            if *status == TaskStatus::Done {
                let open = task.subtasks.iter().filter(|subtask| !subtask.status.is_closed());
                changes.extend(open.map(|subtask| (subtask.item(), TaskStatus::Done)));
            }
        }
        ItemId::Subtask(_, own) => {
            let after: Vec<&TaskStatus> = task
                .subtasks
                .iter()
                .map(|subtask| if subtask.id == *own { status } else { &subtask.status })
                .collect();
            if let Some(parent) = status_of_parent(&after) {
                changes.push((task.item(), parent));
            }
        }
    }
    changes.retain(|(item, status)| current(task, item) != Some(status));
    changes
}

fn status_of_parent(subtasks: &[&TaskStatus]) -> Option<TaskStatus> {
    let any = |wanted: &TaskStatus| subtasks.contains(&wanted);
    if subtasks.iter().all(|status| status.is_closed()) && any(&TaskStatus::Done) {
        Some(TaskStatus::Done)
    } else if any(&TaskStatus::InProgress) || any(&TaskStatus::Done) {
        Some(TaskStatus::InProgress)
    } else if subtasks.iter().all(|status| **status == TaskStatus::Pending) {
        Some(TaskStatus::Pending)
    } else {
        None
    }
}

fn current<'a>(task: &'a Task, item: &ItemId) -> Option<&'a TaskStatus> {
    match item {
        ItemId::Task(_) => Some(&task.status),
        ItemId::Subtask(_, id) => task.find_subtask(id).map(|Subtask { status, .. }| status),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::file::TaskFile;
    use super::*;

    fn task(status: &str, subtasks: &[&str]) -> Task {
        let subtasks: Vec<_> = subtasks
            .iter()
            .zip(1..)
            .map(|(status, id)| json!({"id": id, "title": "s", "status": status}))
            .collect();
        let file = json!({"tasks": [{"id": 1, "title": "t", "status": status, "subtasks": subtasks}]});
        TaskFile::parse(&file.to_string()).unwrap().tags.remove(0).tasks.remove(0)
    }

    fn after(task: &Task, item: &str, status: &TaskStatus) -> String {
        let changes = cascade(task, &item.parse().unwrap(), status);
        changes.iter().map(|(item, status)| format!("{item}={status}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn first_subtask_starts_its_task_and_last_one_finishes_it() {
        let begun = task("pending", &["pending", "pending"]);
        assert_eq!(after(&begun, "1.1", &TaskStatus::InProgress), "1.1=in-progress 1=in-progress");
        assert_eq!(after(&begun, "1.1", &TaskStatus::Done), "1.1=done 1=in-progress");
        let nearly = task("in-progress", &["done", "pending", "cancelled"]);
        assert_eq!(after(&nearly, "1.2", &TaskStatus::Done), "1.2=done 1=done");
    }

    #[test]
    fn reopened_subtask_reopens_its_task() {
        assert_eq!(after(&task("done", &["done"]), "1.1", &TaskStatus::Pending), "1.1=pending 1=pending");
        assert_eq!(
            after(&task("done", &["done", "done"]), "1.1", &TaskStatus::Pending),
            "1.1=pending 1=in-progress"
        );
    }

    #[test]
    fn done_task_closes_its_open_subtasks() {
        let open = task("in-progress", &["done", "pending", "cancelled", "review"]);
        assert_eq!(after(&open, "1", &TaskStatus::Done), "1=done 1.2=done 1.4=done");
        assert_eq!(after(&open, "1", &TaskStatus::Deferred), "1=deferred");
    }

    #[test]
    fn unchanged_status_causes_no_changes() {
        assert_eq!(after(&task("done", &["completed"]), "1", &TaskStatus::Done), "");
        assert_eq!(after(&task("review", &["blocked", "deferred"]), "1.1", &TaskStatus::Blocked), "");
    }
}
