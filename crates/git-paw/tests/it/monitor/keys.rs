//! Keys of the configuration that change what the tower and its hooks do, each seen at work.

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

/// Everything that was told as something to mend.
fn told(world: &World) -> String {
    world.said("agent.feedback", "errors").join("\n")
}

fn run(world: &World, event: &str, command: &str) -> String {
    world.hook(&world.record(event, "Bash", &json!({"command": command}))).stdout
}

/// A token with which the agent can be spoken for.
fn token(world: &World) -> String {
    let dir = PawDir::of(&world.repo.root.join(".git"));
    let log = log::open(&dir.log()).unwrap();
    let session = log.current_session().unwrap().unwrap();
    let token = Keyring::new(&log, dir.path()).mint(&session, &AgentId::new("feat-x").unwrap()).unwrap();
    token.reveal().to_owned()
}

#[test]
fn borders_show_what_an_agent_is_doing_until_nobody_watches() {
    let world = World::supervised("");
    let shown = || world.tmux(&["display-message", "-p", "-t", &world.pane(), "#{@paw_state}"]);
    let option = |name: &str| world.tmux(&["show-options", "-w", "-v", "-t", "=paw-app:", name]);
    assert_eq!(option("pane-border-status"), "top");
    assert!(option("pane-border-format").contains("#{pane_title}"));
    wait_until("it rests", || (shown() == "idle").then_some(()));
    world.submit("[[bash:git push --force]]");
    wait_until("it waits", || (shown() == "waiting approval").then_some(()));
    assert_eq!(world.paw(&["pause"]).code, 0);
    wait_until("nothing is claimed any more", || shown().is_empty().then_some(()));
}

#[test]
fn without_border_affordances_borders_are_left_alone() {
    let world = World::supervised("[layout]\nborder_affordances = false\n");
    wait_until("it is seen to rest", || (world.phase() == "idle").then_some(()));
    let option = world.tmux(&["show-options", "-w", "-v", "-t", "=paw-app:", "pane-border-status"]);
    assert_eq!(option, "");
    world.submit("[[bash:git push --force]]");
    wait_until("it is seen to wait", || (world.phase() == "waiting_approval").then_some(()));
    assert_eq!(world.tmux(&["display-message", "-p", "-t", &world.pane(), "#{@paw_state}"]), "");
}

#[test]
fn a_commit_asks_for_verification_unless_nobody_wants_to_be_asked() {
    for (config, nudged) in [("", true), ("verify_on_commit_nudge = false\n", false)] {
        let mut world = World::supervised(config);
        wait_until("the session listens", || (!world.phases().is_empty()).then_some(()));
        let token = token(&world);
        world.sandbox.set("GIT_PAW_AGENT_ID", "feat-x");
        world.sandbox.set("GIT_PAW_BROKER_TOKEN", &token);
        let commit = ["commit", "--quiet", "--allow-empty", "-m", "work"];
        let ran = world.sandbox.run(&world.worktree(), "git", commit);
        assert_eq!(ran.code, 0, "{ran}");
        wait_until("the commit is told", || trail(&world).contains("\"committed\"").then_some(()));
        if nudged {
            wait_until("it is to be verified", || trail(&world).contains("verify-now").then_some(()));
        } else {
            // Both would have been stored in one step.
            assert!(!trail(&world).contains("verify-now"), "{}", trail(&world));
        }
    }
}

#[test]
fn a_question_that_nobody_answers_is_raised_again() {
    let world = World::supervised("blocked_on_supervisor_window_seconds = 1\n");
    world.submit("[[bash:git push --force]]");
    wait_until("somebody is asked", || world.questions().pop());
    let raised = wait_until("it is raised", || {
        told(&world).lines().find(|line| line.contains("[waiting]")).map(str::to_owned)
    });
    assert!(raised.contains("feat-x has waited") && raised.contains("git push --force"), "{raised}");
}

#[test]
fn what_a_person_approved_in_the_pane_is_noted_unless_that_is_not_wanted() {
    for (config, noted) in [("", true), ("manual_approvals_log = false\n", false)] {
        let world = World::supervised(config);
        assert_eq!(run(&world, "PermissionRequest", "make deploy"), "");
        assert_eq!(run(&world, "PostToolUse", "make deploy"), "");
        let allowed = ("make deploy".to_owned(), "allow".to_owned());
        if noted {
            wait_until("it is noted", || world.verdicts().contains(&allowed).then_some(()));
        } else {
            // What comes after it has been taken in.
            run(&world, "PreToolUse", "openspec archive x");
            wait_until("all was heard", || told(&world).contains("[scope]").then_some(()));
            assert!(!world.verdicts().contains(&allowed), "{:?}", world.verdicts());
        }
    }
}

#[test]
fn what_was_approved_with_a_command_is_noted_once_whatever_is_noted_of_panes() {
    for config in ["", "manual_approvals_log = false\n"] {
        let world = World::supervised(config);
        world.submit("[[bash:make deploy ; say:finished]]");
        wait_until("it is seen to wait", || (world.phase() == "waiting_approval").then_some(()));
        assert_eq!(world.paw(&["sweep", "approve", "feat-x"]).code, 0);
        let allowed = world.verdicts().into_iter().filter(|(_, verdict)| verdict == "allow");
        assert_eq!(allowed.count(), 1, "{config}");
    }
}

#[test]
fn a_conversation_that_outgrows_the_configured_size_is_told() {
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
    wait_until("it is heard", || world.phases().contains(&"idle".to_owned()).then_some(()));
    grown(4200);
    wait_until("it is told", || told(&world).contains("grown to 4 thousand tokens").then_some(()));
    assert!(!told(&world).contains("grown to 2 thousand"));
}

#[test]
fn an_agent_that_steps_out_of_its_role_is_warned_refused_or_left_alone() {
    for (config, refused, warned) in [
        ("", false, true),
        ("[opsx]\nrole_gating = \"block\"\n", true, false),
        ("[opsx]\nrole_gating = \"off\"\n", false, false),
    ] {
        let world = World::supervised(config);
        let said = run(&world, "PreToolUse", "openspec archive add-auth --yes");
        if refused {
            let said: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");
        } else {
            assert_eq!(said, "", "{config}");
        }
        assert_eq!(run(&world, "PreToolUse", "openspec validate add-auth"), "", "its own job");
        if refused || warned {
            wait_until("the supervisor knows", || {
                told(&world).contains("openspec archive, which is").then_some(())
            });
        } else {
            assert_eq!(run(&world, "PermissionRequest", "make deploy"), "");
            wait_until("all was heard", || world.questions().pop());
            assert!(!told(&world).contains("[scope]"));
        }
        let to_agent = told(&world).contains("[scope] openspec archive is not an agent's job");
        assert_eq!(to_agent, warned, "{}", told(&world));
    }
}

#[test]
fn a_configured_settings_file_gets_the_rules_stays_out_of_git_and_is_given_back() {
    let config = "[clis.claude]\ncommand = \"claude\"\nsettings_path = \".own/settings.json\"\n";
    let world = World::supervised(config);
    let file = world.worktree().join(".own/settings.json");
    let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(settings["permissions"]["allow"][0], "Bash(git paw say:*)");
    assert!(settings["hooks"]["Stop"].is_array());
    assert!(!world.worktree().join(".claude").exists());
    assert_eq!(git(&world.worktree(), ["status", "--porcelain"]), "");
    // An agent does not change its own rules unasked.
    let edit = world.record("PermissionRequest", "Write", &json!({"file_path": file, "content": "{}"}));
    assert_eq!(world.hook(&edit).stdout, "");
    assert_eq!(world.paw(&["add", "feat/y", "--cli", "claude"]).code, 0);
    let removed = world.paw(&["remove", "feat/x", "--keep-worktree"]);
    assert_eq!(removed.code, 0, "{removed}");
    assert!(!file.exists());
}

#[test]
fn a_settings_file_outside_of_the_worktree_is_refused_and_said() {
    let config = "[clis.claude]\ncommand = \"claude\"\nsettings_path = \"../settings.json\"\n";
    let world = World::supervised(config);
    assert!(!world.sandbox.root().join("settings.json").exists());
    let added = world.paw(&["add", "feat/y", "--cli", "claude"]);
    assert_eq!(added.code, 0, "{added}");
    assert!(added.stderr.contains("[clis.claude] settings_path must be a file in the worktree"), "{added}");
}
