//! OpenCode.

mod events;
mod plugin;

use std::ffi::OsString;

use paw_host::process::Command;
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::headless::unattended::FORBIDDEN;
use crate::headless::{self, Headless, OutputReader, Turn, TurnEvent, TurnFacts, Unattended};
use crate::hooks::install::Plugin;
use crate::hooks::{HookInstall, Hooks};
use crate::resume::ResumeArguments;
use crate::screen::rules::{
    ApprovalKeys, ApprovalKind, Choices, InputRule, MarkPosition, PromptRule, ScreenRules, SubjectRule,
    WorkMark,
};

pub(super) const CLI: Cli = Cli {
    resume: Some(ResumeArguments {
        latest: &["--continue"],
        named: Some(&["--session="]),
        remembers_first_prompt: true,
    }),
    headless: Headless {
        arguments: turn_arguments,
        reader: || Box::new(Reader::default()),
        unattended: Some(Unattended { preference: 4, restrict }),
    },
    hooks: Some(&HOOKS),
    screen: Some(&SCREEN),
    settings: &[".opencode", "opencode.json", "opencode.jsonc"],
    ..Cli::known("opencode", "OpenCode")
};

const HOOKS: Hooks = Hooks {
    source: "events",
    install: HookInstall::Plugin(Plugin {
        file: "opencode-plugin.js",
        variable: plugin::VARIABLE,
        text: plugin::text,
        value: plugin::configuration,
    }),
    read: events::read,
    shorten: events::shorten,
    allow: Some(|| json!({"reply": "once"})),
    refuse: None,
    usage: Some(events::usage),
    command_directory: None,
};

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["run", "--format", "json"]);
    arguments.extend(headless::option("--model", turn.model));
    arguments.extend(headless::option("--session", turn.resume));
    arguments
}

/// opencode has no option for permissions, but reads them from a variable.
fn restrict(command: Command, tests: Option<&str>) -> Command {
    command.env("OPENCODE_PERMISSION", permissions(tests.is_some()))
}

fn permissions(works: bool) -> String {
    if !works {
        return json!({"edit": "deny", "bash": "deny"}).to_string();
    }
    let mut bash = json!({"*": "allow"});
    for verb in FORBIDDEN {
        bash[format!("git {verb}*")] = "deny".into();
    }
    json!({"edit": "allow", "bash": bash}).to_string()
}

/// `opencode run --format json`.
///
/// There is no final line: a turn has finished when a step ended with reason `stop`. After a rejected permission opencode
/// stops with exit code 0.
#[derive(Debug, Default)]
struct Reader {
    facts: TurnFacts,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some(record) = headless::json(line) else { return headless::raw_text(line) };
        if let Some(session) = record["sessionID"].as_str() {
            self.facts.session = Some(session.to_owned());
        }
        let part = &record["part"];
        match record["type"].as_str() {
            Some("step_start") => Vec::new(),
            Some("step_finish") => {
                self.step(part);
                Vec::new()
            }
            Some("text") => vec![TurnEvent::Text(headless::string(&part["text"]))],
            Some("tool_use") => tool(part),
            Some("error") => {
                let words = [
                    &record["error"]["data"]["message"],
                    &record["error"]["message"],
                    &record["error"]["name"],
                ];
                let message =
                    words.into_iter().find_map(Value::as_str).unwrap_or("the turn failed").to_owned();
                self.facts.verdict = Some(Err(message.clone()));
                vec![TurnEvent::Error(message)]
            }
            _ => vec![TurnEvent::Raw(record)],
        }
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
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

/// opencode reports a tool once, when it has finished.
fn tool(part: &Value) -> Vec<TurnEvent> {
    let (id, name) = (headless::string(&part["callID"]), headless::string(&part["tool"]));
    let (state, input) = (&part["state"], part["state"]["input"].clone());
    let is_error = state["status"] == "error";
    let output = headless::string(if is_error { &state["error"] } else { &state["output"] });
    let denied = is_error && output.contains("rejected permission");
    let denial = denied.then(|| TurnEvent::PermissionDenied {
        id: Some(id.clone()),
        name: Some(name.clone()),
        input: input.clone(),
        message: output.clone(),
    });
    let events =
        [TurnEvent::ToolUse { id: id.clone(), name, input }, TurnEvent::ToolResult { id, output, is_error }];
    events.into_iter().chain(denial).collect()
}

/// Correct only while the first button is selected.
const ONCE: ApprovalKeys = &["Enter"];

const fn prompt(kind: ApprovalKind, subject: SubjectRule) -> PromptRule {
    PromptRule {
        kind,
        edges: ("  ┃", ""),
        question: "  △ Permission required",
        details_below: true,
        choices: Choices::Buttons(&["Allow once", "Allow always", "Reject"]),
        footers: &[],
        subject,
        keys: ONCE,
    }
}

/// A prompt is a block with a left edge. Only the colour shows which button is selected.
const SCREEN: ScreenRules = ScreenRules {
    versions: &["1.18.33"],
    banner: &[],
    dialogs: &[],
    deny: &["Escape"],
    prompts: &[
        prompt(
            ApprovalKind::Command,
            SubjectRule::Marked { mark: "  $ ", witness: &["     $ *"], between: &["     ▣"] },
        ),
        prompt(ApprovalKind::Edit, SubjectRule::FileMarked("    → Edit ")),
    ],
    questions: &[],
    input: InputRule::Block { edge: '┃', under: "╹▀" },
    hints: &["Ask anything"],
    // A narrow screen wraps the words beside the bar.
    working: &[
        WorkMark { place: MarkPosition::Under, text: "esc interrupt" },
        WorkMark { place: MarkPosition::Under, text: "⬝" },
        WorkMark { place: MarkPosition::Under, text: "■■" },
    ],
    limits: &[],
    endings: &[],
    sidebar: Some("• OpenCode "),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unattended_turn_may_not_push() {
        let permissions = permissions(true);
        assert!(permissions.contains(r#""git push*":"deny""#), "{permissions}");
    }
}
