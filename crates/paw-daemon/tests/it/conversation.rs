//! Turns of an agent CLI in a worktree.

use std::fs;

use paw_daemon::proto::conversation_event::{Done, Event};
use paw_daemon::proto::{
    CloseConversationRequest, Conversation, ListConversationsRequest, RemoveWorktreeRequest,
    StartConversationRequest,
};
use serde_json::json;
use tonic::Code;

use crate::world::{TestDaemon, World, told, wait_until_gone};

const DENIED: &str = include_str!("../../../paw-agent/src/headless/fixtures/claude-denied.jsonl");
const UNREACHABLE: &str = include_str!("../../../paw-agent/src/headless/fixtures/claude-unreachable.jsonl");
const SESSION: &str = "e3d91b83-3976-4123-bdac-7431c0d5b5ef";

/// A CLI that never exits, with a child that left its process group.
fn endless(world: &World) -> String {
    format!("setsid sleep 600 & echo $! > {}\nwait", world.at("aside.pid").display())
}

async fn in_conversation(world: &World) -> (TestDaemon, Conversation) {
    let daemon = world.daemon_with(&[("PAW_TEST_GRACE_MS", "200")]).await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let talk = daemon.converse(&made).await;
    (daemon, talk)
}

async fn state(daemon: &TestDaemon) -> Vec<Conversation> {
    let request = ListConversationsRequest::default();
    daemon.client.conversations.clone().list_conversations(request).await.unwrap().into_inner().conversations
}

async fn wait_until_idle(daemon: &TestDaemon) {
    while state(daemon).await[0].status != "idle" {
        tokio::task::yield_now().await;
    }
}

fn done(events: &[Event]) -> &Done {
    match events.last() {
        Some(Event::Done(done)) => done,
        other => panic!("the last event is {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn send_message_runs_the_cli_in_the_worktree_and_streams_its_events() {
    let world = World::new();
    world.install_claude(DENIED, "");
    let (daemon, talk) = in_conversation(&world).await;
    assert_eq!((talk.status.as_str(), talk.cli.as_str()), ("idle", "claude"));
    assert!(talk.id.starts_with("sess_"));
    let events = daemon.ask(&talk, "--help me\n'please'").await.unwrap();

    let texts =
        events.iter().filter_map(|event| if let Event::Text(said) = event { Some(&said.text) } else { None });
    assert_eq!(texts.collect::<Vec<_>>(), ["done"]);
    let Some(Event::ToolUse(tool)) = events.iter().find(|event| matches!(event, Event::ToolUse(_))) else {
        panic!("no tool was used: {events:?}")
    };
    assert_eq!(tool.name, "Bash");
    assert!(tool.input.as_ref().unwrap().fields.contains_key("command"));
    let denied = events.iter().filter(|event| matches!(event, Event::PermissionDenied(_))).count();
    assert_eq!(denied, 2);
    let end = done(&events);
    assert_eq!((end.ok, end.turns, end.cli_session.as_deref()), (true, Some(3), Some(SESSION)));
    assert!(end.cost_usd.unwrap() > 0.0);

    assert_eq!(world.read("claude.cwd").trim_end(), world.at("project-auth").display().to_string());
    assert_eq!(world.read("claude.stdin"), "--help me\n'please'");
    assert_eq!(world.read("claude.args"), "-p\n--output-format\nstream-json\n--verbose\n");
    assert!(
        world.read("claude.env").contains("GIT_PAW_AGENT_ID=feature-auth"),
        "an agent cannot approve anything"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_message_continues_the_conversation_even_after_a_restart() {
    let world = World::new();
    world.install_claude(DENIED, "");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let request = StartConversationRequest {
        worktree_id: made.name,
        cli: Some("claude".into()),
        model: Some("opus".into()),
    };
    let talk = daemon.client.conversations.clone().start_conversation(request).await.unwrap().into_inner();
    daemon.ask(&talk, "one").await.unwrap();
    daemon.ask(&talk, "two").await.unwrap();
    daemon.signal("-TERM");
    assert!(daemon.wait().success());

    let daemon = world.daemon().await;
    assert_eq!(state(&daemon).await[0].cli_session.as_deref(), Some(SESSION));
    fs::remove_file(world.at("claude.args")).unwrap();
    daemon.ask(&talk, "three").await.unwrap();
    let expected = format!("-p\n--output-format\nstream-json\n--verbose\n--model=opus\n--resume={SESSION}\n");
    assert_eq!(world.read("claude.args"), expected);
    assert_eq!(world.read("claude.stdin"), "three");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_fails_if_the_cli_cannot_reach_its_model() {
    let world = World::new();
    world.install_claude(UNREACHABLE, "exit 1");
    let (daemon, talk) = in_conversation(&world).await;
    let events = daemon.ask(&talk, "hello").await.unwrap();
    let end = done(&events);
    let message = "API Error: Unable to connect to API (ConnectionRefused)";
    assert_eq!((end.ok, end.message.as_deref()), (false, Some(message)));
    assert!(events.iter().any(|event| matches!(event, Event::Error(error) if error.message == message)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_a_crashed_cli_reports_its_last_output() {
    let world = World::new();
    world.install_claude("", "echo no key >&2; exit 3");
    let (daemon, talk) = in_conversation(&world).await;
    let end = done(&daemon.ask(&talk, "hello").await.unwrap()).clone();
    let message = "the CLI exited with code 3 without reporting a result: no key";
    assert_eq!((end.ok, end.message.as_deref()), (false, Some(message)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_leaves_no_process() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let stream = daemon.send(&talk, "hello").await.unwrap();
    let (cli, aside) = (world.pid("claude.pid"), world.pid("aside.pid"));
    assert_eq!(state(&daemon).await[0].status, "active");
    drop(stream);
    wait_until_gone(cli);
    wait_until_gone(aside);
    wait_until_idle(&daemon).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_reading_and_disconnects_leaves_no_process() {
    let world = World::new();
    world.install_claude("", "while true; do echo '{\"type\":\"noise\"}'; done");
    let (daemon, talk) = in_conversation(&world).await;
    let mut stream = daemon.send(&talk, "hello").await.unwrap();
    assert!(matches!(stream.message().await.unwrap().unwrap().event, Some(Event::Raw(_))));
    let cli = world.pid("claude.pid");
    drop(stream);
    wait_until_gone(cli);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_runs_one_turn_at_a_time() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let _stream = daemon.send(&talk, "hello").await.unwrap();
    let error = daemon.send(&talk, "me too").await.unwrap_err();
    let message = format!("Conversation '{}' is busy with another message", talk.id);
    assert_eq!(told(&error), ("FAILED_PRECONDITION".into(), message, json!({ "conversation_id": talk.id })));
    let listed = daemon.list().await;
    assert_eq!(listed[0].active_session_id.as_deref(), Some(talk.id.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_conversation_ends_its_turn() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let mut stream = daemon.send(&talk, "hello").await.unwrap();
    let (cli, aside) = (world.pid("claude.pid"), world.pid("aside.pid"));
    let close = || {
        let request = CloseConversationRequest { conversation_id: talk.id.clone() };
        let mut client = daemon.client.conversations.clone();
        async move { client.close_conversation(request).await.unwrap().into_inner().closed }
    };
    assert!(close().await);
    let error = stream.message().await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Cancelled, "The conversation was closed"));
    wait_until_gone(cli);
    wait_until_gone(aside);
    assert!(!close().await);
    let error = daemon.send(&talk, "again").await.unwrap_err();
    let message = format!("Conversation '{}' is closed", talk.id);
    assert_eq!(told(&error), ("FAILED_PRECONDITION".into(), message, json!({ "conversation_id": talk.id })));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_conversation_ends_processes_of_earlier_turns() {
    let world = World::new();
    let server = format!("setsid sleep 600 & echo $! > {}", world.at("aside.pid").display());
    world.install_claude(DENIED, &server);
    let (daemon, talk) = in_conversation(&world).await;
    assert!(done(&daemon.ask(&talk, "start a server").await.unwrap()).ok);
    let aside = world.pid("aside.pid");
    assert!(!crate::world::is_gone(aside), "a turn may leave a server running");
    let request = CloseConversationRequest { conversation_id: talk.id };
    assert!(
        daemon.client.conversations.clone().close_conversation(request).await.unwrap().into_inner().closed
    );
    wait_until_gone(aside);
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_worktree_closes_its_conversations() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let mut stream = daemon.send(&talk, "hello").await.unwrap();
    let (cli, aside) = (world.pid("claude.pid"), world.pid("aside.pid"));
    let remove = |force| {
        let request = RemoveWorktreeRequest { worktree_id: talk.worktree_id.clone().unwrap(), force };
        let mut client = daemon.client.worktrees.clone();
        async move { client.remove_worktree(request).await.map(tonic::Response::into_inner) }
    };
    let (code, message, _) = told(&remove(false).await.unwrap_err());
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("FAILED_PRECONDITION", "Worktree has an active conversation")
    );
    let removed = remove(true).await.unwrap();
    assert!(removed.removed);
    assert_eq!(removed.sessions_closed, 1);
    assert_eq!(stream.message().await.unwrap_err().message(), "The worktree was removed");
    wait_until_gone(cli);
    wait_until_gone(aside);
    let after = state(&daemon).await;
    assert_eq!((after[0].status.as_str(), after[0].worktree_id.as_ref()), ("closed", None));
    assert_eq!(daemon.send(&talk, "again").await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_turns_after_the_grace_period() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let mut stream = daemon.send(&talk, "hello").await.unwrap();
    let (cli, aside) = (world.pid("claude.pid"), world.pid("aside.pid"));
    daemon.signal("-TERM");
    let error = stream.message().await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::Unavailable, "The daemon is stopping"));
    assert!(daemon.wait().success());
    wait_until_gone(cli);
    wait_until_gone(aside);
    assert!(!world.options().socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_daemon_ends_turns_of_a_killed_one() {
    let world = World::new();
    world.install_claude("", &endless(&world));
    let (daemon, talk) = in_conversation(&world).await;
    let _stream = daemon.send(&talk, "hello").await.unwrap();
    let (cli, aside) = (world.pid("claude.pid"), world.pid("aside.pid"));
    daemon.signal("-KILL");
    assert!(!daemon.wait().success());
    assert!(!crate::world::is_gone(aside));

    let daemon = world.daemon().await;
    wait_until_gone(cli);
    wait_until_gone(aside);
    assert_eq!(state(&daemon).await[0].status, "idle");
    world.install_claude(DENIED, "");
    assert!(done(&daemon.ask(&talk, "again").await.unwrap()).ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn clis_come_from_the_user_configuration_only() {
    let world = World::new();
    world.install_claude("", "");
    let mine = world.sandbox.install_program("mine", "#!/bin/sh\necho \"you said $(cat)\"\n");
    world.configure(&format!(
        "default_cli = \"my-agent\"\n[clis.my-agent]\ncommand = \"{}\"\n",
        mine.display()
    ));
    world.repo.write(".git-paw/config.toml", "[clis.theirs]\ncommand = \"/bin/sh\"\n");
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let talk = daemon.converse(&made).await;
    assert_eq!(talk.cli, "my-agent");
    let events = daemon.ask(&talk, "hello").await.unwrap();
    assert!(matches!(&events[0], Event::Text(said) if said.text == "you said hello\n"), "{events:?}");
    assert!(done(&events).ok);

    let request =
        StartConversationRequest { worktree_id: made.id, cli: Some("theirs".into()), ..Default::default() };
    let error = daemon.client.conversations.clone().start_conversation(request).await.unwrap_err();
    let installed = json!({ "installed": ["claude", "my-agent"] });
    assert_eq!(told(&error), ("NOT_FOUND".into(), "CLI 'theirs' is not installed".into(), installed));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_conversation_requests_are_rejected() {
    let world = World::new();
    world.install_claude("", "");
    let (daemon, talk) = in_conversation(&world).await;
    assert_eq!(daemon.send(&talk, " \n").await.unwrap_err().message(), "Message is empty");
    let unknown = Conversation { id: "sess_none".into(), ..Conversation::default() };
    let error = daemon.send(&unknown, "hello").await.unwrap_err();
    assert_eq!(
        told(&error),
        ("NOT_FOUND".into(), "Conversation 'sess_none' does not exist".into(), json!({}))
    );
    let request = StartConversationRequest { worktree_id: "none".into(), ..Default::default() };
    let error = daemon.client.conversations.clone().start_conversation(request).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_tool_output_is_truncated_in_the_stream() {
    let world = World::new();
    let output = "x".repeat(6_000_000);
    let line = json!({ "type": "user", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": output, "is_error": false }] } });
    world.install_claude(&format!("{line}\n{DENIED}"), "");
    let (daemon, talk) = in_conversation(&world).await;
    let events = daemon.ask(&talk, "hello").await.unwrap();
    let Event::ToolResult(result) = &events[0] else { panic!("{:?}", events[0]) };
    assert!(result.output.len() <= 1024 * 1024 && result.output.contains('…'));
    assert!(done(&events).ok);
}
