//! OpenCode.

mod events;
mod plugin;

use std::ffi::OsString;

use paw_host::process::Command;
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::headless::unattended::FORBIDDEN;
use crate::headless::{self, Event, Headless, OutputReader, Turn, TurnFacts, Unattended};
use crate::hooks::install::Plugin;
use crate::hooks::{Hooks, Install};
use crate::resume::ResumeWords;
use crate::screen::rules::{AskKind, Choices, Input, Keys, Mark, MarkPlace, Prompt, Rules, Subject};

pub(super) const CLI: Cli = Cli {
    resume: Some(ResumeWords {
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
    ..Cli::known("opencode", "OpenCode")
};

const HOOKS: Hooks = Hooks {
    source: "events",
    install: Install::Plugin(Plugin {
        file: "opencode-plugin.js",
        variable: plugin::VARIABLE,
        text: plugin::text,
        value: plugin::configuration,
    }),
    read: events::read,
    shorten: events::shorten,
    allow: Some(|| json!({"reply": "once"})),
    refuse: None,
    tokens: None,
    command_directory: None,
};

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["run", "--format", "json"]);
    arguments.extend(headless::option("--model", turn.model));
    arguments.extend(headless::option("--session", turn.resume));
    arguments
}

/// It has no option for permissions; its configuration can come from a variable.
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
/// It has no last line: a turn is over when a step ended because the model had nothing more to do. After a rejected permission
/// it ends in the middle, with exit code 0.
#[derive(Debug, Default)]
struct Reader {
    facts: TurnFacts,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<Event> {
        let Some(said) = headless::json(line) else { return headless::raw_text(line) };
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
            Some("text") => vec![Event::Text(headless::string(&part["text"]))],
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

/// A tool is told once, when it is over.
fn tool(part: &Value) -> Vec<Event> {
    let (id, name) = (headless::string(&part["callID"]), headless::string(&part["tool"]));
    let (state, input) = (&part["state"], part["state"]["input"].clone());
    let is_error = state["status"] == "error";
    let output = headless::string(if is_error { &state["error"] } else { &state["output"] });
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

/// Right only while the first button is the chosen one.
const ONCE: Keys = &["Enter"];

const fn prompt(kind: AskKind, subject: Subject) -> Prompt {
    Prompt {
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

/// A prompt is a block with an edge, and only colour tells which of its buttons is chosen.
const SCREEN: Rules = Rules {
    versions: &["1.18.33"],
    banner: &[],
    dialogs: &[],
    prompts: &[
        prompt(AskKind::Command, Subject::Marked { mark: "  $ ", witness: "     $ *", between: &["     ▣"] }),
        prompt(AskKind::Edit, Subject::FileMarked("    → Edit ")),
    ],
    questions: &[],
    input: Input::Block { edge: '┃', under: "╹▀" },
    hints: &["Ask anything"],
    working: &[Mark { place: MarkPlace::Under, text: "esc interrupt" }],
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
