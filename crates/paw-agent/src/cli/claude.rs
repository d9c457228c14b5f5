//! Claude Code.

use std::collections::BTreeMap;
use std::ffi::OsString;

use paw_host::process::Command;
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::headless::unattended::FORBIDDEN;
use crate::headless::{self, Headless, OutputReader, Turn, TurnEvent, TurnFacts, Unattended};
use crate::hooks::transcript::{self, TranscriptUsage};
use crate::hooks::{HookEventKind, HookInstall, Hooks, record};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::rules::{
    ApprovalKeys, ApprovalKind, Choices, DialogKind, DialogRule, InputRule, LimitRule, MarkPosition,
    PromptRule, ScreenRules, SubjectRule, WorkMark,
};

pub(super) const CLI: Cli = Cli {
    short_name: "Claude",
    approval: ApprovalFlags { full_auto: "--dangerously-skip-permissions", ..ApprovalFlags::NONE },
    resume: Some(ResumeArguments {
        latest: &["--continue"],
        named: Some(&["--resume="]),
        remembers_first_prompt: true,
    }),
    headless: Headless {
        arguments: turn_arguments,
        reader: || Box::new(Reader::default()),
        unattended: Some(Unattended { preference: 0, restrict }),
    },
    hooks: Some(&HOOKS),
    screen: Some(&SCREEN),
    settings: &[".claude", ".claude.json", ".mcp.json"],
    ..Cli::known("claude", "Claude Code")
};

const HOOKS: Hooks = Hooks {
    source: "hooks",
    install: HookInstall::SettingsFile {
        path: ".claude/settings.local.json",
        option: Some("--settings"),
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PostToolUseFailure",
            "Notification",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
    },
    read: record::read,
    shorten: record::shorten,
    allow: Some(allow),
    refuse: Some(refuse),
    usage: Some(usage),
    command_directory: None,
};

fn allow() -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}})
}

fn refuse(event: &HookEventKind, reason: &str) -> Value {
    match event {
        HookEventKind::PromptSubmitted => json!({"decision": "block", "reason": reason}),
        _ => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        }}),
    }
}

/// The input and the output of the model, without subagents, which have their own conversations.
fn usage(line: &Value) -> Option<TranscriptUsage> {
    if line["type"] != "assistant" || line["isSidechain"] == true {
        return None;
    }
    let context = transcript::sum(
        &line["message"]["usage"],
        &["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"],
    )?;
    Some(TranscriptUsage { context_tokens: Some(context), total_tokens: None, cost_usd_micros: None })
}

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["-p", "--output-format", "stream-json", "--verbose"]);
    arguments.extend(headless::option("--model", turn.model));
    arguments.extend(headless::option("--resume", turn.resume));
    arguments
}

fn restrict(command: Command, tests: Option<&str>) -> Command {
    let Some(tests) = tests else { return command.arg("--disallowedTools=Edit,Write,NotebookEdit,Bash") };
    let forbidden = FORBIDDEN.map(|verb| format!("Bash(git {verb}:*)")).join(",");
    command.args([
        "--permission-mode=acceptEdits".to_owned(),
        format!("--allowedTools=Bash({}:*)", tests.replace([',', '(', ')', '"'], " ")),
        format!("--disallowedTools={forbidden}"),
    ])
}

/// `claude -p --output-format stream-json`.
///
/// The result contains `success` even if the API could not be reached, so `is_error` decides. Denied tools are listed only
/// in the result; until then they look like failed tools.
#[derive(Debug, Default)]
struct Reader {
    facts: TurnFacts,
    /// The output of failed tools, to explain a denial that is reported later.
    refusals: BTreeMap<String, String>,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some(record) = headless::json(line) else { return headless::raw_text(line) };
        if let Some(session) = record["session_id"].as_str() {
            self.facts.session = Some(session.to_owned());
        }
        match record["type"].as_str() {
            Some("assistant") if record["error"].is_string() => {
                vec![TurnEvent::Error(text_of(&record["message"]["content"]))]
            }
            Some("assistant" | "user") => self.message(&record),
            Some("result") => self.result(&record),
            Some("system") if record["subtype"] == "api_retry" => vec![TurnEvent::Error(retry(&record))],
            _ => vec![TurnEvent::Raw(record)],
        }
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
    fn message(&mut self, record: &Value) -> Vec<TurnEvent> {
        match &record["message"]["content"] {
            Value::Array(blocks) => {
                blocks.iter().map(|block| self.block(block, record["type"] == "user")).collect()
            }
            Value::String(text) if record["type"] == "assistant" => vec![TurnEvent::Text(text.clone())],
            _ => vec![TurnEvent::Raw(record.clone())],
        }
    }

    fn block(&mut self, block: &Value, from_user: bool) -> TurnEvent {
        match block["type"].as_str() {
            Some("text") if !from_user => TurnEvent::Text(headless::string(&block["text"])),
            Some("tool_use") => TurnEvent::ToolUse {
                id: headless::string(&block["id"]),
                name: headless::string(&block["name"]),
                input: block["input"].clone(),
            },
            Some("tool_result") => {
                let (id, output) = (headless::string(&block["tool_use_id"]), text_of(&block["content"]));
                let is_error = block["is_error"] == true;
                if is_error {
                    self.refusals.insert(id.clone(), output.clone());
                }
                TurnEvent::ToolResult { id, output, is_error }
            }
            _ => TurnEvent::Raw(block.clone()),
        }
    }

    fn result(&mut self, record: &Value) -> Vec<TurnEvent> {
        self.facts.cost_usd = record["total_cost_usd"].as_f64();
        self.facts.turns = record["num_turns"].as_u64().and_then(|turns| turns.try_into().ok());
        let good = record["subtype"] == "success" && record["is_error"] == false;
        self.facts.verdict = Some(if good { Ok(()) } else { Err(failure_message(record)) });
        let denials = record["permission_denials"].as_array().map(Vec::as_slice).unwrap_or_default();
        denials.iter().map(|denial| self.denial(denial)).collect()
    }

    fn denial(&self, denial: &Value) -> TurnEvent {
        let id = denial["tool_use_id"].as_str().map(str::to_owned);
        let refusal = id.as_ref().and_then(|id| self.refusals.get(id)).cloned();
        TurnEvent::PermissionDenied {
            id,
            name: denial["tool_name"].as_str().map(str::to_owned),
            input: denial["tool_input"].clone(),
            message: refusal.unwrap_or_else(|| "permission denied".to_owned()),
        }
    }
}

fn failure_message(record: &Value) -> String {
    let words = [&record["result"], &record["errors"][0], &record["subtype"]];
    words.into_iter().find_map(Value::as_str).unwrap_or("the turn failed").to_owned()
}

fn retry(record: &Value) -> String {
    let error = record["error"].as_str().unwrap_or("unknown");
    format!("API error ({error}), attempt {} of {}", record["attempt"], record["max_retries"])
}

/// A string, or the text of several blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => headless::string(other),
    }
}

const YES: ApprovalKeys = &["1"];

const fn prompt(kind: ApprovalKind, question: &'static str, subject: SubjectRule) -> PromptRule {
    PromptRule {
        kind,
        edges: ("", ""),
        question,
        details_below: false,
        choices: Choices::Numbered { cursor: '❯', first: "Yes", count: 3 },
        footers: &[" Esc to cancel"],
        subject,
        keys: YES,
    }
}

/// Every row of a command is indented by three columns, so nothing in it can be mistaken for the rule or the title above.
/// If Claude cannot analyze a command, it offers only Yes and No, and git paw does not read it either.
const SCREEN: ScreenRules = ScreenRules {
    versions: &["2.1.197"],
    banner: &["Claude Code"],
    dialogs: &[
        DialogRule {
            kind: DialogKind::Trust,
            rows: &["Accessing workspace:", "1. Yes, I trust", "2. No", "Enter to confirm"],
        },
        DialogRule {
            kind: DialogKind::ApiKey,
            rows: &["Detected a custom API key", "Do you want to use this API key?", "Enter to confirm"],
        },
        DialogRule { kind: DialogKind::Login, rows: &["Select login method:"] },
        DialogRule { kind: DialogKind::Login, rows: &["Paste code here if prompted"] },
        DialogRule {
            kind: DialogKind::Plan,
            rows: &["Ready to code?", "Claude has written up a plan", "1. Yes", "ctrl+g to edit"],
        },
        DialogRule { kind: DialogKind::Plan, rows: &["Exit plan mode?", "1. Yes", "2. No"] },
        DialogRule { kind: DialogKind::Other, rows: &["Enter to confirm"] },
        DialogRule { kind: DialogKind::Other, rows: &["Press Enter to continue"] },
    ],
    deny: &["Escape"],
    prompts: &[
        prompt(
            ApprovalKind::Command,
            " Do you want to proceed?",
            SubjectRule::Below {
                title: " Bash command",
                indent: 3,
                witness: &[
                    ("● Bash(*)", "  ⎿ \u{a0}Waiting…"),
                    ("⏺ Bash(*)", "  ⎿ \u{a0}Waiting…"),
                    ("", "  ⎿  $ *"),
                ],
            },
        ),
        prompt(
            ApprovalKind::Edit,
            " Do you want to make this edit to *?",
            SubjectRule::FileBelow { title: " Edit file" },
        ),
        prompt(
            ApprovalKind::Edit,
            " Do you want to create *?",
            SubjectRule::FileBelow { title: " Create file" },
        ),
        prompt(
            ApprovalKind::Edit,
            " Do you want to overwrite *?",
            SubjectRule::FileBelow { title: " Overwrite file" },
        ),
        prompt(
            ApprovalKind::Fetch,
            " Do you want to allow Claude to fetch this content?",
            SubjectRule::Nowhere,
        ),
    ],
    questions: &["Enter to select"],
    input: InputRule::Ruled { cursor: '❯' },
    hints: &["Try \""],
    working: &[
        WorkMark { place: MarkPosition::Under, text: "esc to interrupt" },
        WorkMark { place: MarkPosition::Over, text: "esc to interrupt" },
    ],
    limits: &[
        LimitRule { row: "You've hit your", before_reset: "resets " },
        LimitRule { row: "Claude usage limit reached", before_reset: "reset at " },
    ],
    endings: &[
        "--dangerously-skip-permissions cannot be used",
        " Unable to connect to Anthropic services",
        "No conversation found",
    ],
    sidebar: None,
};
