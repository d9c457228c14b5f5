//! Expanding a task into subtasks.

use super::world::World;
use crate::paw::{document, paw};

const BARE: &str = r#"{
  "analytics": {
    "tasks": [
      {"id": 42, "title": "User metrics tracking", "status": "pending", "subtasks": []},
      {"id": 43, "title": "Another", "status": "pending"}
    ]
  }
}"#;

const ANSWER: &str = r#"[{"title": "Add metrics schema", "details": "In metrics/part1.py"}, {"title": "Add endpoint", "dependencies": [1]}]"#;

fn divided(answer: &str) -> String {
    format!(
        "case $PAW_PHASE in EXPAND) echo 'Let me see. [x]'; cat <<'END'\n{answer}\nEND\n;; RED) red ;; GREEN) green ;; esac\n"
    )
}

fn stored(world: &World) -> String {
    std::fs::read_to_string(world.repo.root.join(".taskmaster/tasks/tasks.json")).unwrap()
}

#[test]
fn expand_adds_the_subtasks_of_the_executor() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/tasks/tasks.json", BARE, "bare");
    world.executor(&divided(ANSWER));
    let refused = paw(&world.sandbox, &world.repo.root, &["tasks", "expand", "42", "--executor", "scripted"]);
    assert!(refused.code == 1 && refused.stderr.contains("stdin is not a terminal"), "{refused}");
    assert_eq!(stored(&world), BARE);
    let ran = paw(
        &world.sandbox,
        &world.repo.root,
        &["tasks", "expand", "42", "--executor", "scripted", "--yes", "--json"],
    );
    assert_eq!(document(&ran)["added"], serde_json::json!(["42.1", "42.2"]));
    let listed = document(&paw(&world.sandbox, &world.repo.root, &["tasks", "show", "42", "--json"]));
    assert!(
        listed.to_string().contains("Add metrics schema") && listed.to_string().contains("Add endpoint"),
        "{listed}"
    );
    assert!(
        stored(&world).contains("{\"id\": 43, \"title\": \"Another\", \"status\": \"pending\"}"),
        "{}",
        stored(&world)
    );
    let again =
        paw(&world.sandbox, &world.repo.root, &["tasks", "expand", "42", "--executor", "scripted", "--yes"]);
    assert!(again.code == 1 && again.stderr.contains("has subtasks already"), "{again}");
}

#[test]
fn expand_refuses_invalid_answers_and_changed_files() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/tasks/tasks.json", BARE, "bare");
    let expand = || {
        paw(&world.sandbox, &world.repo.root, &["tasks", "expand", "42", "--executor", "scripted", "--yes"])
    };
    for (script, words) in [
        (divided("I would rather not."), "it contains no list of subtasks"),
        (divided(r#"[{"title": "a", "dependencies": [1]}]"#), "not an earlier one"),
        (
            "echo '[{\"title\": \"a\"}]'; touch metrics/new.py\n".to_owned(),
            "changed files instead of answering: metrics/new.py",
        ),
        ("exit 4\n".to_owned(), "did not answer: exited with code 4"),
    ] {
        world.executor(&script);
        let ran = expand();
        assert!(ran.code == 1 && ran.stderr.contains(words), "{ran}");
        assert_eq!(stored(&world), BARE);
    }
}

#[test]
fn run_expands_a_task_without_subtasks() {
    let Some(world) = World::find() else { return };
    world.repo.commit_file(".taskmaster/tasks/tasks.json", BARE, "bare");
    world.executor(&divided(ANSWER));
    let ran = world.run();
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("→ Expands task 42: it has no subtasks yet\n  42.1 Add metrics schema\n  42.2 Add endpoint [depends on 42.1]\n"), "{ran}");
    assert_eq!(world.subjects().len(), 2);
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
}
