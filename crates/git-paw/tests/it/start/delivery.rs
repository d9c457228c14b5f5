//! Boot prompts, delivered in the background when the agent is ready.

use std::fs;

use paw_testkit::{AgentLook, FakeAgent, wait_until};
use serde_json::Value;

use super::World;

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

#[test]
fn start_delivers_the_boot_prompt_in_the_background() {
    let (world, fake) = started("wait");
    let pending = agent(&world)["pending_boot_prompt"].as_str().unwrap().to_owned();
    assert!(pending.contains("AGENTS.md"), "{pending}");
    assert_eq!(fake.prompts(), [""; 0]);
    fake.go();
    wait_until("the prompt was submitted", || (!fake.prompts().is_empty()).then_some(()));
    assert_eq!(fake.prompts()[0].trim(), pending);
    wait_until("the receipt says so", || agent(&world)["pending_boot_prompt"].is_null().then_some(()));
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
fn boot_prompt_is_not_typed_into_the_shell_of_an_exited_cli() {
    let (world, fake) = started("die");
    let shown = || {
        let id = world.panes("paw-app", "#{pane_id}").remove(0);
        world.sandbox.tmux(["capture-pane", "-p", "-t", &id]).stdout
    };
    wait_until("its prompt is still pending, with a reason", || {
        (!agent(&world)["boot_prompt_problem"].is_null()).then_some(())
    });
    assert!(!agent(&world)["pending_boot_prompt"].is_null());
    assert!(!shown().contains("You are agent"), "{}", shown());
    assert_eq!(fake.prompts(), [""; 0]);
}
