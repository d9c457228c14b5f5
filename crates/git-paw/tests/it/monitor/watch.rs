//! How the monitor reacts to what panes show.

use paw_agent::hooks::notes::{HookAnswer, HookNote, HookNotes};
use paw_core::AgentId;
use paw_testkit::wait_until;
use serde_json::json;

use super::World;

#[test]
fn monitor_approves_a_safe_command_on_the_screen_with_one_key() {
    let world = World::supervised("");
    world.submit("[[bash:git status ; say:finished]]");
    wait_until("the command was approved", || world.has_event("allowed git status").then_some(()));
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let events = world.agent.events();
    let since: Vec<_> = events.iter().skip_while(|event| !event.starts_with("asked")).collect();
    assert_eq!(since, ["asked git status", "allowed git status"], "one key, and none into its input");
    assert_eq!(world.verdicts(), [("git status".to_owned(), "allow".to_owned())]);
    assert_eq!(world.questions(), [""; 0]);
}

#[test]
fn monitor_presses_no_key_while_a_hook_may_answer() {
    let world = World::supervised("");
    let begun = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"});
    assert_eq!(world.hook(&begun.to_string()).code, 0);
    world.submit("[[bash:git status ; say:finished]]");
    let asked = wait_until("the silent hook is reported", || world.questions().pop());
    assert!(asked.contains("git status (not approved automatically: its hook did not answer)"), "{asked}");
    assert!(!world.has_event("allowed git status"), "{:?}", world.agent.events());
}

#[test]
fn monitor_asks_once_about_an_unsafe_command_and_presses_no_key() {
    let world = World::supervised("");
    world.submit("[[bash:git push --force ; say:finished]]");
    let asked = wait_until("a question is published", || world.questions().pop());
    assert!(asked.contains("feat-x wants: git push --force"), "{asked}");
    wait_until("the dashboard shows it", || (world.phase() == "waiting_approval").then_some(()));
    // Further polls neither press a key nor publish a question.
    let seen = world.status_count();
    world.tmux(&["send-keys", "-t", &world.pane(), "-l", "3"]);
    wait_until("the denial is seen", || (world.phase() == "idle").then_some(()));
    assert!(world.status_count() > seen);
    assert_eq!(world.questions().len(), 1);
    assert!(world.has_event("denied git push --force"), "{:?}", world.agent.events());
    assert_eq!(world.verdicts().len(), 1);
}

#[test]
fn monitor_only_watches_with_approvals_off() {
    let world = World::supervised("[supervisor.auto_approve]\nenabled = false\n");
    world.submit("[[bash:git status]]");
    wait_until("the monitor sees it wait", || (world.phase() == "waiting_approval").then_some(()));
    world.tmux(&["send-keys", "-t", &world.pane(), "-l", "1"]);
    wait_until("the agent continues", || (world.phase() == "idle").then_some(()));
    assert_eq!((world.verdicts(), world.questions()), (Vec::new(), Vec::new()));
}

#[test]
fn monitor_reads_hook_events_at_once_and_asks_once() {
    let world = World::supervised("");
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let notes = HookNotes::of(&world.repo.root.join(".git"));
    let record = json!({
        "hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "npm publish"},
    });
    let mut note = HookNote::new(paw_host::clock::now(), "claude", &record);
    note.answer = Some(HookAnswer { allowed: false, reason: "`npm` is not on the allowlist".to_owned() });
    for _ in 0..2 {
        notes.append(&AgentId::new("feat-x").unwrap(), &note).unwrap();
    }
    let asked = wait_until("a question is published", || world.questions().pop());
    assert!(
        asked.contains("npm publish (not approved automatically: `npm` is not on the allowlist)"),
        "{asked}"
    );
    wait_until("the agent waits", || world.phases().contains(&"waiting_approval".to_owned()).then_some(()));
    // Its screen has shown another state for a while.
    wait_until("the screen's state wins", || (world.phase() == "idle").then_some(()));
    assert_eq!(world.questions().len(), 1);
}

/// The stall reports about the agent.
fn stalls(world: &World) -> Vec<String> {
    let of_agent = |text: &String| text.contains("[stall] feat-x:");
    world.messages("agent.feedback", "errors").into_iter().filter(of_agent).collect()
}

#[test]
fn monitor_reports_an_exited_agent_once() {
    let world = World::supervised("");
    wait_until("the monitor sees it running", || (world.phase() == "idle").then_some(()));
    world.submit("[[die]]");
    wait_until("the CLI exited", || world.phases().contains(&"exited".to_owned()).then_some(()));
    wait_until("the supervisor gets the report", || stalls(&world).pop());
    assert_eq!(stalls(&world), ["[\"[stall] feat-x: its CLI exited\"]"]);
}

#[test]
fn monitor_reports_a_rate_limit_and_resumes_the_agent_after_it() {
    let world = World::supervised("");
    world.submit("[[say:begun ; limit:in 8s ; wait ; say:finished]]");
    wait_until("the rate limit is reported", || {
        world.phases().contains(&"rate_limited".to_owned()).then_some(())
    });
    let until = world.messages("agent.status", "resets");
    assert_eq!(until, ["in 8s"]);
    wait_until("the supervisor gets the report", || stalls(&world).pop());
    let prompt = wait_until("the agent is resumed", || world.agent.prompts().get(2).cloned());
    assert_eq!(prompt, "Your rate limit should have reset. Continue where you left off.");
    wait_until("the agent is working again", || (world.phase() == "working").then_some(()));
    world.agent.go();
    wait_until("the agent is idle", || (world.phase() == "idle").then_some(()));
    let report = "[stall] feat-x: rate-limited, resets in 8s; git paw resumes it then";
    assert_eq!(stalls(&world), [format!("[\"{report}\"]")], "once");
    assert_eq!(world.agent.prompts().len(), 3, "once");
}
