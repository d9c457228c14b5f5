//! Gemini: `gemini -o stream-json`, with the message on standard input.

use std::ffi::OsString;

use serde_json::Value;

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
    /// What it has begun to say: it tells its words in pieces that end anywhere.
    piece: String,
}

impl Dialect for Gemini {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = super::json(line) else { return super::raw_text(line) };
        if said["type"] == "message" && said["role"] != "user" && said["delta"] == true {
            return self.whole_lines(&string(&said["content"])).into_iter().collect();
        }
        let rest = std::mem::take(&mut self.piece);
        let rest = (!rest.is_empty()).then_some(Event::Text(rest));
        rest.into_iter().chain(self.told(said)).collect()
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

impl Gemini {
    /// Everything up to the last end of a line; the rest waits for what comes next.
    fn whole_lines(&mut self, words: &str) -> Option<Event> {
        self.piece.push_str(words);
        let end = self.piece.rfind('\n')?;
        let rest = self.piece.split_off(end + 1);
        let mut lines = std::mem::replace(&mut self.piece, rest);
        lines.truncate(end);
        Some(Event::Text(lines))
    }

    fn told(&mut self, said: Value) -> Vec<Event> {
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
}
