use proptest::prelude::*;

use super::*;

/// Mixed styles, id types, escapes, unusual numbers and an unknown field.
const ODD: &str = "\u{feff}{\r\n\t\"master\": {\r\n\t\t\"tasks\": [\r\n\t\t\t{ \"id\": 1, \"title\": \"caf\\u00e9\", \"effort\": 1e5,\r\n\t\t\t  \"status\" : \"pending\" ,\"future\":{\"x\":[ ]}, \"subtasks\": [ {\"id\":\"1.1\",\"title\":\"s\"} ] },\r\n\t\t\t{ \"id\": \"2\", \"title\": \"b\", \"status\": \"completed\" }\r\n\t\t],\r\n\t\t\"metadata\": { \"created\": \"x\" }\r\n\t},\r\n\t\"other\": {\"tasks\": [{\"id\": 1, \"title\": \"not me\", \"status\": \"pending\"}]}\r\n}";

fn master() -> TagName {
    TagName::master()
}

fn statuses(text: &str, changes: &[(&str, TaskStatus)]) -> Result<String, EditError> {
    let changes: Vec<_> =
        changes.iter().map(|(item, status)| (item.parse().unwrap(), status.clone())).collect();
    set_statuses(text, &master(), &changes)
}

#[test]
fn status_edit_changes_only_its_own_bytes() {
    let done = statuses(ODD, &[("1", TaskStatus::InProgress)]).unwrap();
    assert_eq!(done, ODD.replacen("\"status\" : \"pending\"", "\"status\" : \"in-progress\"", 1));
}

#[test]
fn subtask_edit_does_not_change_a_task_with_the_same_number() {
    let text =
        r#"{"tasks":[{"id":1,"status":"pending"},{"id":42,"subtasks":[{"id":1,"status":"pending"}]}]}"#;
    let done = statuses(text, &[("42.1", TaskStatus::Done)]).unwrap();
    assert_eq!(
        done,
        r#"{"tasks":[{"id":1,"status":"pending"},{"id":42,"subtasks":[{"id":1,"status":"done"}]}]}"#
    );
}

#[test]
fn missing_status_is_added_to_its_item() {
    let done = statuses(ODD, &[("1.1", TaskStatus::Done)]).unwrap();
    assert_eq!(done, ODD.replace("\"title\":\"s\"}", "\"title\":\"s\",\"status\": \"done\"}"));
}

#[test]
fn status_synonym_is_kept() {
    assert_eq!(statuses(ODD, &[("2", TaskStatus::Done)]).unwrap(), ODD);
}

#[test]
fn several_statuses_change_in_one_step() {
    let done =
        statuses(ODD, &[("1", TaskStatus::Done), ("1.1", TaskStatus::Done), ("2", TaskStatus::Review)])
            .unwrap();
    let file = TaskFile::parse(&done).unwrap();
    let tag = file.tag(&master()).unwrap();
    assert_eq!(tag.tasks[0].status, TaskStatus::Done);
    assert_eq!(tag.tasks[0].subtasks[0].status, TaskStatus::Done);
    assert_eq!(tag.tasks[1].status, TaskStatus::Review);
    assert!(done.contains(r#""title": "not me", "status": "pending""#));
}

#[test]
fn edit_refuses_missing_and_duplicate_items() {
    let text = r#"{"tasks":[{"id":1},{"id":"1"},{"id":2}]}"#;
    assert!(matches!(
        statuses(text, &[("1", TaskStatus::Done)]),
        Err(EditError::Task(TaskError::Ambiguous { .. }))
    ));
    assert!(matches!(
        statuses(text, &[("9", TaskStatus::Done)]),
        Err(EditError::Task(TaskError::NoSuchItem { .. }))
    ));
    assert!(matches!(
        statuses(text, &[("2.1", TaskStatus::Done)]),
        Err(EditError::Task(TaskError::NoSuchItem { .. }))
    ));
    let other = set_statuses(text, &TagName::new("x").unwrap(), &[]).unwrap_err();
    assert_eq!(other.to_string(), "there is no tag 'x' in tasks.json");
}

#[test]
fn new_task_follows_the_style_of_the_file() {
    let text = "{\n  \"master\": {\n    \"tasks\": [\n      {\n        \"id\": \"7\",\n        \"title\": \"a\"\n      }\n    ]\n  }\n}";
    let new = NewTask { dependencies: vec!["7".parse().unwrap()], ..NewTask::titled("say \"hi\"") };
    let (done, id) = add(text, &master(), &new).unwrap();
    assert_eq!(id.to_string(), "8");
    insta::assert_snapshot!(done, @r#"
    {
      "master": {
        "tasks": [
          {
            "id": "7",
            "title": "a"
          },
          {
            "id": "8",
            "title": "say \"hi\"",
            "description": "say \"hi\"",
            "status": "pending",
            "dependencies": [
              7
            ],
            "priority": "medium",
            "subtasks": []
          }
        ]
      }
    }
    "#);
}

#[test]
fn a_subtask_is_added_to_a_task_without_any() {
    let text = r#"{"tasks":[{"id":3,"title":"a"}]}"#;
    let (done, id) =
        add(text, &master(), &NewTask { parent: Some(TaskId::new("3").unwrap()), ..NewTask::titled("s") })
            .unwrap();
    assert_eq!(id.to_string(), "3.1");
    let file = TaskFile::parse(&done).unwrap();
    assert_eq!(file.tags[0].tasks[0].subtasks[0].title, "s");
    let new = NewTask {
        parent: Some(TaskId::new("3").unwrap()),
        dependencies: vec!["3.1".parse().unwrap()],
        ..NewTask::titled("t")
    };
    let (done, id) = add(&done, &master(), &new).unwrap();
    assert_eq!(id.to_string(), "3.2");
    assert!(done.contains(r#""dependencies":[1]"#), "{done}");
}

#[test]
fn add_refuses_a_missing_dependency() {
    let text = r#"{"tasks":[{"id":3}]}"#;
    let new = NewTask { dependencies: vec!["4".parse().unwrap()], ..NewTask::titled("x") };
    assert!(add(text, &master(), &new).is_err());
    let sub = NewTask {
        parent: Some(TaskId::new("3").unwrap()),
        dependencies: vec!["3".parse().unwrap()],
        ..NewTask::titled("x")
    };
    assert!(add(text, &master(), &sub).is_err());
}

#[test]
fn task_can_be_added_to_a_new_file() {
    let text = empty_file(&master(), "2026-01-02T03:04:05Z".parse().unwrap());
    let (done, id) = add(&text, &master(), &NewTask::titled("first")).unwrap();
    assert_eq!(id.to_string(), "1");
    assert_eq!(TaskFile::parse(&done).unwrap().tags[0].tasks[0].title, "first");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(|n| json!(n)),
        "\\PC{0,6}".prop_map(|s| json!(s))
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|items| json!(items)),
            proptest::collection::btree_map("[a-d]", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn edit_changes_only_the_named_value(extra in json_value(), pretty in any::<bool>(), status in "pending|done|weird|") {
        let before = json!({"a": {"tasks": [{"id": 1, "x": extra.clone(), "status": status}], "m": extra.clone()},
            "master": {"tasks": [{"id": "1", "y": extra.clone(), "status": status, "z": extra}]}});
        let text = if pretty { format!("{before:#}") } else { before.to_string() };
        let done = statuses(&text, &[("1", TaskStatus::Blocked)]).unwrap();
        let mut expected = before;
        expected["master"]["tasks"][0]["status"] = json!("blocked");
        prop_assert_eq!(json_text::parse(&done).unwrap(), expected);
        let undone = statuses(&done, &[("1", TaskStatus::from_word(&status))]).unwrap();
        if ["pending", "done", "weird"].contains(&status.as_str()) {
            prop_assert_eq!(undone, text);
        }
    }
}
