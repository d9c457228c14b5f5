use proptest::prelude::*;

use super::*;

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn receipt() -> Receipt {
    let name = SessionName::new("paw-app").unwrap();
    let mut receipt = Receipt::new(name, "/code/app".into(), "app", "2025-01-15T10:30:00Z".parse().unwrap());
    receipt.worktrees = ["feat/a", "feat/b", "fix/c"]
        .map(|name| {
            AgentReceipt::new(branch(name), format!("/code/app-{}", name.replace('/', "-")).into(), "claude")
        })
        .into();
    receipt
}

fn back(receipt: &Receipt) -> Receipt {
    Receipt::parse(&receipt.to_text().unwrap()).unwrap()
}

fn json(receipt: &Receipt) -> Value {
    serde_json::from_str(&receipt.to_text().unwrap()).unwrap()
}

#[test]
fn saved_session_round_trips_with_all_fields_intact() {
    let mut full = receipt();
    full.mode = SessionMode::Supervisor;
    full.supervisor = Some(SupervisorReceipt {
        cli: "claude".into(),
        command: "claude --continue".into(),
        conversation: Some("c-1".into()),
        boot_prompt: Some("begin".into()),
        pending_boot_prompt: Some("begin".into()),
        boot_prompt_problem: Some("it never became ready".into()),
        boot_prompt_progress: Some(PromptProgress {
            stage: PromptStage::Sending,
            at: "2025-01-15T10:31:00Z".parse().unwrap(),
        }),
    });
    full.unattended = true;
    full.mouse = false;
    full.borders = false;
    full.worktrees[0].settings_path = Some(".my-agent/settings.json".into());
    full.log_dir = Some("/code/app/.git-paw/logs/paw-app".into());
    full.tmux_socket = Some("paw".into());
    full.worktrees[0].agent_id = Some(AgentId::new("feat-a").unwrap());
    full.worktrees[0].command = Some("claude --flag".into());
    full.worktrees[1].branch_created = true;
    full.worktrees[1].pending_boot_prompt = Some("line\nline".into());
    assert_eq!(back(&full), full);
}

#[test]
fn saved_session_with_broker_fields_round_trips() {
    let mut with = receipt();
    with.broker_port = Some(9119);
    with.broker_bind = Some("127.0.0.1".into());
    with.broker_log_path = Some("/path/to/broker.log".into());
    assert_eq!(back(&with), with);
    assert_eq!(with.broker_url().as_deref(), Some("http://127.0.0.1:9119"));
}

#[test]
fn broker_fields_and_dashboard_pane_field_are_omitted_when_none() {
    let written = json(&receipt());
    for field in ["broker_port", "broker_bind", "broker_log_path", "dashboard_pane"] {
        assert!(written.get(field).is_none(), "{field}");
    }
}

/// A receipt as written by earlier versions.
const OLD: &str = r#"{
  "session_name": "paw-my-app", "repo_path": "/projects/my-app", "project_name": "my-app",
  "created_at": "2025-01-15T10:30:00Z", "status": "stopped",
  "worktrees": [{"branch": "feat/auth", "worktree_path": "/projects/my-app-feat-auth", "cli": "claude"}]
}"#;

#[test]
fn session_without_broker_fields_loads_successfully() {
    let old = Receipt::parse(OLD).unwrap();
    assert_eq!((old.broker_port, &old.broker_bind, &old.broker_log_path), (None, &None, &None));
    assert_eq!((old.status, old.mode, old.mouse), (SessionStatus::Stopped, SessionMode::Bare, true));
    assert!(old.borders);
    assert_eq!(old.worktrees[0].branch.as_str(), "feat/auth");
    assert!(!old.worktrees[0].branch_created);
}

#[test]
fn session_without_dashboard_pane_defaults_to_none_on_load() {
    assert_eq!(Receipt::parse(OLD).unwrap().dashboard_pane, None);
}

#[test]
fn dashboard_pane_index_round_trips() {
    let mut with = receipt();
    with.dashboard_pane = Some(1);
    assert_eq!(back(&with).dashboard_pane, Some(1));
}

#[test]
fn v0_4_saved_sessions_load() {
    for (text, status) in [("active", SessionStatus::Active), ("stopped", SessionStatus::Stopped)] {
        assert_eq!(Receipt::parse(&OLD.replace("stopped", text)).unwrap().status, status);
    }
}

#[test]
fn an_old_receipt_with_a_broker_gets_the_default_address() {
    let enabled = OLD.replace("\"status\"", "\"broker_enabled\": true, \"status\"");
    let old = Receipt::parse(&enabled).unwrap();
    assert_eq!(old.broker_url().as_deref(), Some("http://127.0.0.1:9119"));
    let disabled = OLD.replace("\"status\"", "\"broker_enabled\": false, \"status\"");
    assert!(!Receipt::parse(&disabled).unwrap().has_broker());
}

#[test]
fn a_receipt_with_a_broker_says_so_in_broker_enabled() {
    let mut with = receipt();
    assert!(!with.to_text().unwrap().contains("broker_enabled"));
    (with.broker_port, with.broker_bind) = (Some(9119), Some("127.0.0.1".to_owned()));
    let text = with.to_text().unwrap();
    assert!(text.contains("\"broker_enabled\": true"), "{text}");
    assert_eq!(Receipt::parse(&text).unwrap(), with);
}

#[test]
fn paused_status_serializes_lowercase_and_round_trips() {
    let mut paused = receipt();
    paused.status = SessionStatus::Paused;
    assert_eq!(json(&paused)["status"], "paused");
    assert_eq!(back(&paused).status, SessionStatus::Paused);
}

#[test]
fn session_status_displays_as_lowercase_string() {
    let shown = [SessionStatus::Active, SessionStatus::Paused, SessionStatus::Stopped].map(|s| s.to_string());
    assert_eq!(shown, ["active", "paused", "stopped"]);
}

#[test]
fn effective_status_combines_file_state_with_tmux_liveness() {
    use SessionStatus::{Active, Paused, Stopped};
    for (recorded, alive, effective) in [
        (Active, true, Active),
        (Active, false, Stopped),
        (Paused, true, Paused),
        (Paused, false, Stopped),
        (Stopped, true, Stopped),
        (Stopped, false, Stopped),
    ] {
        let mut receipt = receipt();
        receipt.status = recorded;
        assert_eq!(receipt.effective_status(|_| alive), effective, "{recorded} {alive}");
    }
}

#[test]
fn unknown_fields_survive_a_rewrite() {
    let text = OLD.replace("\"status\"", "\"theirs\": [1, {\"x\": null}], \"status\"");
    let text = text.replace("\"cli\"", "\"mood\": \"fine\", \"cli\"");
    let rewritten = json(&Receipt::parse(&text).unwrap());
    assert_eq!(rewritten["theirs"], serde_json::json!([1, {"x": null}]));
    assert_eq!(rewritten["worktrees"][0]["mood"], "fine");
}

#[test]
fn a_receipt_of_a_newer_version_is_an_error() {
    let newer = OLD.replace("\"status\"", "\"format\": 2, \"status\"");
    let error = Receipt::parse(&newer).unwrap_err();
    assert!(matches!(error, ReceiptError::Newer { found: 2 }), "{error}");
    assert!(error.report().hints[0].starts_with("update git-paw"), "{error}");
}

#[test]
fn a_truncated_receipt_and_invalid_names_are_errors() {
    assert!(matches!(Receipt::parse(&OLD[..OLD.len() / 2]), Err(ReceiptError::Malformed(_))));
    assert!(Receipt::parse(&OLD.replace("paw-my-app\",", "../../etc\",")).is_err());
    assert!(Receipt::parse(&OLD.replace("feat/auth", "--upload-pack=x")).is_err());
}

#[test]
fn agents_without_an_id_get_a_unique_one() {
    let mut receipt = receipt();
    receipt.worktrees[0].branch = branch("feat-b");
    receipt.worktrees[2].agent_id = Some(AgentId::new("feat-b").unwrap());
    let ids = receipt.agent_ids();
    assert_eq!(ids[2].as_str(), "feat-b");
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}

#[test]
fn two_sessions_with_the_same_name_have_different_ids() {
    let first = receipt();
    let mut second = receipt();
    second.created_at = "2025-01-15T10:30:01Z".parse().unwrap();
    assert_eq!(first.session_id(), "paw-app@20250115T103000Z");
    assert_ne!(first.session_id(), second.session_id());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,300}") {
        let _ = Receipt::parse(&text);
    }

    #[test]
    fn no_cut_of_a_receipt_makes_it_panic_or_pass(end in 0..OLD.len()) {
        prop_assert!(Receipt::parse(&OLD[..end]).is_err());
    }
}
