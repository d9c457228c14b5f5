//! Gemini.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use paw_host::files;
use paw_host::process::Command;
use serde_json::Value;

use crate::cli::Cli;
use crate::headless::{self, Headless, OutputReader, Turn, TurnEvent, TurnFacts, Unattended};
use crate::hooks::transcript::{FoundTranscript, TranscriptUsage};
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
    transcript: Some(FoundTranscript { find: find_transcript, usage }),
    screen: Some(&SCREEN),
    settings: &[".gemini"],
    ..Cli::known("gemini", "Gemini")
};

/// gemini keeps a directory of conversations for each project, by a name that is in a list.
fn find_transcript(home: &Path, worktree: &Path) -> Option<PathBuf> {
    let own = home.join(".gemini");
    let list: Value = serde_json::from_str(&files::load_text(&own.join("projects.json")).ok()??).ok()?;
    let name = list["projects"][worktree.to_str()?].as_str()?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let chats = own.join("tmp").join(name).join("chats");
    let chats = fs::read_dir(Some(chats).filter(|_| Path::new(name).components().all(is_plain))?).ok()?;
    let written = |file: &fs::DirEntry| file.metadata().and_then(|about| about.modified()).ok();
    let newest = chats.flatten().filter(|file| file.path().extension().is_some_and(|kind| kind == "jsonl"));
    newest.max_by_key(written).map(|file| file.path())
}

/// The tokens of one answer include the conversation so far.
fn usage(line: &Value) -> Option<TranscriptUsage> {
    let context = line["tokens"]["total"].as_u64().filter(|_| line["type"] == "gemini")?;
    Some(TranscriptUsage { context_tokens: Some(context), ..TranscriptUsage::default() })
}

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
    /// The incomplete last line: gemini sends its text in deltas that can end anywhere.
    piece: String,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some(record) = headless::json(line) else { return headless::raw_text(line) };
        if record["type"] == "message" && record["role"] != "user" && record["delta"] == true {
            return self.whole_lines(&headless::string(&record["content"])).into_iter().collect();
        }
        let rest = std::mem::take(&mut self.piece);
        let rest = (!rest.is_empty()).then_some(TurnEvent::Text(rest));
        rest.into_iter().chain(self.read_record(record)).collect()
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
    /// Returns all complete lines and keeps the rest for the next delta.
    fn whole_lines(&mut self, words: &str) -> Option<TurnEvent> {
        self.piece.push_str(words);
        let end = self.piece.rfind('\n')?;
        let rest = self.piece.split_off(end + 1);
        let mut lines = std::mem::replace(&mut self.piece, rest);
        lines.truncate(end);
        Some(TurnEvent::Text(lines))
    }

    fn read_record(&mut self, record: Value) -> Vec<TurnEvent> {
        match record["type"].as_str() {
            Some("init") => {
                self.facts.session = record["session_id"].as_str().map(str::to_owned);
                Vec::new()
            }
            // An echo of our own message.
            Some("message") if record["role"] == "user" => Vec::new(),
            Some("message") => vec![TurnEvent::Text(headless::string(&record["content"]))],
            Some("tool_use") => vec![TurnEvent::ToolUse {
                id: headless::string(&record["tool_id"]),
                name: headless::string(&record["tool_name"]),
                input: record["parameters"].clone(),
            }],
            Some("tool_result") => {
                let output =
                    [&record["output"], &record["error"]["message"]].into_iter().find(|text| !text.is_null());
                vec![TurnEvent::ToolResult {
                    id: headless::string(&record["tool_id"]),
                    output: output.map(headless::string).unwrap_or_default(),
                    is_error: record["status"] != "success",
                }]
            }
            Some("error") => vec![TurnEvent::Error(headless::string(&record["message"]))],
            Some("result") => {
                let failure_message = record["error"]["message"].as_str().unwrap_or("the turn failed");
                let good = record["status"] == "success";
                self.facts.verdict = Some(if good { Ok(()) } else { Err(failure_message.to_owned()) });
                Vec::new()
            }
            _ => vec![TurnEvent::Raw(record)],
        }
    }
}

const ONCE: ApprovalKeys = &["1"];
const SHELL: SubjectRule = SubjectRule::Boxed { title: "? Shell ", warning: "⚠  ⚠" };

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

/// A prompt is a box with the command in an inner box.
const SCREEN: ScreenRules = ScreenRules {
    versions: &["0.61.0"],
    banner: &["Gemini CLI"],
    dialogs: &[
        DialogRule { kind: DialogKind::Trust, rows: &["Do you trust", "1. Trust", "╰─"] },
        DialogRule { kind: DialogKind::Login, rows: &["How would you like to authenticate", "╰─"] },
        DialogRule { kind: DialogKind::Login, rows: &["Waiting for auth"] },
    ],
    deny: &["Escape"],
    prompts: &[
        prompt(ApprovalKind::Command, "Allow execution of [Shell]?", 3, SHELL),
        // Words that came from the output of a program are not offered to be allowed for good.
        prompt(ApprovalKind::Command, "Allow execution of [Shell]?", 2, SHELL),
        prompt(
            ApprovalKind::Edit,
            "Apply this change?",
            4,
            SubjectRule::FileInTitle(&[("? WriteFile  Writing to ", ""), ("? Edit  ", ": ")]),
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

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    #[test]
    fn tokens_come_from_the_newest_conversation_of_the_worktree() {
        let home = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            write_atomic(&home.path().join(".gemini").join(file), text.as_bytes(), Access::Usual).unwrap();
        };
        let load = |worktree: &str| {
            let transcript = CLI.transcript.unwrap();
            transcript.load_usage(home.path(), Path::new(worktree)).and_then(|usage| usage.context_tokens)
        };
        assert_eq!(load("/app"), None);
        write("projects.json", r#"{"projects": {"/app": "app-1", "/evil": "../../elsewhere"}}"#);
        assert_eq!((load("/app"), load("/other")), (None, None));
        let answer =
            r#"{"id":"1","type":"gemini","content":"ok","tokens":{"input":1000,"output":20,"total":1020}}"#;
        let chat = format!("{{\"sessionId\":\"s\"}}\n{answer}\n{{\"$set\":{{\"tokens\":1}}}}\n");
        write("tmp/app-1/chats/session-1.jsonl", &chat);
        write("tmp/app-1/chats/notes.txt", "tokens");
        assert_eq!(load("/app"), Some(1020));
        write_atomic(&home.path().join("elsewhere/chats/s.jsonl"), chat.as_bytes(), Access::Usual).unwrap();
        assert_eq!(load("/evil"), None, "only below its own directory");
    }
}
