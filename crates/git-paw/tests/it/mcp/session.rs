//! An agent in a running session, over MCP.

use std::fs;

use serde_json::json;

use super::client::Client;
use crate::lifecycle::World;
use crate::paw::document;

/// A variable of a pane's environment.
fn variable(world: &World, agent: &str, name: &str) -> String {
    let pane = world.pane(agent).unwrap();
    let pid = world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    let environment = String::from_utf8(fs::read(format!("/proc/{pid}/environ")).unwrap()).unwrap();
    let found = environment.split('\0').find_map(|entry| entry.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("{name} is not set")).to_owned()
}

#[test]
fn mcp_agent_in_its_pane_sends_as_itself() {
    let mut world = World::with_broker();
    let operator = Client::start(&world.sandbox, &world.repo.root, &["--tools", "coordination,session"]);
    let session = operator.call("session_status", json!({})).unwrap();
    assert_eq!(session["worktrees"][0]["agent_id"], "feat-a", "{session}");
    assert_eq!(session["session"], document(&world.paw(&["status", "--json"]))["session"]);

    for name in ["GIT_PAW_AGENT_ID", "GIT_PAW_BROKER_TOKEN", "GIT_PAW_BROKER_URL"] {
        let value = variable(&world, "feat-a", name);
        world.sandbox.set(name, value);
    }
    let agent = Client::start(&world.sandbox, &world.worktree("feat/a"), &["--tools", "coordination,gates"]);
    agent.call("say", json!({"type": "intent", "files": ["parse.rs"], "text": "a parser"})).unwrap();
    agent.call("say", json!({"type": "status", "status": "working", "text": "on the parser"})).unwrap();
    let agents = operator.call("agents", json!({})).unwrap();
    let seen =
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["agent_id"] == "feat-a").unwrap();
    assert_eq!((&seen["branch"], &seen["cli"]), (&json!("feat/a"), &json!("claude")), "{agents}");
    assert_eq!(
        (&seen["state"], &seen["last_message"]),
        (&json!("working"), &json!("on the parser")),
        "{agents}"
    );
    assert_eq!(operator.call("intents", json!({})).unwrap()["intents"][0]["agent_id"], "feat-a");

    operator.call("say", json!({"type": "answer", "to": "feat-a", "text": "well done"})).unwrap();
    let inbox = agent.call("inbox", json!({"wait": 50})).unwrap();
    let told = inbox["messages"].as_array().unwrap().iter();
    let told: Vec<_> = told.filter_map(|stored| stored["message"]["payload"]["answer"].as_str()).collect();
    assert_eq!(told, ["well done"], "{inbox}");
}
