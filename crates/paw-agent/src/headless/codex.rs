//! Codex: `codex exec --json`.
//!
//! A rejected command or patch is absent from its JSON, which then ends as if all were well; only standard error tells.
//! A server out of reach is reported again and again, and never ends the turn.

use std::collections::BTreeSet;
use std::ffi::OsString;

use serde_json::{Value, json};

use super::{Dialect, Event, Facts, Turn, option, string, words};

pub(super) fn arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["exec", "--json"]);
    arguments.extend(option("--model", turn.model));
    if let Some(session) = turn.resume {
        arguments.extend(words(["resume", "--", session]));
    }
    arguments.push("-".into());
    arguments
}

#[derive(Debug, Default)]
pub(super) struct Codex {
    facts: Facts,
    /// Items that are under way; some come without a beginning.
    begun: BTreeSet<String>,
}

impl Dialect for Codex {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = super::json(line) else { return super::raw_text(line) };
        match said["type"].as_str() {
            Some("thread.started") => {
                self.facts.session = said["thread_id"].as_str().map(str::to_owned);
                Vec::new()
            }
            Some("turn.started") => Vec::new(),
            Some("item.started") => self.begin(&said["item"]).into_iter().collect(),
            Some("item.completed") => self.complete(&said["item"]),
            Some("error") => vec![Event::Error(string(&said["message"]))],
            Some("turn.completed") => {
                self.facts.verdict = Some(Ok(()));
                Vec::new()
            }
            Some("turn.failed") => {
                let message = said["error"]["message"].as_str().unwrap_or("the turn failed").to_owned();
                self.facts.verdict = Some(Err(message.clone()));
                vec![Event::Error(message)]
            }
            _ => vec![Event::Raw(said)],
        }
    }

    fn err(&mut self, line: &str) -> Vec<Event> {
        let Some((_, message)) = line.split_once("error=").filter(|_| line.contains(" ERROR ")) else {
            return Vec::new();
        };
        if !message.contains("reject") {
            return vec![Event::Error(message.to_owned())];
        }
        vec![Event::PermissionDenied {
            id: None,
            name: None,
            input: Value::Null,
            message: message.to_owned(),
        }]
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl Codex {
    fn begin(&mut self, item: &Value) -> Option<Event> {
        let (name, input) = tool(item)?;
        let id = string(&item["id"]);
        self.begun.insert(id.clone()).then_some(Event::ToolUse { id, name, input })
    }

    fn complete(&mut self, item: &Value) -> Vec<Event> {
        match item["type"].as_str() {
            Some("agent_message") => vec![Event::Text(string(&item["text"]))],
            Some("error") => vec![Event::Error(string(&item["message"]))],
            _ if tool(item).is_some() => {
                let mut events: Vec<Event> = self.begin(item).into_iter().collect();
                let id = string(&item["id"]);
                self.begun.remove(&id);
                let failed = item["exit_code"].as_i64().is_some_and(|code| code != 0)
                    || item["status"].as_str().is_some_and(|status| status != "completed");
                events.push(Event::ToolResult { id, output: output(item), is_error: failed });
                events
            }
            _ => vec![Event::Raw(item.clone())],
        }
    }
}

/// The tool an item is about, and what it was given.
fn tool(item: &Value) -> Option<(String, Value)> {
    match item["type"].as_str()? {
        kind @ "command_execution" => Some((kind.to_owned(), json!({ "command": item["command"] }))),
        kind @ "file_change" => Some((kind.to_owned(), json!({ "changes": item["changes"] }))),
        kind @ "web_search" => Some((kind.to_owned(), json!({ "query": item["query"] }))),
        "mcp_tool_call" => Some((
            format!("{}.{}", string(&item["server"]), string(&item["tool"])),
            item["arguments"].clone(),
        )),
        _ => None,
    }
}

fn output(item: &Value) -> String {
    let said = [&item["aggregated_output"], &item["error"]["message"], &item["result"]];
    said.into_iter().find(|text| !text.is_null()).map(string).unwrap_or_default()
}
