//! A `.taskmaster/` on disk with concurrent writers.

use std::fs;
use std::path::PathBuf;

use paw_autopilot::tasks::{ItemId, NewTask, TagName, TaskError, TaskProject, TaskStatus};
use paw_testkit::Sandbox;

const TWO_TAGS: &str = include_str!("fixtures/tasks.json");

fn project(sandbox: &Sandbox, text: &str) -> (TaskProject, PathBuf) {
    let file = sandbox.write("app/.taskmaster/tasks/tasks.json", text);
    (TaskProject::at(sandbox.root().join("app")), file)
}

fn item(text: &str) -> ItemId {
    text.parse().unwrap()
}

#[test]
fn starting_a_subtask_changes_one_word_of_the_file() {
    let sandbox = Sandbox::new();
    let (project, file) = project(&sandbox, TWO_TAGS);
    let tag = TagName::new("analytics").unwrap();
    let changed = project.set_status(&tag, &item("42.2"), &TaskStatus::InProgress).unwrap();
    let words: Vec<_> = changed.iter().map(|(item, status)| format!("{item} {status}")).collect();
    assert_eq!(words, ["42.2 in-progress"]);
    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(TWO_TAGS.lines().count(), after.lines().count());
    let differing = TWO_TAGS.lines().zip(after.lines()).filter(|(before, after)| before != after).count();
    assert_eq!(differing, 1);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no lock is left");
}

#[test]
fn unchanged_status_does_not_rewrite_the_file() {
    let sandbox = Sandbox::new();
    let (project, file) = project(&sandbox, TWO_TAGS);
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let tag = TagName::new("analytics").unwrap();
    assert!(project.set_status(&tag, &item("42.1"), &TaskStatus::Done).unwrap().is_empty());
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
}

#[test]
fn concurrent_writers_lose_nothing() {
    let sandbox = Sandbox::new();
    let (project, _) = project(&sandbox, TWO_TAGS);
    let tag = TagName::new("analytics").unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (project, tag) = (&project, &tag);
            scope.spawn(move || {
                let now = "2026-01-02T03:04:05Z".parse().unwrap();
                for number in 0..5 {
                    project.add_task(tag, &NewTask::titled(format!("{writer}-{number}")), now).unwrap();
                }
            });
        }
    });
    let file = project.load_tasks().unwrap();
    let tag = file.tag(&tag).unwrap();
    assert_eq!(tag.tasks.len(), 2 + 40);
    assert!(tag.problems.is_empty(), "{:?}", tag.problems);
}

#[test]
fn file_with_merge_markers_is_refused_and_unchanged() {
    let sandbox = Sandbox::new();
    let text = "{\n<<<<<<< HEAD\n  \"tasks\": []\n=======\n  \"tasks\": [1]\n>>>>>>> feat\n}\n";
    let (project, file) = project(&sandbox, text);
    let error = project.set_status(&TagName::master(), &item("1"), &TaskStatus::Done).unwrap_err();
    assert!(error.to_string().contains("merge conflict markers, the first in line 2"), "{error}");
    assert_eq!(fs::read_to_string(file).unwrap(), text);
}

#[test]
fn edit_refuses_only_the_duplicate_item() {
    let sandbox = Sandbox::new();
    let (project, file) =
        project(&sandbox, r#"{"tasks": [{"id": 1}, {"id": "1"}, {"id": 2, "dependencies": [2, 9]}]}"#);
    let error = project.set_status(&TagName::master(), &item("1"), &TaskStatus::Done).unwrap_err();
    assert!(matches!(error, TaskError::Ambiguous { .. }), "{error}");
    project.set_status(&TagName::master(), &item("2"), &TaskStatus::Done).unwrap();
    assert!(
        fs::read_to_string(file).unwrap().contains(r#"{"id": 2, "dependencies": [2, 9], "status": "done"}"#)
    );
}

#[test]
fn nearest_project_within_the_repository_is_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("home/app");
    sandbox.write("home/.taskmaster/tasks/tasks.json", "{}");
    assert_eq!(TaskProject::find(&repo.root.join("src/deep"), &repo.root), None);
    repo.write("packages/a/.taskmaster/config.json", "{}");
    let found = TaskProject::find(&repo.root.join("packages/a/src"), &repo.root).unwrap();
    assert_eq!(found.root, repo.root.join("packages/a"));
}

#[test]
fn old_paths_are_read_if_the_current_ones_are_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("old/tasks/tasks.json", r#"{"tasks": [{"id": 1, "title": "a"}]}"#);
    sandbox.write("old/.taskmasterconfig", r#"{"global": {"defaultTag": "x"}}"#);
    let project = TaskProject::at(sandbox.root().join("old"));
    assert_eq!(project.load_tasks().unwrap().tags[0].tasks.len(), 1);
    assert_eq!(project.resolve_tag(None, None, None).unwrap().as_str(), "x");
}

#[test]
fn the_active_tag_follows_the_branch() {
    let sandbox = Sandbox::new();
    let (project, _) = project(&sandbox, TWO_TAGS);
    assert_eq!(project.resolve_tag(None, None, None).unwrap().as_str(), "master");
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let tag = TagName::new("analytics").unwrap();
    project.set_active_tag(&tag, Some("analytics/task-42-x"), now).unwrap();
    project.set_active_tag(&TagName::master(), None, now).unwrap();
    assert_eq!(project.resolve_tag(None, None, None).unwrap().as_str(), "master");
    assert_eq!(project.resolve_tag(None, None, Some("analytics/task-42-x")).unwrap(), tag);
}
