//! Messages over MCP, with and without a broker.

use std::fs;
use std::process::{Child, Stdio};

use paw_testkit::{Sandbox, TestRepo, wait_until};
use serde_json::{Value, json};

use super::client::Client;
use crate::paw::{PROGRAM, document, paw};

/// A repository with two agents' worktrees, and a broker that ends with the test.
struct Team {
    sandbox: Sandbox,
    repo: TestRepo,
    broker: Child,
}

impl Team {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file("shared.txt", "one\ntwo\nthree\n", "shared");
        for name in ["a", "b"] {
            let dir = sandbox.root().join(name);
            repo.git(["worktree", "add", "--quiet", "-b", &format!("feat/{name}"), dir.to_str().unwrap()]);
        }
        sandbox.write("home/.config/git-paw/config.toml", "[broker]\nport = 0\n");
        let mut command = sandbox.command(PROGRAM);
        command.arg("serve").current_dir(&repo.root).stdout(Stdio::null()).stderr(Stdio::null());
        let broker = command.spawn().unwrap();
        wait_until("the broker is running", || {
            fs::read_to_string(repo.root.join(".git/paw/endpoint.json"))
                .ok()
                .filter(|text| text.contains("url"))
        });
        Self { sandbox, repo, broker }
    }

    fn client(&self) -> Client {
        Client::start(&self.sandbox, &self.repo.root, &["--tools", "coordination"])
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

#[test]
fn messages_sent_over_mcp_appear_in_the_commands() {
    let team = Team::new();
    let client = team.client();
    let said =
        client.call("say", json!({"type": "answer", "to": "feat-a", "text": "yes", "re": "may I?"})).unwrap();
    assert_eq!(said["way"], "broker");
    for message in [
        json!({"type": "status", "status": "working", "text": "tests"}),
        json!({"type": "artifact", "status": "done", "exports": ["parse"], "files": ["shared.txt"]}),
        json!({"type": "blocked", "text": "a schema", "to": "feat-b"}),
        json!({"type": "question", "text": "may I rename it?"}),
        json!({"type": "feedback", "to": "feat-a", "text": "a test fails"}),
        json!({"type": "intent", "files": ["shared.txt"], "text": "split it", "seconds": 600}),
    ] {
        let seq = client.call("say", message.clone()).unwrap()["seq"].as_u64();
        assert!(seq > said["seq"].as_u64(), "{message}");
    }
    let intents = client.call("intents", json!({})).unwrap();
    assert_eq!(intents["intents"][0]["files"], json!(["shared.txt"]), "{intents}");
    assert_eq!(intents["intents"][0]["agent_id"], "operator");
    let agents = client.call("agents", json!({})).unwrap();
    let me = agents["agents"].as_array().unwrap().iter().find(|agent| agent["agent_id"] == "operator");
    assert_eq!(me, None, "the operator is not an agent: {agents}");

    let mut inbox = client.call("inbox", json!({})).unwrap();
    assert_eq!(inbox.as_object_mut().unwrap().remove("more"), Some(json!(false)));
    assert_eq!(inbox, document(&paw(&team.sandbox, &team.repo.root, &["inbox", "--json"])));
}

#[test]
fn mcp_inbox_returns_pages() {
    let team = Team::new();
    let client = team.client();
    for number in 0..5 {
        client.call("say", json!({"type": "answer", "to": "operator", "text": number.to_string()})).unwrap();
    }
    let (mut since, mut read) = (json!(0), Vec::new());
    loop {
        let page = client.call("inbox", json!({"since": since, "limit": 2})).unwrap();
        let messages = page["messages"].as_array().unwrap();
        assert!(messages.len() <= 2);
        read.extend(messages.iter().map(|stored| stored["message"]["payload"]["answer"].clone()));
        since = page["last_seq"].clone();
        if page["more"] == false {
            break;
        }
    }
    read.retain(Value::is_string);
    assert_eq!(read, ["0", "1", "2", "3", "4"]);
}

#[test]
fn mcp_conflicts_lists_the_file_and_both_agents() {
    let team = Team::new();
    let client = team.client();
    assert_eq!(client.call("conflicts", json!({})).unwrap()["conflicts"], json!([]));
    for name in ["a", "b"] {
        let file = team.sandbox.root().join(name).join("shared.txt");
        fs::write(file, format!("one\nTWO of {name}\nthree\n")).unwrap();
    }
    let conflict = wait_until("the conflict is detected", || {
        let answer = client.call("conflicts", json!({})).unwrap();
        let conflicts = answer["conflicts"].as_array().unwrap().clone();
        conflicts.into_iter().find(|conflict| conflict["kind"] == "conflict")
    });
    assert_eq!(conflict["file"], "shared.txt");
    assert_eq!(conflict["agents"], json!(["feat-a", "feat-b"]));
    assert_eq!(conflict["lines"], "2", "{conflict}");
}

#[test]
fn mcp_inbox_waits_for_a_message() {
    let team = Team::new();
    let client = team.client();
    let since = client.call("inbox", json!({})).unwrap()["last_seq"].clone();
    let heard: Value = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| client.call("inbox", json!({"since": since, "wait": 50})).unwrap());
        let ran = paw(&team.sandbox, &team.repo.root, &["say", "answer", "operator", "now"]);
        assert_eq!(ran.code, 0, "{ran}");
        waiting.join().unwrap()
    });
    assert_eq!(heard["messages"][0]["message"]["payload"]["answer"], "now", "{heard}");
}

#[test]
fn mcp_say_reports_invalid_messages_as_tool_errors() {
    let team = Team::new();
    let client = team.client();
    for (arguments, part) in [
        (json!({}), "missing field `type`"),
        (json!({"type": "verified", "to": "feat-a"}), "unknown variant `verified`"),
        (json!({"type": "blocked", "text": "x"}), "needs `to`"),
        (json!({"type": "answer", "to": "../x y", "text": "x"}), "agent"),
        (json!({"type": "status", "status": ["x"]}), "invalid type"),
    ] {
        let error = client.call("say", arguments).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    for tool in ["inbox", "intents", "conflicts", "agents"] {
        assert_eq!(client.refusal(tool, json!({"since": -1, "x": 1})), "INVALID_ARGUMENT");
    }
}

#[test]
fn mcp_say_requires_the_token_of_the_agent() {
    let mut team = Team::new();
    team.sandbox.set("GIT_PAW_AGENT_ID", "feat-a");
    team.sandbox.set("GIT_PAW_BROKER_TOKEN", "guessed");
    let client = team.client();
    client.call("say", json!({"type": "status", "status": "working"})).unwrap_err();
    client.call("inbox", json!({})).unwrap_err();
}

#[test]
fn mcp_say_fails_without_a_session_and_lists_are_empty() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let client = Client::start(&sandbox, &repo.root, &["--tools", "coordination"]);
    let error = client.call("say", json!({"type": "question", "text": "anybody?"})).unwrap_err();
    assert_eq!(error["hint"], "start one with 'git paw start'", "{error}");
    assert_eq!(client.call("agents", json!({})).unwrap(), json!({"agents": []}));
    assert_eq!(client.call("intents", json!({})).unwrap(), json!({"intents": []}));
}
