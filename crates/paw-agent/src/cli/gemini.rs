//! Gemini.

use std::ffi::OsString;

use paw_host::process::Command;
use serde_json::Value;

use crate::cli::Cli;
use crate::headless::{self, Event, Headless, OutputReader, Turn, TurnFacts, Unattended};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeWords;
use crate::screen::rules::{
    AskKind, Choices, Dialog, DialogKind, Input, Keys, Limit, Mark, MarkPlace, Prompt, Rules, Subject,
};

pub(super) const CLI: Cli = Cli {
    approval: ApprovalFlags { full_auto: "--approval-mode yolo", ..ApprovalFlags::NONE },
    // A resumed conversation lacks its first prompt if a request was cancelled since.
    resume: Some(ResumeWords {
        latest: &["--resume=latest"],
        named: Some(&["--resume="]),
        remembers_first_prompt: false,
    }),
    headless: Headless {
        arguments: turn_arguments,
        reader: || Box::new(Reader::default()),
        unattended: Some(Unattended { preference: 2, restrict }),
    },
    screen: Some(&SCREEN),
    ..Cli::known("gemini", "Gemini")
};

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["-o", "stream-json"]);
    arguments.extend(headless::option("--model", turn.model));
    arguments.extend(headless::option("--resume", turn.resume));
    arguments
}

fn restrict(command: Command, tests: Option<&str>) -> Command {
    if tests.is_some() { command.args(["--approval-mode", "yolo"]) } else { command }
}

/// `gemini -o stream-json`.
#[derive(Debug, Default)]
struct Reader {
    facts: TurnFacts,
    /// What it has begun to say: it tells its words in pieces that end anywhere.
    piece: String,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = headless::json(line) else { return headless::raw_text(line) };
        if said["type"] == "message" && said["role"] != "user" && said["delta"] == true {
            return self.whole_lines(&headless::string(&said["content"])).into_iter().collect();
        }
        let rest = std::mem::take(&mut self.piece);
        let rest = (!rest.is_empty()).then_some(Event::Text(rest));
        rest.into_iter().chain(self.told(said)).collect()
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
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
            Some("message") => vec![Event::Text(headless::string(&said["content"]))],
            Some("tool_use") => vec![Event::ToolUse {
                id: headless::string(&said["tool_id"]),
                name: headless::string(&said["tool_name"]),
                input: said["parameters"].clone(),
            }],
            Some("tool_result") => {
                let output =
                    [&said["output"], &said["error"]["message"]].into_iter().find(|text| !text.is_null());
                vec![Event::ToolResult {
                    id: headless::string(&said["tool_id"]),
                    output: output.map(headless::string).unwrap_or_default(),
                    is_error: said["status"] != "success",
                }]
            }
            Some("error") => vec![Event::Error(headless::string(&said["message"]))],
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

const ONCE: Keys = &["1"];

const fn prompt(kind: AskKind, question: &'static str, count: usize, subject: Subject) -> Prompt {
    Prompt {
        kind,
        edges: ("│ ", " │"),
        question,
        details_below: false,
        choices: Choices::Numbered { cursor: '●', first: "Allow once", count },
        footers: &["╰─"],
        subject,
        keys: ONCE,
    }
}

/// A prompt is a box with the command in a box of its own.
const SCREEN: Rules = Rules {
    versions: &["0.61.0"],
    banner: &["Gemini CLI"],
    dialogs: &[
        Dialog { kind: DialogKind::Trust, rows: &["Do you trust", "1. Trust", "╰─"] },
        Dialog { kind: DialogKind::Login, rows: &["How would you like to authenticate", "╰─"] },
        Dialog { kind: DialogKind::Login, rows: &["Waiting for auth"] },
    ],
    prompts: &[
        prompt(AskKind::Command, "Allow execution of [Shell]?", 3, Subject::Boxed { title: "? Shell " }),
        prompt(AskKind::Edit, "Apply this change?", 4, Subject::FileInTitle("? WriteFile  Writing to ")),
        prompt(AskKind::Other, "Allow execution of *?", 3, Subject::Nowhere),
    ],
    questions: &[],
    input: Input::Cursor { cursor: " >", below: 4 },
    hints: &["Type your message"],
    working: &[Mark { place: MarkPlace::Over, text: "(esc to cancel" }],
    limits: &[Limit { row: "You have reached your daily", before_reset: "resets at " }],
    endings: &[],
    sidebar: None,
};
