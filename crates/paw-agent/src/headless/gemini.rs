//! Gemini: `gemini -o stream-json`, with the message on standard input.

use std::ffi::OsString;

use super::{Dialect, Event, Facts, Turn, option, string, words};

pub(super) fn arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = words(["-o", "stream-json"]);
    arguments.extend(option("--model", turn.model));
    arguments.extend(option("--resume", turn.resume));
    arguments
}

#[derive(Debug, Default)]
pub(super) struct Gemini {
    facts: Facts,
}

impl Dialect for Gemini {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = super::json(line) else { return super::raw_text(line) };
        match said["type"].as_str() {
            Some("init") => {
                self.facts.session = said["session_id"].as_str().map(str::to_owned);
                Vec::new()
            }
            // Our own message, repeated.
            Some("message") if said["role"] == "user" => Vec::new(),
            Some("message") => vec![Event::Text(string(&said["content"]))],
            Some("tool_use") => vec![Event::ToolUse {
                id: string(&said["tool_id"]),
                name: string(&said["tool_name"]),
                input: said["parameters"].clone(),
            }],
            Some("tool_result") => {
                let output =
                    [&said["output"], &said["error"]["message"]].into_iter().find(|text| !text.is_null());
                vec![Event::ToolResult {
                    id: string(&said["tool_id"]),
                    output: output.map(string).unwrap_or_default(),
                    is_error: said["status"] != "success",
                }]
            }
            Some("error") => vec![Event::Error(string(&said["message"]))],
            Some("result") => {
                let complaint = said["error"]["message"].as_str().unwrap_or("the turn failed");
                let good = said["status"] == "success";
                self.facts.verdict = Some(if good { Ok(()) } else { Err(complaint.to_owned()) });
                Vec::new()
            }
            _ => vec![Event::Raw(said)],
        }
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}
