use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(value: &Value) -> TaskFile {
    TaskFile::parse(&value.to_string()).unwrap()
}

#[test]
fn a_tagged_file_has_a_list_per_tag() {
    let file = parse(&json!({
        "master": {"tasks": [{"id": 1, "title": "a"}], "metadata": {"created": "x"}},
        "analytics": {"tasks": [{"id": "42", "title": "b"}]},
    }));
    assert_eq!(file.shape, FileShape::Tagged);
    assert_eq!(file.tag_names(), ["master", "analytics"]);
    assert_eq!(file.tags[1].tasks[0].id.as_str(), "42");
}

#[test]
fn a_flat_file_is_the_tag_master() {
    let file = parse(&json!({"tasks": [{"id": 1, "title": "a"}], "metadata": {"projectName": "x"}}));
    assert_eq!((file.shape, file.tag_names()), (FileShape::Flat, vec!["master".to_owned()]));
}

#[test]
fn file_with_both_formats_shows_all_tasks() {
    let file = parse(&json!({"tasks": [{"id": 7, "title": "old"}], "feature": {"tasks": []}}));
    assert_eq!(file.tag_names(), ["master", "feature"]);
    let file = parse(&json!({"tasks": [{"id": 7}], "master": {"tasks": [{"id": 8}]}}));
    assert_eq!(file.tags[0].tasks[0].id.as_str(), "8");
}

#[test]
fn number_and_string_ids_are_equal() {
    let file = parse(&json!({"tasks": [
        {"id": 1, "title": "a", "dependencies": ["2"]},
        {"id": "2", "title": "b", "subtasks": [
            {"id": "2.1", "title": "dotted", "parentId": "undefined"},
            {"id": 2, "title": "x", "dependencies": [1, "2.1"]},
        ]},
    ]}));
    let tag = &file.tags[0];
    assert!(tag.problems.is_empty(), "{:?}", tag.problems);
    assert_eq!(tag.tasks[0].dependencies, [tag.tasks[1].item()]);
    let first = tag.tasks[1].subtasks[0].item();
    assert_eq!(tag.tasks[1].subtasks[1].dependencies, [first.clone(), first]);
}

#[test]
fn unreadable_tasks_are_reported_and_the_others_are_kept() {
    let file = parse(&json!({"tasks": [
        5, {"title": "no id"}, {"id": {}, "title": "odd"}, {"id": "a b"}, {"id": 1.5},
        {"id": 1, "title": 3, "status": 4, "priority": "urgent", "dependencies": "2", "subtasks": {}},
        {"id": 2, "title": "fine", "status": "waiting", "dependencies": [null, [], "x y"], "subtasks": [7]},
    ]}));
    let tag = &file.tags[0];
    assert_eq!(tag.tasks.len(), 2);
    insta::assert_snapshot!(tag.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), @r#"
    task number 1: is not an object
    task number 2: has no id, so it cannot be used
    task number 3: has no id, so it cannot be used
    task number 4: its id 'a b' is not a task id
    task number 5: its id '1.5' is not a task id
    1: its 'title' is not a text
    1: its 'status' is not a text
    1: its priority 'urgent' is unknown and counts as medium
    1: its 'dependencies' is not a list
    1: its 'subtasks' is not a list
    2: its status 'waiting' is unknown
    2: depends on null, which is not an id
    2: depends on [], which is not an id
    2: depends on "x y", which is not an id
    subtask number 1 of task 2: is not an object
    "#);
}

#[test]
fn task_list_with_missing_fields_is_read_completely() {
    let file = parse(&json!({"tasks": [
        {"id": 1, "title": "a", "description": ""}, {"id": 2, "title": "b", "status": "completed", "priority": null},
    ]}));
    assert_eq!(file.tags[0].tasks.len(), 2);
    assert!(file.tags[0].problems.is_empty());
}

#[test]
fn invalid_task_file_is_an_error() {
    let error = |text: &str| TaskFile::parse(text).unwrap_err().to_string();
    assert_eq!(error("[]"), "its root is not an object");
    assert_eq!(error("{\"tasks\": {}}"), "it has neither a list \"tasks\" nor a tag with one");
    assert!(error("{\n=======\n").contains("not valid JSON"));
    assert!(error("{\n<<<<<<< a\n").contains("line 2"));
    assert!(error(&"[".repeat(100_000)).contains("not valid JSON"));
}

proptest! {
    #[test]
    fn task_file_parser_never_panics(text in "(\\{|\\}|\\[|\\]|,|:|\"tasks\"|\"id\"|\"subtasks\"|\"dependencies\"|\"1.1\"|1|null| ){0,40}") {
        let _ = TaskFile::parse(&text);
    }
}
