//! Resolves conflicts in `tasks.json`. Parallel tasks each set their own status, and git reports a conflict when the
//! lines are adjacent.

use crate::tasks::edit::set_statuses;
use crate::tasks::{ItemId, TagName, TaskFile, TaskStatus};

/// Merges the status changes of both sides. Returns `None` if one side changed more than statuses.
pub fn merge_statuses(base: &str, ours: &str, theirs: &str, tag: &TagName) -> Option<String> {
    let before = statuses(base, tag)?;
    let changes: Vec<(ItemId, TaskStatus)> =
        statuses(theirs, tag)?.into_iter().filter(|now| !before.contains(now)).collect();
    let only_statuses = set_statuses(base, tag, &changes).ok()? == theirs;
    if only_statuses { set_statuses(ours, tag, &changes).ok() } else { None }
}

fn statuses(text: &str, tag: &TagName) -> Option<Vec<(ItemId, TaskStatus)>> {
    let file = TaskFile::parse(text).ok()?;
    let tasks = &file.tag(tag)?.tasks;
    let each = tasks.iter().flat_map(|task| {
        let below = task.subtasks.iter().map(|subtask| (subtask.item(), subtask.status.clone()));
        std::iter::once((task.item(), task.status.clone())).chain(below)
    });
    Some(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"{"master": {"tasks": [
{"id": 1, "title": "a", "status": "pending", "subtasks": [{"id": 1, "title": "x"}]},
{"id": 2, "title": "b", "status": "pending"}
]}}"#;

    fn settled(ours: &str, theirs: &str) -> Option<String> {
        merge_statuses(BASE, ours, theirs, &TagName::master())
    }

    #[test]
    fn merge_keeps_the_statuses_of_both_sides() {
        let ours = BASE.replace(r#""title": "b", "status": "pending""#, r#""title": "b", "status": "done""#);
        let theirs = BASE
            .replace(r#""title": "a", "status": "pending""#, r#""title": "a", "status": "review""#)
            .replace(r#""title": "x""#, r#""title": "x", "status": "done""#);
        let both = settled(&ours, &theirs).unwrap();
        insta::assert_snapshot!(both, @r#"
        {"master": {"tasks": [
        {"id": 1, "title": "a", "status": "review", "subtasks": [{"id": 1, "title": "x", "status": "done"}]},
        {"id": 2, "title": "b", "status": "done"}
        ]}}
        "#);
    }

    #[test]
    fn merge_refuses_more_than_status_changes() {
        let ours = BASE.replace("\"b\", \"status\": \"pending\"", "\"b\", \"status\": \"done\"");
        assert_eq!(settled(&ours, &BASE.replace("\"a\"", "\"another title\"")), None);
        assert_eq!(settled(&ours, &BASE.replace(r#"[{"id": 1, "title": "x"}]"#, "[]")), None);
        assert_eq!(settled(&ours, "<<<<<<< ours"), None);
        assert_eq!(settled("{}", &BASE.replace("pending", "done")), None);
    }
}
