//! Configuration keys of the monitor and its hooks, each with its effect.

use std::fs;

use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::AgentId;
use paw_core::paths::PawDir;
use paw_testkit::{git, wait_until};
use serde_json::{Value, json};

use super::World;

fn trail(world: &World) -> String {
    fs::read_to_string(world.repo.root.join(".git-paw/broker.log")).unwrap_or_default()
}

/// All errors of feedback messages.
fn feedback(world: &World) -> String {
    world.messages("agent.feedback", "errors").join("\n")
}

fn run(world: &World, event: &str, command: &str) -> String {
    world.hook(&world.record(event, "Bash", &json!({"command": command}))).stdout
}

/// The agent's broker token.
fn token(world: &World) -> String {
    let dir = PawDir::of(&world.repo.root.join(".git"));
    let log = log::open(&dir.log()).unwrap();
    let session = log.current_session().unwrap().unwrap();
    let token = Keyring::new(&log, dir.path()).mint(&session, &AgentId::new("feat-x").unwrap()).unwrap();
    token.reveal().to_owned()
}

#[test]
fn pane_borders_show_agent_states_while_the_monitor_runs() {
    let world = World::supervised("");
    let shown = || world.tmux(&["display-message", "-p", "-t", &world.pane(), "#{@paw_state}"]);
    let option = |name: &str| world.tmux(&["show-options", "-w", "-v", "-t", "=paw-app:", name]);
    assert_eq!(option("pane-border-status"), "top");
    assert!(option("pane-border-format").contains("#{@paw_label}"));
    world.tmux(&["select-pane", "-t", &world.pane(), "-T", "* Some CLI"]);
    let label = world.tmux(&["display-message", "-p", "-t", &world.pane(), "#{@paw_label}"]);
    assert_eq!(label, "feat/x → claude", "a CLI cannot change it");
    wait_until("the agent is idle", || (shown() == "idle").then_some(()));
    world.submit("[[bash:git push --force]]");
    wait_until("the agent waits", || (shown() == "needs approval: git push --force").then_some(()));
    assert_eq!(world.paw(&["pause"]).code, 0);
    wait_until("the borders are cleared", || shown().is_empty().then_some(()));
}

#[test]
fn monitor_leaves_borders_alone_without_border_affordances() {
    let world = World::supervised("[layout]\nborder_affordances = false\n");
    wait_until("the monitor sees it idle", || (world.phase() == "idle").then_some(()));
    let option = world.tmux(&["show-options", "-w", "-v", "-t", "=paw-app:", "pane-border-status"]);
    assert_eq!(option, "");
    world.submit("[[bash:git push --force]]");
    wait_until("the monitor sees it wait", || (world.phase() == "waiting_approval").then_some(()));
    assert_eq!(world.tmux(&["display-message", "-p", "-t", &world.pane(), "#{@paw_state}"]), "");
}

#[test]
fn a_commit_requests_verification_unless_configured_off() {
    for (config, nudged) in [("", true), ("verify_on_commit_nudge = false\n", false)] {
        let mut world = World::supervised(config);
        wait_until("the broker is running", || (!world.phases().is_empty()).then_some(()));
        let token = token(&world);
        world.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
        world.sandbox.set("GIT_PAW_BROKER_TOKEN", &token);
        let commit = ["commit", "--quiet", "--allow-empty", "-m", "work"];
        let ran = world.sandbox.run(&world.worktree(), "git", commit);
        assert_eq!(ran.code, 0, "{ran}");
        wait_until("the commit is published", || trail(&world).contains("\"committed\"").then_some(()));
        if nudged {
            wait_until("verification is requested", || trail(&world).contains("verify-now").then_some(()));
        } else {
            // Both messages would have been stored together.
            assert!(!trail(&world).contains("verify-now"), "{}", trail(&world));
        }
    }
}

#[test]
fn an_unanswered_question_is_repeated() {
    let world = World::supervised("blocked_on_supervisor_window_seconds = 1\n");
    world.submit("[[bash:git push --force]]");
    wait_until("a question is published", || world.questions().pop());
    let raised = wait_until("the question is repeated", || {
        feedback(&world).lines().find(|line| line.contains("[waiting]")).map(str::to_owned)
    });
    assert!(raised.contains("feat-x has waited") && raised.contains("git push --force"), "{raised}");
}

#[test]
fn manual_approvals_are_logged_unless_configured_off() {
    for (config, noted) in [("", true), ("manual_approvals_log = false\n", false)] {
        let world = World::supervised(config);
        assert_eq!(run(&world, "PermissionRequest", "make deploy"), "");
        assert_eq!(run(&world, "PostToolUse", "make deploy"), "");
        let allowed = ("make deploy".to_owned(), "allow".to_owned());
        if noted {
            wait_until("the approval is logged", || world.verdicts().contains(&allowed).then_some(()));
        } else {
            // A later note has been read, so this one was, too.
            run(&world, "PreToolUse", "openspec archive x");
            wait_until("the monitor read all notes", || feedback(&world).contains("[scope]").then_some(()));
            assert!(!world.verdicts().contains(&allowed), "{:?}", world.verdicts());
        }
    }
}

#[test]
fn an_approval_by_command_is_logged_once() {
    for config in ["", "manual_approvals_log = false\n"] {
        let world = World::supervised(config);
        world.submit("[[bash:make deploy ; say:finished]]");
        wait_until("the monitor sees it wait", || (world.phase() == "waiting_approval").then_some(()));
        assert_eq!(world.paw(&["sweep", "approve", "feat-x"]).code, 0);
        let allowed = world.verdicts().into_iter().filter(|(_, verdict)| verdict == "allow");
        assert_eq!(allowed.count(), 1, "{config}");
    }
}

#[test]
fn monitor_reports_a_conversation_above_the_configured_size() {
    let world = World::supervised("context_bloat_threshold_k = 3\n");
    let grown = |tokens: u32| {
        let line =
            json!({"type": "assistant", "message": {"usage": {"input_tokens": tokens, "output_tokens": 5}}});
        let file = world.sandbox.write("transcript.jsonl", &format!("{line}\n"));
        let record = json!({
            "session_id": "s-1", "hook_event_name": "Stop", "cwd": world.worktree(), "transcript_path": file,
        });
        assert_eq!(world.hook(&record.to_string()).code, 0);
    };
    grown(2000);
    wait_until("the monitor read the note", || world.phases().contains(&"idle".to_owned()).then_some(()));
    grown(4200);
    wait_until("the stall is reported", || feedback(&world).contains("grew to 4k tokens").then_some(()));
    assert!(!feedback(&world).contains("grew to 2k"));
}

#[test]
fn role_gating_warns_refuses_or_ignores() {
    for (config, refused, warned) in [
        ("", false, true),
        ("[opsx]\nrole_gating = \"block\"\n", true, false),
        ("[opsx]\nrole_gating = \"off\"\n", false, false),
    ] {
        let world = World::supervised(config);
        let output = run(&world, "PreToolUse", "openspec archive add-auth --yes");
        if refused {
            let output: Value = serde_json::from_str(&output).unwrap();
            assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
        } else {
            assert_eq!(output, "", "{config}");
        }
        assert_eq!(run(&world, "PreToolUse", "openspec validate add-auth"), "", "its own job");
        if refused || warned {
            wait_until("the supervisor gets the report", || {
                feedback(&world).contains("openspec archive, which is").then_some(())
            });
        } else {
            assert_eq!(run(&world, "PermissionRequest", "make deploy"), "");
            wait_until("the monitor read all notes", || world.questions().pop());
            assert!(!feedback(&world).contains("[scope]"));
        }
        let to_agent = feedback(&world).contains("[scope] openspec archive is not an agent's job");
        assert_eq!(to_agent, warned, "{}", feedback(&world));
    }
}

#[test]
fn a_configured_settings_file_gets_hooks_and_is_deleted_by_remove() {
    let config = "[clis.claude]\ncommand = \"claude\"\nsettings_path = \".own/settings.json\"\n";
    let world = World::supervised(config);
    let file = world.worktree().join(".own/settings.json");
    let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(settings["permissions"]["allow"][0], "Bash(git paw say:*)");
    assert!(settings["hooks"]["Stop"].is_array());
    assert!(!world.worktree().join(".claude").exists());
    assert_eq!(git(&world.worktree(), ["status", "--porcelain"]), "");
    // An agent must not change its rules without asking.
    let edit = world.record("PermissionRequest", "Write", &json!({"file_path": file, "content": "{}"}));
    assert_eq!(world.hook(&edit).stdout, "");
    assert_eq!(world.paw(&["add", "feat/y", "--cli", "claude"]).code, 0);
    let removed = world.paw(&["remove", "feat/x", "--keep-worktree"]);
    assert_eq!(removed.code, 0, "{removed}");
    assert!(!file.exists());
}

#[test]
fn a_settings_file_outside_the_worktree_is_refused() {
    let config = "[clis.claude]\ncommand = \"claude\"\nsettings_path = \"../settings.json\"\n";
    let world = World::supervised(config);
    assert!(!world.sandbox.root().join("settings.json").exists());
    let added = world.paw(&["add", "feat/y", "--cli", "claude"]);
    assert_eq!(added.code, 0, "{added}");
    assert!(added.stderr.contains("[clis.claude] settings_path must be a file in the worktree"), "{added}");
}
