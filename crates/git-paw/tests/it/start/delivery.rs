//! Boot prompts, delivered by the session's process when each agent is ready.

use std::fs;

use paw_testkit::{AgentLook, FakeAgent, RunOutput, wait_until};
use serde_json::Value;

use super::World;
use crate::paw::{document, paw};

/// A session of one agent that looks like claude and waits for a signal before it is ready.
fn started(steps: &str) -> (World, FakeAgent) {
    started_by(steps, |wrapper| wrapper)
}

/// The same with a modified CLI script.
fn started_by(steps: &str, change: impl Fn(String) -> String) -> (World, FakeAgent) {
    let mut world = World::new();
    world.sandbox.set("GIT_PAW_READINESS_TIMEOUT_MS", "6000");
    let agent = world.sandbox.install_agent("claude", AgentLook::Claude, steps);
    let wrapper = fs::read_to_string(&agent.program).unwrap();
    world.sandbox.install_program("claude", &change(wrapper));
    world.repo.write("specs/add-auth/tasks.md", "- [ ] 1.1 do it\n");
    world.repo.git(["add", "specs"]);
    world.repo.git(["commit", "--quiet", "--message", "specs"]);
    let ran = world.start(&["--no-supervisor", "--cli", "claude", "--from-all-specs"]);
    assert!(ran.stdout.contains("detached mode"), "{ran}");
    (world, agent)
}

fn agent(world: &World) -> Value {
    world.receipt("paw-app")["worktrees"][0].clone()
}

fn pane_of(world: &World, agent: &str) -> String {
    let panes = world.panes("paw-app", "#{@paw_agent} #{pane_id}");
    panes.iter().find_map(|line| line.strip_prefix(&format!("{agent} "))).unwrap().to_owned()
}

fn run(world: &World, args: &[&str]) -> RunOutput {
    paw(&world.sandbox, &world.repo.root, args)
}

fn is_delivered(world: &World, place: usize) -> bool {
    world.receipt("paw-app")["worktrees"][place]["pending_boot_prompt"].is_null()
}

#[test]
fn start_delivers_the_boot_prompt_in_the_background() {
    let (world, fake) = started("wait");
    let pending = agent(&world)["pending_boot_prompt"].as_str().unwrap().to_owned();
    assert!(pending.contains("AGENTS.md"), "{pending}");
    assert_eq!(fake.prompts(), [""; 0]);
    fake.go();
    wait_until("the prompt was submitted", || (!fake.prompts().is_empty()).then_some(()));
    assert_eq!(fake.prompts()[0].trim(), pending);
    wait_until("the receipt says so", || is_delivered(&world, 0).then_some(()));
    assert_eq!(agent(&world)["boot_prompt_problem"], Value::Null);
    let events = fake.events();
    assert_eq!(events.iter().filter(|event| event.starts_with("submitted")).count(), 1, "{events:?}");
}

#[test]
fn boot_prompt_reaches_a_cli_that_is_a_shell_script() {
    let (world, fake) = started_by("", |wrapper| wrapper.replace("exec -a claude bash", "bash"));
    wait_until("the prompt was submitted", || (!fake.prompts().is_empty()).then_some(()));
    assert_eq!(world.panes("paw-app", "#{pane_current_command}"), ["claude"]);
    world.sandbox.tmux(["send-keys", "-t", "=paw-app:", "[[die]]", "Enter"]);
    wait_until("its shell is back", || {
        (world.panes("paw-app", "#{pane_current_command}") == ["sh"]).then_some(())
    });
}

#[test]
fn boot_prompt_waits_for_a_cli_that_exited_and_is_started_again() {
    let (world, fake) = started("die");
    let pane = world.panes("paw-app", "#{pane_id}").remove(0);
    let shown = || world.sandbox.tmux(["capture-pane", "-p", "-t", &pane]).stdout;
    wait_until("its prompt is still pending, with a reason", || {
        (!agent(&world)["boot_prompt_problem"].is_null()).then_some(())
    });
    assert!(!is_delivered(&world, 0));
    assert!(!shown().contains("You are agent"), "{}", shown());
    assert_eq!(fake.prompts(), [""; 0]);
    // The person starts it by hand.
    world.sandbox.install_agent("claude", AgentLook::Claude, "");
    world.sandbox.tmux(["send-keys", "-t", &pane, "claude", "Enter"]);
    wait_until("the prompt was submitted", || (fake.prompts().len() == 1).then_some(()));
    wait_until("the receipt says so", || is_delivered(&world, 0).then_some(()));
    assert_eq!(agent(&world)["boot_prompt_problem"], Value::Null);
}

/// One agent waits at its trust dialog. Another one that is added meanwhile gets its prompt, nothing overtakes the first
/// prompt, a person is asked, the session's process is killed, and in the end the prompt arrives once.
#[test]
fn briefing_survives_a_trust_dialog_and_a_killed_process_and_holds_up_no_other_agent() {
    let world = World::new();
    let slow = world.sandbox.install_agent("claude", AgentLook::Claude, "trust");
    let quick = world.sandbox.install_agent("my-agent", AgentLook::Plain, "");
    world.sandbox.write("home/.config/git-paw/config.toml", "[broker]\nenabled = true\n");
    let ran = world.start(&["--no-supervisor", "--cli", "claude", "--branches", "feat/slow"]);
    assert_eq!(ran.code, 0, "{ran}");
    wait_until("the dialog is open", || slow.events().contains(&"dialog".to_owned()).then_some(()));
    wait_until("the receipt says why", || agent(&world)["boot_prompt_problem"].is_string().then_some(()));

    let ran = run(&world, &["add", "feat/quick", "--cli", "my-agent"]);
    assert_eq!(ran.code, 0, "{ran}");
    wait_until("the other agent has its prompt", || (!quick.prompts().is_empty()).then_some(()));

    let told = run(&world, &["tell", "feat/slow", "--now", "do something else"]);
    assert!(told.code == 1 && told.stderr.contains("has not received its first prompt yet"), "{told}");
    let needs = document(&run(&world, &["next", "--json"]))["needs"].clone();
    assert!(needs.to_string().contains("whether this folder is trusted"), "{needs}");
    let status = run(&world, &["status"]);
    assert!(status.stdout.contains("whether this folder is trusted"), "{status}");

    // The process is killed while the dialog is open; the dashboard starts it again.
    let killed = world.sandbox.session_processes();
    for pid in &killed {
        world.sandbox.run(&world.sandbox.root(), "kill", ["-9", &pid.to_string()]);
    }
    wait_until("the process is back", || {
        let now = world.sandbox.session_processes();
        (!now.is_empty() && now.iter().all(|pid| !killed.contains(pid))).then_some(())
    });
    assert_eq!(slow.events(), ["dialog"]);
    world.sandbox.tmux(["send-keys", "-t", &pane_of(&world, "feat-slow"), "1"]);
    wait_until("the prompt was submitted", || (!slow.prompts().is_empty()).then_some(()));
    wait_until("the receipt says so", || is_delivered(&world, 0).then_some(()));
    assert_eq!(slow.events(), ["dialog", "trusted", "ready", "paste", "submitted 1"]);
    assert!(!run(&world, &["status"]).stdout.contains("not delivered"));
}

/// The process is killed after it typed the prompt, and after it pressed Enter.
#[test]
fn prompt_is_not_typed_twice_after_the_session_process_was_killed() {
    let (world, fake) = started("");
    wait_until("the receipt says so", || is_delivered(&world, 0).then_some(()));
    let session = paw_core::SessionName::new("paw-app").unwrap();
    let receipts = paw_session::Receipts::at(world.sandbox.home().join(".local/share/git-paw/sessions"));
    let leave = |text: &str, stage: paw_core::receipt::PromptStage| {
        let set = |receipt: &mut paw_core::Receipt| {
            let at = "2025-01-01T00:00:00Z".parse().unwrap();
            receipt.worktrees[0].pending_boot_prompt = Some(text.to_owned());
            receipt.worktrees[0].boot_prompt_progress = Some(paw_core::receipt::PromptProgress { stage, at });
        };
        receipts.update(&session, &receipts.lock().unwrap(), set).unwrap();
    };
    let pane = world.panes("paw-app", "#{pane_id}").remove(0);
    let pastes = || fake.events().iter().filter(|event| *event == "paste").count();
    assert_eq!(pastes(), 1);
    // As a process leaves it that was killed before it pressed Enter.
    let text = "Read all of AGENTS.md and begin with its first task";
    world.sandbox.tmux(["send-keys", "-t", &pane, "-l", text]);
    wait_until("it is typed", || {
        world
            .sandbox
            .tmux(["capture-pane", "-p", "-J", "-t", &pane])
            .stdout
            .contains("first task")
            .then_some(())
    });
    leave(text, paw_core::receipt::PromptStage::Typing);
    wait_until("it is sent", || (fake.prompts().len() == 2).then_some(()));
    wait_until("the receipt says so", || is_delivered(&world, 0).then_some(()));
    // As a process leaves it that was killed after it pressed Enter.
    leave(text, paw_core::receipt::PromptStage::Sending);
    wait_until("the receipt says that it was delivered", || is_delivered(&world, 0).then_some(()));
    assert_eq!((pastes(), fake.prompts().len()), (1, 2));
}
