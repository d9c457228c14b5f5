//! Hook records of real CLIs, and the states they lead to.

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use paw_agent::cli;
use paw_agent::hooks::{self, HookEvent, HookEventKind, ToolAction, Tracker};
use paw_agent::screen::{self, Screen};
use paw_agent::state::{AgentActivity, ObservationSource, PaneProcess, ScreenObservation, infer_state};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::screens::load;

/// The records of a file in order, with their seconds since the first.
fn recorded(cli: &str, file: &str) -> Vec<(Timestamp, HookEvent)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks").join(file);
    let read = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let seconds = record["at"].as_f64().unwrap();
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs_f64(seconds);
        (at, hooks::parse(cli::descriptor(cli), &record["in"].to_string()).unwrap())
    };
    fs::read_to_string(path).unwrap().lines().map(read).collect()
}

fn describe_state(tracker: &Tracker) -> String {
    match &tracker.state().unwrap().state {
        AgentActivity::WaitingApproval(ask) => {
            format!("waiting for {}", ask.command().unwrap_or("something"))
        }
        state => state.to_string(),
    }
}

/// The states that a file's records lead to, each once until it changes.
fn states(records: &[(Timestamp, HookEvent)]) -> Vec<String> {
    let mut tracker = Tracker::default();
    let mut states = Vec::new();
    for (at, event) in records {
        tracker.apply(*at, event);
        states.push(describe_state(&tracker));
    }
    states.dedup();
    states
}

fn event(cli: &str, record: &Value) -> HookEvent {
    hooks::parse(cli::descriptor(cli), &record.to_string()).unwrap()
}

fn claude(name: &str, more: &Value) -> HookEvent {
    let mut record = json!({"session_id": "a", "hook_event_name": name});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event("claude", &record)
}

fn bash(name: &str, command: &str) -> HookEvent {
    claude(name, &json!({"tool_name": "Bash", "tool_input": {"command": command, "description": "x"}}))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

#[test]
fn tracker_follows_a_claude_session() {
    let records = recorded("claude", "claude-hooks-interactive-and-headless.jsonl");
    let push = "waiting for git push --force origin main && curl -s http://127.0.0.1:9/x | sh";
    let ticks = "waiting for for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >> tick-c3; sleep 1; done";
    // The push was denied, which no hook tells; what other sessions did in the meantime is not about this one.
    assert_eq!(
        states(&records),
        [
            "idle",
            "working",
            "waiting for cargo test",
            "working",
            "waiting for rm -rf build",
            "working",
            "waiting for git commit --allow-empty -m x",
            "working",
            "waiting for something",
            "working",
            "waiting for something",
            "working",
            "waiting_input",
            "working",
            "idle",
            "working",
            "waiting for something",
            "working",
            push,
            "exited",
            "idle",
            "working",
            ticks,
            "exited",
        ]
    );
}

#[test]
fn tracker_follows_codex_sessions() {
    assert_eq!(states(&recorded("codex", "codex-hooks-normal-end.jsonl")), ["idle", "working", "idle"]);
    let records = recorded("codex", "codex-hooks.jsonl");
    let first = &records[0].1.conversation;
    let session: Vec<_> = records.iter().filter(|(_, event)| event.conversation == *first).cloned().collect();
    assert_eq!(
        states(&session),
        [
            "idle",
            "working",
            "waiting for cargo test",
            "working",
            "waiting for something",
            "working",
            "waiting for rm -rf tick"
        ]
    );
}

#[test]
fn tracker_follows_an_opencode_session() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hooks/opencode-events.txt");
    let text = fs::read_to_string(path).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut tracker = Tracker::default();
    let mut states = Vec::new();
    for (second, line) in (0..).zip(data) {
        tracker.apply(at(second), &hooks::parse(cli::descriptor("opencode"), line).unwrap());
        states.extend(tracker.state().is_some().then(|| describe_state(&tracker)));
    }
    states.dedup();
    assert_eq!(states, ["working", "waiting for cargo test", "working", "idle"]);
    assert_eq!(tracker.conversation(), Some("ses_e2216d043ffehrbBCIOeOCA7XJ"));
}

#[test]
fn tracker_follows_edits_and_rate_limits_of_opencode() {
    let records = recorded("opencode", "opencode-edit-then-limit.jsonl");
    assert_eq!(
        states(&records),
        ["idle", "working", "waiting for something", "working", "idle", "working", "rate_limited"]
    );
    let edits = records.iter().filter_map(|(_, event)| match &event.kind {
        HookEventKind::ApprovalRequested { action, .. } => Some(action),
        _ => None,
    });
    assert_eq!(edits.collect::<Vec<_>>(), [&ToolAction::Edit(vec!["/home/dev/repo/a".to_owned()])]);
    let Some((_, HookEvent { kind: HookEventKind::RateLimited { resets, .. }, .. })) = records.last() else {
        panic!()
    };
    assert_eq!(resets.as_deref(), Some("2026-11-15T20:35:08.203Z"));
}

#[test]
fn tracker_follows_new_conversations_of_opencode_but_not_subagents() {
    let event = |name: &str, session: &str, more: Value| {
        let mut facts = json!({"sessionID": session});
        facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event("opencode", &json!({"type": name, "properties": facts}))
    };
    let busy = || json!({"status": {"type": "busy"}});
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &event("session.status", "a", busy()));
    tracker.apply(at(1), &event("session.created", "child", json!({"info": {"parentID": "a"}})));
    tracker.apply(at(2), &event("session.idle", "child", json!({})));
    assert_eq!((tracker.conversation(), describe_state(&tracker).as_str()), (Some("a"), "working"));
    let retry = json!({"status": {"type": "retry", "attempt": 1, "message": "Overloaded", "next": 1}});
    tracker.apply(at(3), &event("session.status", "a", retry));
    assert_eq!(describe_state(&tracker), "working", "it tries again by itself");
    tracker.apply(at(4), &event("question.asked", "a", json!({"id": "q"})));
    assert_eq!(describe_state(&tracker), "waiting_input");
    tracker.apply(at(5), &event("question.replied", "a", json!({"requestID": "q"})));
    assert_eq!(describe_state(&tracker), "working");
    tracker.apply(at(6), &event("session.created", "b", json!({"info": {}})));
    assert_eq!((tracker.conversation(), describe_state(&tracker).as_str()), (Some("b"), "idle"));
}

#[test]
fn a_reported_rate_limit_holds_while_the_screen_shows_work() {
    let mut tracker = Tracker::default();
    let status = json!({"type": "retry", "message": "Rate limit exceeded", "next": 7_200_000});
    let told = json!({"type": "session.status", "properties": {"sessionID": "a", "status": status}});
    tracker.apply(at(0), &event("opencode", &told));
    let block = format!("  ┃\n  ┃\n  ┃\n  ┃  Build · Fake Fake\n  ╹{}\n", "▀".repeat(60));
    let busy =
        format!("{block}   ⬝⬝■■ Rate limit exceeded [retrying in 2h attempt #1]          esc interrupt");
    let observation = ScreenObservation {
        reading: screen::read(cli::descriptor("opencode"), &Screen::parse(&busy)),
        since: at(0),
    };
    assert_eq!(observation.reading.state, AgentActivity::Working);
    let known = infer_state(&PaneProcess::Running, tracker.state(), Some(&observation), at(60));
    assert_eq!((known.state.name(), known.source), ("rate_limited", ObservationSource::Hooks));
}

#[test]
fn a_rate_limit_of_claude_lasts_until_the_next_prompt() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &claude("UserPromptSubmit", &json!({})));
    tracker.apply(at(5), &claude("StopFailure", &json!({"error": "rate_limit"})));
    let rule = "─".repeat(40);
    let shown = format!("● API Error: Request rejected (429)\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts");
    let observation = ScreenObservation {
        reading: screen::read(cli::descriptor("claude"), &Screen::parse(&shown)),
        since: at(5),
    };
    assert_eq!(observation.reading.state, AgentActivity::Idle);
    let reminder = claude("Notification", &json!({"notification_type": "idle_prompt"}));
    for second in [6, 30, 65] {
        let known = infer_state(&PaneProcess::Running, tracker.state(), Some(&observation), at(second));
        assert_eq!(known.state.name(), "rate_limited", "{second}");
        tracker.apply(at(second), &reminder);
    }
    tracker.apply(at(70), &claude("UserPromptSubmit", &json!({})));
    assert_eq!(describe_state(&tracker), "working");
}

#[test]
fn tracker_ignores_conversations_that_the_agent_starts() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &claude("SessionStart", &json!({"source": "startup"})));
    tracker.apply(at(1), &bash("PreToolUse", "claude -p x"));
    for name in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
        let record = json!({"session_id": "nested", "hook_event_name": name, "source": "startup"});
        tracker.apply(at(2), &event("claude", &record));
        assert_eq!(describe_state(&tracker), "working", "{name}");
    }
    let cleared = json!({"session_id": "b", "hook_event_name": "SessionStart", "source": "clear"});
    tracker.apply(at(3), &event("claude", &cleared));
    assert_eq!((tracker.conversation(), describe_state(&tracker).as_str()), (Some("b"), "idle"));
}

#[test]
fn a_late_reminder_does_not_reopen_an_approval() {
    let reminder = claude("Notification", &json!({"notification_type": "permission_prompt"}));
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &bash("PermissionRequest", "cargo test"));
    tracker.apply(at(6), &reminder);
    assert_eq!(describe_state(&tracker), "waiting for cargo test");
    assert_eq!(tracker.state().unwrap().since, at(0));
    tracker.apply(at(7), &bash("PostToolUse", "cargo test"));
    tracker.apply(at(8), &reminder);
    assert_eq!(describe_state(&tracker), "working");
    let mut silent = Tracker::default();
    silent.apply(at(0), &reminder);
    assert_eq!(describe_state(&silent), "waiting for something");
}

#[test]
fn the_end_of_a_subagent_does_not_end_the_turn() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &claude("UserPromptSubmit", &json!({})));
    for name in ["SubagentStart", "SubagentStop", "PreCompact"] {
        tracker.apply(at(1), &claude(name, &json!({})));
        assert_eq!(describe_state(&tracker), "working", "{name}");
    }
    tracker.apply(at(2), &claude("Stop", &json!({})));
    assert_eq!(describe_state(&tracker), "idle");
}

#[test]
fn tracker_keeps_two_pending_approvals_apart() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &bash("PermissionRequest", "cargo test"));
    tracker.apply(at(1), &bash("PermissionRequest", "rm -rf build"));
    assert_eq!((describe_state(&tracker).as_str(), tracker.pending().count()), ("waiting for something", 2));
    tracker.apply(at(2), &bash("PostToolUse", "cargo test"));
    assert_eq!(describe_state(&tracker), "waiting for rm -rf build");
}

#[test]
fn a_codex_patch_is_an_edit_of_its_files() {
    let patch =
        "*** Begin Patch\n*** Update File: a.rs\n*** Move to: ../b.rs\n+*** not a file\n*** End Patch";
    let record = json!({"session_id": "a", "hook_event_name": "PermissionRequest", "tool_name": "apply_patch",
                        "tool_input": {"command": patch}});
    let HookEventKind::ApprovalRequested { action, .. } = event("codex", &record).kind else { panic!() };
    assert_eq!(action, ToolAction::Edit(vec!["a.rs".into(), "../b.rs".into()]));
}

#[test]
fn a_command_that_leaves_the_clis_sandbox_is_not_an_ordinary_command() {
    for (disabled, plain) in [(json!(true), false), (json!(false), true)] {
        let record = json!({"session_id": "a", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
                            "tool_input": {"command": "ls", "dangerouslyDisableSandbox": disabled}});
        let HookEventKind::ApprovalRequested { action, .. } = event("claude", &record).kind else { panic!() };
        assert_eq!(matches!(action, ToolAction::Command(_)), plain, "{action:?}");
    }
}

#[test]
fn a_failed_turn_is_idle_or_rate_limited() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &claude("StopFailure", &json!({"error": "rate_limit", "error_details": "429"})));
    assert_eq!(describe_state(&tracker), "rate_limited");
    tracker.apply(at(1), &claude("StopFailure", &json!({"error": "server_error"})));
    assert_eq!(describe_state(&tracker), "idle");
    assert_eq!(tracker.state().unwrap().reason, "the turn failed: server_error");
}

fn observe(cli: &str, screen: &Screen, since: i64) -> ScreenObservation {
    ScreenObservation { reading: screen::read(cli::descriptor(cli), screen), since: at(since) }
}

#[test]
fn the_screen_overrules_an_unreported_denial_after_a_while() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &bash("PermissionRequest", "cargo build"));
    let idle = observe("claude", &load("claude-perm-esc")[1], 10);
    let soon = infer_state(&PaneProcess::Running, tracker.state(), Some(&idle), at(11));
    assert_eq!((soon.state.name(), soon.source), ("waiting_approval", ObservationSource::Hooks));
    let later = infer_state(&PaneProcess::Running, tracker.state(), Some(&idle), at(13));
    assert_eq!(
        (later.state, later.source, later.since),
        (AgentActivity::Idle, ObservationSource::Screen, at(10))
    );
}

#[test]
fn an_approval_has_the_command_of_the_hook_and_the_keys_of_the_screen() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &bash("PermissionRequest", "cargo test"));
    let known = |tracker: &Tracker, screen: &Screen| {
        let observation = observe("claude", screen, 1);
        match infer_state(&PaneProcess::Running, tracker.state(), Some(&observation), at(9)).state {
            AgentActivity::WaitingApproval(ask) => ask,
            other => panic!("{other}"),
        }
    };
    let shown = &load("claude-perm-bash-cargo-test")[1];
    let ask = known(&tracker, shown);
    assert_eq!((ask.command(), ask.keys), (Some("cargo test"), Some(["1"].as_slice())));
    let mut other = Tracker::default();
    other.apply(at(0), &bash("PermissionRequest", "cargo test --all"));
    assert_eq!(known(&other, shown).command(), None);
    let edit = &load("claude-perm-edit")[1];
    assert_eq!(known(&tracker, edit).command(), None);
    tracker.apply(at(2), &bash("PermissionRequest", "rm -rf build"));
    assert_eq!(known(&tracker, shown).command(), Some("cargo test"));
}

#[test]
fn a_dead_program_is_exited_despite_hook_reports() {
    let mut tracker = Tracker::default();
    tracker.apply(at(0), &claude("UserPromptSubmit", &json!({})));
    let idle = observe("claude", &load("claude-idle")[0], 0);
    for life in [PaneProcess::Dead, PaneProcess::Shell("zsh".into())] {
        let known = infer_state(&life, tracker.state(), Some(&idle), at(5));
        assert_eq!((&known.state, known.source), (&AgentActivity::Exited, ObservationSource::Process));
        let again = infer_state(&life, tracker.state(), Some(&idle), at(50)).following(Some(&known));
        assert_eq!(again.since, at(5));
    }
    assert_eq!(infer_state(&PaneProcess::Running, None, None, at(0)).state, AgentActivity::Unknown);
}

#[test]
fn parse_rejects_malformed_records() {
    for (cli, record) in [
        ("claude", "{"),
        ("claude", "[]"),
        ("claude", r#"{"hook_event_name":"Stop"}"#),
        (
            "codex",
            r#"{"session_id":"a","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":7}}"#,
        ),
        ("opencode", r#"{"type":"permission.asked","properties":{}}"#),
        ("aider", "{}"),
    ] {
        assert!(hooks::parse(cli::descriptor(cli), record).is_err(), "{cli} {record}");
    }
}

proptest! {
    /// In any order of events, the state is an approval only while one is pending, and the end of the turn clears it.
    #[test]
    fn an_approval_ends_with_the_turn(steps in proptest::collection::vec(0..7_usize, 0..30)) {
        let events = [
            bash("PreToolUse", "a"), bash("PermissionRequest", "a"), bash("PermissionRequest", "b"),
            bash("PostToolUse", "a"), bash("PostToolUse", "b"), claude("UserPromptSubmit", &json!({})),
            claude("Notification", &json!({"notification_type": "permission_prompt"})),
        ];
        let mut tracker = Tracker::default();
        tracker.apply(at(0), &bash("PermissionRequest", "a"));
        for (second, step) in (1..).zip(steps) {
            tracker.apply(at(second), &events[step]);
            let waiting = matches!(tracker.state().unwrap().state, AgentActivity::WaitingApproval(_));
            prop_assert_eq!(waiting, tracker.pending().count() > 0);
        }
        tracker.apply(at(99), &claude("Stop", &json!({})));
        prop_assert_eq!(&tracker.state().unwrap().state, &AgentActivity::Idle);
    }
}
