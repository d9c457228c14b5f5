//! `git paw hook`, as claude runs it.

use std::fs;

use paw_agent::hooks::notes::HookNotes;
use paw_core::AgentId;
use paw_testkit::git;
use serde_json::{Value, json};

use super::World;
use crate::paw::document;

#[test]
fn hook_allows_a_safe_command_and_logs_the_verdict() {
    let world = World::supervised("");
    let ran = world.asks_to_run("git status --short");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let decision: Value = serde_json::from_str(&ran.stdout).unwrap();
    let allow = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
    assert_eq!(decision, json!({"hookSpecificOutput": allow}));
    assert_eq!(world.verdicts(), [("git status --short".to_owned(), "allow".to_owned())]);
}

#[test]
fn hook_does_not_answer_unsafe_commands() {
    let world = World::supervised("");
    for command in ["rm -rf /", "curl x | sh", "git status; $(reboot)", "cat ../app/README.md"] {
        let ran = world.asks_to_run(command);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{command}");
    }
    let verdicts = world.verdicts();
    assert_eq!(verdicts.len(), 4);
    assert!(verdicts.iter().all(|(_, verdict)| verdict == "ask"), "{verdicts:?}");
    // Paths are relative to the shell's directory.
    let outside = json!({
        "session_id": "s", "hook_event_name": "PermissionRequest", "cwd": "/", "tool_name": "Bash",
        "tool_input": {"command": "git status"},
    });
    assert_eq!(world.hook(&outside.to_string()).stdout, "");
    let nowhere = json!({
        "session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": {"command": "git status"},
    });
    assert_eq!(world.hook(&nowhere.to_string()).stdout, "");
}

#[test]
fn hook_answers_opencode_in_its_format_and_records_its_events() {
    let world = World::supervised("");
    let asked = |permission: &str, about: Value| {
        let facts = json!({"id": "per_1", "sessionID": "ses_1", "permission": permission, "metadata": about});
        let record = json!({"type": "permission.asked", "cwd": world.worktree(), "properties": facts});
        let ran = world.hook_of("opencode", &record.to_string());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        ran.stdout
    };
    let yes = asked("bash", json!({"command": "git status"}));
    assert_eq!(serde_json::from_str::<Value>(&yes).unwrap(), json!({"reply": "once"}));
    let file = world.worktree().join("new.rs");
    assert_ne!(asked("edit", json!({"filepath": file, "diff": "+x"})), "");
    for (permission, about) in [
        ("bash", json!({"command": "git push --force"})),
        ("bash", json!({"command": ["git", "status"]})),
        ("edit", json!({"filepath": world.repo.root.join("README.md")})),
        ("external_directory", json!({"filepath": "/etc"})),
    ] {
        assert_eq!(asked(permission, about.clone()), "", "{permission} {about}");
    }
    let known = document(&world.paw(&["explain", "feat-x", "--json"]));
    assert_eq!(known["state"], "waiting_approval");
}

#[test]
fn hook_allows_edits_only_in_the_worktree() {
    let world = World::supervised("");
    let edit = |file: &str| {
        let record = world.record("PermissionRequest", "Write", &json!({"file_path": file, "content": "x"}));
        !world.hook(&record).stdout.is_empty()
    };
    assert!(edit(world.worktree().join("src/new.rs").to_str().unwrap()));
    assert!(!edit(world.repo.root.join("README.md").to_str().unwrap()));
    assert!(!edit(world.worktree().join(".claude/settings.local.json").to_str().unwrap()));
}

#[test]
fn hook_answers_nothing_without_a_supervisor_or_with_approvals_off() {
    for (mode, config) in
        [("--no-supervisor", ""), ("--supervisor", "[supervisor.auto_approve]\nenabled = false\n")]
    {
        let world = World::started(mode, config);
        assert_eq!(world.asks_to_run("git status").stdout, "", "{mode}");
        assert_eq!(world.verdicts(), [], "{mode}");
    }
}

#[test]
fn hook_allows_nothing_if_the_verdict_cannot_be_logged() {
    let world = World::supervised("");
    fs::create_dir_all(world.repo.root.join(".git/paw/approvals.jsonl")).unwrap();
    let ran = world.asks_to_run("git status");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn hook_identifies_the_agent_by_environment_or_worktree() {
    let mut world = World::supervised("");
    let notes = HookNotes::of(&world.repo.root.join(".git"));
    let send_note = |world: &World| {
        assert_eq!(world.hook(&world.record("PostToolUse", "Bash", &json!({"command": "ls"}))).stdout, "");
    };
    send_note(&world);
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    send_note(&world);
    let read = notes.reader(&AgentId::new("feat-x").unwrap()).read_new().unwrap();
    assert_eq!(read.len(), 2, "by its worktree, and by its environment");
    assert!(read.iter().all(|note| note.answer.is_none() && note.event().is_ok()));
}

#[test]
fn hook_allows_changes_only_in_the_worktree_of_the_receipt() {
    let mut world = World::supervised("");
    world.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
    let other = world.sandbox.root().join("other");
    world.repo.git(["worktree", "add", "--quiet", "-b", "feat/y", other.to_str().unwrap()]);
    for dir in [world.repo.root.clone(), other] {
        let asks = |tool: &str, input: Value| {
            let record = json!({
                "session_id": "s", "hook_event_name": "PermissionRequest", "cwd": dir, "tool_name": tool,
                "tool_input": input,
            });
            world.hook_in(&dir, "claude", &record.to_string()).stdout
        };
        for command in ["git merge feat/x", "git commit -am x", "touch new.txt", "cargo fmt", "mkdir d"] {
            assert_eq!(asks("Bash", json!({"command": command})), "", "{command}");
        }
        assert_eq!(asks("Write", json!({"file_path": dir.join("new.rs"), "content": "x"})), "");
    }
    assert!(world.verdicts().iter().all(|(_, verdict)| verdict == "ask"), "{:?}", world.verdicts());
}

#[test]
fn hook_ignores_invalid_records() {
    let world = World::supervised("");
    for record in ["", "{", "[]", "null", "{\"hook_event_name\":7}", "\u{0}\u{1}", &"[".repeat(100_000)] {
        let ran = world.hook(record);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{record:.20}");
    }
}

#[test]
fn hooks_are_excluded_from_git_and_removed_by_purge() {
    let world = World::supervised("");
    let file = world.worktree().join(".claude/settings.local.json");
    let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let command = settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.ends_with(" hook --cli claude"), "{command}");
    assert_eq!(git(&world.worktree(), ["status", "--porcelain"]), "");
    let exclude = world.repo.root.join(".git/info/exclude");
    assert!(fs::read_to_string(&exclude).unwrap().contains("/.claude/settings.local.json"));
    assert_eq!(world.paw(&["purge", "--force"]).code, 0);
    assert!(!world.worktree().exists());
    assert!(!fs::read_to_string(&exclude).unwrap().contains(".claude"));
}
