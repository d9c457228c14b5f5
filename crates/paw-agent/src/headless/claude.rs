//! Claude Code: `claude -p --output-format stream-json`.
//!
//! Its result says `success` even when the API could not be reached, so `is_error` decides. Denied tools are listed in
//! the result alone; until then they look like any tool that failed.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;

use super::{Dialect, Event, Facts, Turn, option, words};

pub(super) fn arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["-p", "--output-format", "stream-json", "--verbose"]);
    arguments.extend(option("--model", turn.model));
    arguments.extend(option("--resume", turn.resume));
    arguments
}

#[derive(Debug, Default)]
pub(super) struct Claude {
    facts: Facts,
    /// What failed tools said, to explain a denial that is told later.
    refusals: BTreeMap<String, String>,
}

impl Dialect for Claude {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = super::json(line) else { return super::raw_text(line) };
        if let Some(session) = said["session_id"].as_str() {
            self.facts.session = Some(session.to_owned());
        }
        match said["type"].as_str() {
            Some("assistant") if said["error"].is_string() => {
                vec![Event::Error(text_of(&said["message"]["content"]))]
            }
            Some("assistant" | "user") => self.message(&said),
            Some("result") => self.result(&said),
            Some("system") if said["subtype"] == "api_retry" => vec![Event::Error(retry(&said))],
            _ => vec![Event::Raw(said)],
        }
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl Claude {
    fn message(&mut self, said: &Value) -> Vec<Event> {
        match &said["message"]["content"] {
            Value::Array(blocks) => {
                blocks.iter().map(|block| self.block(block, said["type"] == "user")).collect()
            }
            Value::String(text) if said["type"] == "assistant" => vec![Event::Text(text.clone())],
            _ => vec![Event::Raw(said.clone())],
        }
    }

    fn block(&mut self, block: &Value, from_user: bool) -> Event {
        match block["type"].as_str() {
            Some("text") if !from_user => Event::Text(super::string(&block["text"])),
            Some("tool_use") => Event::ToolUse {
                id: super::string(&block["id"]),
                name: super::string(&block["name"]),
                input: block["input"].clone(),
            },
            Some("tool_result") => {
                let (id, output) = (super::string(&block["tool_use_id"]), text_of(&block["content"]));
                let is_error = block["is_error"] == true;
                if is_error {
                    self.refusals.insert(id.clone(), output.clone());
                }
                Event::ToolResult { id, output, is_error }
            }
            _ => Event::Raw(block.clone()),
        }
    }

    fn result(&mut self, said: &Value) -> Vec<Event> {
        self.facts.cost_usd = said["total_cost_usd"].as_f64();
        self.facts.turns = said["num_turns"].as_u64().and_then(|turns| turns.try_into().ok());
        let good = said["subtype"] == "success" && said["is_error"] == false;
        self.facts.verdict = Some(if good { Ok(()) } else { Err(complaint(said)) });
        let denials = said["permission_denials"].as_array().map(Vec::as_slice).unwrap_or_default();
        denials.iter().map(|denial| self.denial(denial)).collect()
    }

    fn denial(&self, denial: &Value) -> Event {
        let id = denial["tool_use_id"].as_str().map(str::to_owned);
        let refusal = id.as_ref().and_then(|id| self.refusals.get(id)).cloned();
        Event::PermissionDenied {
            id,
            name: denial["tool_name"].as_str().map(str::to_owned),
            input: denial["tool_input"].clone(),
            message: refusal.unwrap_or_else(|| "permission denied".to_owned()),
        }
    }
}

fn complaint(said: &Value) -> String {
    let words = [&said["result"], &said["errors"][0], &said["subtype"]];
    words.into_iter().find_map(Value::as_str).unwrap_or("the turn failed").to_owned()
}

fn retry(said: &Value) -> String {
    let error = said["error"].as_str().unwrap_or("unknown");
    format!("API error ({error}), attempt {} of {}", said["attempt"], said["max_retries"])
}

/// A text, or the texts of several blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => super::string(other),
    }
}
