//! Gemini.

use std::ffi::OsString;

use paw_host::process::Command;
use serde_json::Value;

use crate::cli::Cli;
use crate::headless::{self, Headless, OutputReader, Turn, TurnEvent, TurnFacts, Unattended};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::rules::{
    ApprovalKeys, ApprovalKind, Choices, DialogKind, DialogRule, InputRule, LimitRule, MarkPosition,
    PromptRule, ScreenRules, SubjectRule, WorkMark,
};

pub(super) const CLI: Cli = Cli {
    approval: ApprovalFlags { full_auto: "--approval-mode yolo", ..ApprovalFlags::NONE },
    // A resumed conversation lacks its first prompt if a request was cancelled since.
    resume: Some(ResumeArguments {
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
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some(said) = headless::json(line) else { return headless::raw_text(line) };
        if said["type"] == "message" && said["role"] != "user" && said["delta"] == true {
            return self.whole_lines(&headless::string(&said["content"])).into_iter().collect();
        }
        let rest = std::mem::take(&mut self.piece);
        let rest = (!rest.is_empty()).then_some(TurnEvent::Text(rest));
        rest.into_iter().chain(self.told(said)).collect()
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
    /// Everything up to the last end of a line; the rest waits for what comes next.
    fn whole_lines(&mut self, words: &str) -> Option<TurnEvent> {
        self.piece.push_str(words);
        let end = self.piece.rfind('\n')?;
        let rest = self.piece.split_off(end + 1);
        let mut lines = std::mem::replace(&mut self.piece, rest);
        lines.truncate(end);
        Some(TurnEvent::Text(lines))
    }

    fn told(&mut self, said: Value) -> Vec<TurnEvent> {
        match said["type"].as_str() {
            Some("init") => {
                self.facts.session = said["session_id"].as_str().map(str::to_owned);
                Vec::new()
            }
            // Our own message, repeated.
            Some("message") if said["role"] == "user" => Vec::new(),
            Some("message") => vec![TurnEvent::Text(headless::string(&said["content"]))],
            Some("tool_use") => vec![TurnEvent::ToolUse {
                id: headless::string(&said["tool_id"]),
                name: headless::string(&said["tool_name"]),
                input: said["parameters"].clone(),
            }],
            Some("tool_result") => {
                let output =
                    [&said["output"], &said["error"]["message"]].into_iter().find(|text| !text.is_null());
                vec![TurnEvent::ToolResult {
                    id: headless::string(&said["tool_id"]),
                    output: output.map(headless::string).unwrap_or_default(),
                    is_error: said["status"] != "success",
                }]
            }
            Some("error") => vec![TurnEvent::Error(headless::string(&said["message"]))],
            Some("result") => {
                let complaint = said["error"]["message"].as_str().unwrap_or("the turn failed");
                let good = said["status"] == "success";
                self.facts.verdict = Some(if good { Ok(()) } else { Err(complaint.to_owned()) });
                Vec::new()
            }
            _ => vec![TurnEvent::Raw(said)],
        }
    }
}

const ONCE: ApprovalKeys = &["1"];

const fn prompt(
    kind: ApprovalKind,
    question: &'static str,
    count: usize,
    subject: SubjectRule,
) -> PromptRule {
    PromptRule {
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
const SCREEN: ScreenRules = ScreenRules {
    versions: &["0.61.0"],
    banner: &["Gemini CLI"],
    dialogs: &[
        DialogRule { kind: DialogKind::Trust, rows: &["Do you trust", "1. Trust", "╰─"] },
        DialogRule { kind: DialogKind::Login, rows: &["How would you like to authenticate", "╰─"] },
        DialogRule { kind: DialogKind::Login, rows: &["Waiting for auth"] },
    ],
    prompts: &[
        prompt(
            ApprovalKind::Command,
            "Allow execution of [Shell]?",
            3,
            SubjectRule::Boxed { title: "? Shell " },
        ),
        prompt(
            ApprovalKind::Edit,
            "Apply this change?",
            4,
            SubjectRule::FileInTitle("? WriteFile  Writing to "),
        ),
        prompt(ApprovalKind::Other, "Allow execution of *?", 3, SubjectRule::Nowhere),
    ],
    questions: &[],
    input: InputRule::Cursor { cursor: " >", below: 4 },
    hints: &["Type your message"],
    working: &[WorkMark { place: MarkPosition::Over, text: "(esc to cancel" }],
    limits: &[LimitRule { row: "You have reached your daily", before_reset: "resets at " }],
    endings: &[],
    sidebar: None,
};
