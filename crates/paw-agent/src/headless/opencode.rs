//! OpenCode: `opencode run --format json`, with the message on standard input.
//!
//! It has no last line: a turn is over when a step ended because the model had nothing more to do. After a rejected
//! permission it ends in the middle, with exit code 0.

use std::ffi::OsString;

use serde_json::Value;

use super::{Dialect, Event, Facts, Turn, option, string, words};

pub(super) fn arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["run", "--format", "json"]);
    arguments.extend(option("--model", turn.model));
    arguments.extend(option("--session", turn.resume));
    arguments
}

#[derive(Debug, Default)]
pub(super) struct OpenCode {
    facts: Facts,
}

impl Dialect for OpenCode {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = super::json(line) else { return super::raw_text(line) };
        if let Some(session) = said["sessionID"].as_str() {
            self.facts.session = Some(session.to_owned());
        }
        let part = &said["part"];
        match said["type"].as_str() {
            Some("step_start") => Vec::new(),
            Some("step_finish") => {
                self.step(part);
                Vec::new()
            }
            Some("text") => vec![Event::Text(string(&part["text"]))],
            Some("tool_use") => tool(part),
            Some("error") => {
                let words =
                    [&said["error"]["data"]["message"], &said["error"]["message"], &said["error"]["name"]];
                let message =
                    words.into_iter().find_map(Value::as_str).unwrap_or("the turn failed").to_owned();
                self.facts.verdict = Some(Err(message.clone()));
                vec![Event::Error(message)]
            }
            _ => vec![Event::Raw(said)],
        }
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl OpenCode {
    fn step(&mut self, part: &Value) {
        self.facts.turns = Some(self.facts.turns.unwrap_or(0) + 1);
        if let Some(cost) = part["cost"].as_f64() {
            self.facts.cost_usd = Some(self.facts.cost_usd.unwrap_or(0.0) + cost);
        }
        self.facts.verdict = match part["reason"].as_str() {
            Some("stop") => Some(Ok(())),
            reason => {
                Some(Err(format!("the turn ended unfinished ({})", reason.unwrap_or("no reason given"))))
            }
        };
    }
}

/// A tool is told once, when it is over.
fn tool(part: &Value) -> Vec<Event> {
    let (id, name) = (string(&part["callID"]), string(&part["tool"]));
    let (state, input) = (&part["state"], part["state"]["input"].clone());
    let is_error = state["status"] == "error";
    let output = string(if is_error { &state["error"] } else { &state["output"] });
    let denied = is_error && output.contains("rejected permission");
    let denial = denied.then(|| Event::PermissionDenied {
        id: Some(id.clone()),
        name: Some(name.clone()),
        input: input.clone(),
        message: output.clone(),
    });
    let told = [Event::ToolUse { id: id.clone(), name, input }, Event::ToolResult { id, output, is_error }];
    told.into_iter().chain(denial).collect()
}
