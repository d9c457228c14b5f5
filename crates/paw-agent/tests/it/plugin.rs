//! opencode's plugin, run by node: what it reports to the hook, and how it answers opencode.

use std::fs;

use paw_agent::cli;
use paw_agent::hooks::HookInstall;
use paw_host::process::{Command, find_program};
use paw_testkit::Sandbox;
use serde_json::{Value, json};

/// Sends events to the plugin, as opencode does, and prints its answers.
const DRIVER: &str = r#"
import { GitPaw } from "./plugin.mjs";
const client = { postSessionIdPermissionsPermissionId: async (said) => console.log(JSON.stringify(said)) };
const { event } = await GitPaw({ client, directory: process.argv[2] });
for (const one of JSON.parse(process.argv[3])) await event?.({ event: one });
"#;

/// The records that reached the hook, and the answers that reached opencode.
struct Ran {
    told: Vec<Value>,
    answered: Vec<Value>,
}

/// Sends events in the pane of an agent. The hook approves every tool named `harmless`.
fn hand_over(followed: Option<&str>, events: &Value) -> Option<Ran> {
    let Some(node) = find_program("node", &std::env::var_os("PATH").unwrap_or_default()) else {
        eprintln!("skipped: this machine has no node");
        return None;
    };
    let sandbox = Sandbox::new();
    let (told, tree) = (sandbox.root().join("told"), sandbox.root().join("tree"));
    fs::create_dir(&tree).unwrap();
    let hook = format!(
        "#!/bin/sh\nrecord=$(cat)\nprintf '%s\\n' \"$record\" >> '{}'\n\
         case $record in *permission.asked*harmless*) echo '{{\"reply\":\"once\"}}' ;; esac\n",
        told.display()
    );
    let program = sandbox.install_program("hook", &hook);
    let HookInstall::Plugin(plugin) = cli::find("opencode").unwrap().hooks.unwrap().install else { panic!() };
    sandbox.write("plugin.mjs", &(plugin.text)(&program).unwrap());
    let driver = sandbox.write("driver.mjs", DRIVER);
    let mut command = Command::new(node).arg(driver).arg(&tree).arg(events.to_string());
    command = command.env("GIT_PAW_AGENT_ID", "feat-x").env_remove("GIT_PAW_FOLLOWED");
    if let Some(process) = followed {
        command = command.env("GIT_PAW_FOLLOWED", process);
    }
    let output = command.capture().unwrap();
    assert!(output.exit.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let here = tree.display().to_string();
    let lines = |text: &str| {
        let text = text.replace(&here, "[TREE]");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    Some(Ran {
        told: lines(&fs::read_to_string(told).unwrap_or_default()),
        answered: lines(&String::from_utf8_lossy(&output.stdout)),
    })
}

fn event(kind: &str, properties: &Value) -> Value {
    json!({"type": kind, "properties": properties})
}

fn asked(permission: &str, call: &str) -> Value {
    let facts = json!({"id": "p-1", "sessionID": "s-1", "permission": permission, "tool": {"callID": call}});
    event("permission.asked", &facts)
}

fn running(call: &str, input: &Value) -> Value {
    let part = json!({"type": "tool", "tool": "bash", "callID": call, "state": {"status": "running", "input": input}});
    event("message.part.updated", &json!({"sessionID": "s-1", "part": part}))
}

#[test]
fn plugin_reports_the_directory_of_a_command_only_if_it_is_known() {
    let events = json!([
        running("call-1", &json!({"command": "make", "workdir": "sub"})),
        asked("bash", "call-1"),
        running("call-2", &json!({"command": "make"})),
        asked("bash", "call-2"),
        asked("bash", "never-heard-of"),
        asked("edit", "never-heard-of"),
    ]);
    let Some(ran) = hand_over(None, &events) else { return };
    let asked = ran.told.iter().filter(|record| record["type"] == "permission.asked");
    let places: Vec<_> = asked.map(|record| record["cwd"].clone()).collect();
    assert_eq!(places, [json!("[TREE]/sub"), json!("[TREE]"), Value::Null, json!("[TREE]")]);
}

#[test]
fn plugin_waits_for_a_call_that_is_reported_after_its_request() {
    let events = json!([
        asked("bash", "call-1"),
        running("other", &json!({"command": "make", "workdir": "elsewhere"})),
        running("call-1", &json!({"command": "make", "workdir": "sub"})),
    ]);
    let Some(ran) = hand_over(None, &events) else { return };
    let kinds: Vec<_> = ran.told.iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["permission.asked", "message.part.updated", "message.part.updated"]);
    assert_eq!(ran.told[0]["cwd"], "[TREE]/sub");
}

#[test]
fn plugin_answers_only_harmless_requests_by_their_id() {
    let mut harmless = asked("bash", "call-1");
    harmless["properties"]["id"] = json!("harmless-7");
    let Some(ran) = hand_over(None, &json!([asked("bash", "call-1"), harmless])) else { return };
    let expected = json!({"path": {"id": "s-1", "permissionID": "harmless-7"}, "body": {"response": "once"}});
    assert_eq!((ran.told.len(), ran.answered), (2, vec![expected]));
}

#[test]
fn plugin_reports_each_change_once_and_no_diffs() {
    let status = |kind: &str| event("session.status", &json!({"sessionID": "s-1", "status": {"type": kind}}));
    let mut edit = asked("edit", "call-1");
    edit["properties"]["metadata"] = json!({"filepath": "a", "diff": "+secret"});
    let twice = running("call-1", &json!({"command": "make"}));
    let other = event("message.updated", &json!({}));
    let events = json!([status("busy"), status("busy"), twice, twice, status("idle"), edit, other]);
    let Some(ran) = hand_over(None, &events) else { return };
    let kinds: Vec<_> = ran.told.iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session.status", "message.part.updated", "session.status", "permission.asked"]);
    assert_eq!(ran.told[3]["properties"]["metadata"], json!({"filepath": "a"}));
}

#[test]
fn plugin_ignores_an_opencode_that_the_agent_started() {
    let Some(ran) = hand_over(Some("1"), &json!([asked("bash", "call-1")])) else { return };
    assert_eq!(ran.told, [Value::Null; 0]);
}
