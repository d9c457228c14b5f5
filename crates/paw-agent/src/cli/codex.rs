//! Codex.

mod command_directory;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use paw_host::files;
use paw_host::process::{Command, shell_quote};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::headless::{self, Headless, OutputReader, Turn, TurnEvent, TurnFacts, Unattended};
use crate::hooks::install::hook_line;
use crate::hooks::transcript::{self, TranscriptUsage};
use crate::hooks::{HookInstall, Hooks, record};
use crate::launch::ApprovalFlags;
use crate::resume::ResumeArguments;
use crate::screen::rules::{
    ApprovalKeys, ApprovalKind, Choices, DialogKind, DialogRule, InputRule, LimitRule, MarkPosition,
    PromptRule, ScreenRules, SubjectRule, WorkMark,
};

pub(super) const CLI: Cli = Cli {
    // Its background server would run commands outside of the pane, and keep running them after the pane is gone.
    start: "--config features.daemon_auto_start=false",
    approval: ApprovalFlags { auto: AUTO, full_auto: "--dangerously-bypass-approvals-and-sandbox" },
    supervisor: Some(NETWORK),
    resume: Some(ResumeArguments {
        latest: &["resume", "--last"],
        named: Some(&["resume", "--"]),
        remembers_first_prompt: true,
    }),
    headless: Headless {
        arguments: turn_arguments,
        reader: || Box::new(Reader::default()),
        unattended: Some(Unattended { preference: 1, restrict }),
    },
    hooks: Some(&HOOKS),
    screen: Some(&SCREEN),
    settings: &[".codex"],
    ..Cli::known("codex", "Codex")
};

/// A directory that all worktrees of a repository share.
macro_rules! common {
    ($name:literal) => {
        concat!(" --add-dir \"$(git rev-parse --path-format=absolute --git-common-dir)/", $name, "\"")
    };
}

/// The broker is reached over the network.
macro_rules! network {
    () => {
        "--sandbox workspace-write --config sandbox_workspace_write.network_access=true"
    };
}

/// A supervisor makes no commits: it only talks to the broker.
const NETWORK: &str = network!();

/// Everything a codex agent needs besides its worktree: the directories that commits of a linked worktree write to, and the
/// network for the broker. Not the repository's hooks and settings, which would let it run commands outside its sandbox; not
/// our own directory with the tokens and messages; not `refs/paw` with rescued work. Missing directories do no harm. The
/// shell runs the line inside the worktree, so it can resolve the paths. The last one does not exist in the main checkout,
/// whose git directory is the whole `.git`.
const AUTO: &str = concat!(
    network!(),
    common!("objects"),
    common!("refs/heads"),
    common!("refs/remotes"),
    common!("refs/tags"),
    common!("reftable"),
    common!("logs/refs/heads"),
    common!("logs/refs/remotes"),
    common!("lfs"),
    common!("worktrees/$(basename \"$(git rev-parse --absolute-git-dir)\")"),
);

const HOOKS: Hooks = Hooks {
    source: "hooks",
    install: HookInstall::Arguments { is_enabled: has_hooks, arguments: hook_arguments },
    read: record::read,
    shorten: record::shorten,
    // The format of an answer is not known.
    allow: None,
    refuse: None,
    usage: Some(usage),
    command_directory: Some(command_directory::load_directory),
};

const EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"];

/// A settings file in a linked worktree has no effect, so hooks are arguments. They are the same in every worktree, so codex
/// asks the user about them only once.
fn hook_arguments(program: &Path) -> String {
    let command = Value::String(hook_line(CLI.name, program));
    let argument = |event: &&str| {
        let hook = format!(r#"hooks.{event}=[{{hooks=[{{type="command",command={command}}}]}}]"#);
        format!("--config {}", shell_quote(OsStr::new(&hook)))
    };
    EVENTS.iter().map(argument).collect::<Vec<_>>().join(" ")
}

/// codex asks its user about every new hook, so it gets ours only if the user has enabled hooks.
fn has_hooks(home: &Path) -> bool {
    let text = files::load_text(&home.join(".codex/config.toml")).ok().flatten().unwrap_or_default();
    let config = text.parse::<toml::Table>().unwrap_or_default();
    let feature = config.get("features").and_then(|features| features.get("hooks"));
    feature.and_then(toml::Value::as_bool).unwrap_or(false)
}

/// The tokens of the last turn, and of all turns. The input includes cached tokens.
fn usage(line: &Value) -> Option<TranscriptUsage> {
    if line["payload"]["type"] != "token_count" {
        return None;
    }
    let info = &line["payload"]["info"];
    let context = transcript::sum(&info["last_token_usage"], &["input_tokens", "output_tokens"])?;
    let total = info["total_token_usage"]["total_tokens"].as_u64();
    Some(TranscriptUsage { context_tokens: Some(context), total_tokens: total, cost_usd_micros: None })
}

fn turn_arguments(turn: Turn<'_>) -> Vec<OsString> {
    let mut arguments = headless::words(["exec", "--json"]);
    arguments.extend(headless::option("--model", turn.model));
    if let Some(session) = turn.resume {
        arguments.extend(headless::words(["resume", "--", session]));
    }
    arguments.push("-".into());
    arguments
}

fn restrict(command: Command, tests: Option<&str>) -> Command {
    let sandbox = if tests.is_some() { "workspace-write" } else { "read-only" };
    command.args(["--sandbox", sandbox, "-c", "approval_policy=\"never\""])
}

/// `codex exec --json`.
///
/// The JSON output omits rejected commands and patches and ends with success; only standard error reports them. An
/// unreachable server is reported repeatedly and never ends the turn.
#[derive(Debug, Default)]
struct Reader {
    facts: TurnFacts,
    /// Items that have started; some complete without a start event.
    begun: BTreeSet<String>,
}

impl OutputReader for Reader {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some(record) = headless::json(line) else { return headless::raw_text(line) };
        match record["type"].as_str() {
            Some("thread.started") => {
                self.facts.session = record["thread_id"].as_str().map(str::to_owned);
                Vec::new()
            }
            Some("turn.started") => Vec::new(),
            Some("item.started") => self.begin(&record["item"]).into_iter().collect(),
            Some("item.completed") => self.complete(&record["item"]),
            Some("error") => vec![TurnEvent::Error(headless::string(&record["message"]))],
            Some("turn.completed") => {
                self.facts.verdict = Some(Ok(()));
                Vec::new()
            }
            Some("turn.failed") => {
                let message = record["error"]["message"].as_str().unwrap_or("the turn failed").to_owned();
                self.facts.verdict = Some(Err(message.clone()));
                vec![TurnEvent::Error(message)]
            }
            _ => vec![TurnEvent::Raw(record)],
        }
    }

    fn err(&mut self, line: &str) -> Vec<TurnEvent> {
        let Some((_, message)) = line.split_once("error=").filter(|_| line.contains(" ERROR ")) else {
            return Vec::new();
        };
        if !message.contains("reject") {
            return vec![TurnEvent::Error(message.to_owned())];
        }
        vec![TurnEvent::PermissionDenied {
            id: None,
            name: None,
            input: Value::Null,
            message: message.to_owned(),
        }]
    }

    fn facts(&self) -> TurnFacts {
        self.facts.clone()
    }
}

impl Reader {
    fn begin(&mut self, item: &Value) -> Option<TurnEvent> {
        let (name, input) = tool(item)?;
        let id = headless::string(&item["id"]);
        self.begun.insert(id.clone()).then_some(TurnEvent::ToolUse { id, name, input })
    }

    fn complete(&mut self, item: &Value) -> Vec<TurnEvent> {
        match item["type"].as_str() {
            Some("agent_message") => vec![TurnEvent::Text(headless::string(&item["text"]))],
            Some("error") => vec![TurnEvent::Error(headless::string(&item["message"]))],
            _ if tool(item).is_some() => {
                let mut events: Vec<TurnEvent> = self.begin(item).into_iter().collect();
                let id = headless::string(&item["id"]);
                self.begun.remove(&id);
                let failed = item["exit_code"].as_i64().is_some_and(|code| code != 0)
                    || item["status"].as_str().is_some_and(|status| status != "completed");
                events.push(TurnEvent::ToolResult { id, output: output(item), is_error: failed });
                events
            }
            _ => vec![TurnEvent::Raw(item.clone())],
        }
    }
}

/// The tool of an item, and its input.
fn tool(item: &Value) -> Option<(String, Value)> {
    match item["type"].as_str()? {
        kind @ "command_execution" => Some((kind.to_owned(), json!({ "command": item["command"] }))),
        kind @ "file_change" => Some((kind.to_owned(), json!({ "changes": item["changes"] }))),
        kind @ "web_search" => Some((kind.to_owned(), json!({ "query": item["query"] }))),
        "mcp_tool_call" => Some((
            format!("{}.{}", headless::string(&item["server"]), headless::string(&item["tool"])),
            item["arguments"].clone(),
        )),
        _ => None,
    }
}

fn output(item: &Value) -> String {
    let candidates = [&item["aggregated_output"], &item["error"]["message"], &item["result"]];
    candidates.into_iter().find(|text| !text.is_null()).map(headless::string).unwrap_or_default()
}

const YES: ApprovalKeys = &["y"];

const fn prompt(kind: ApprovalKind, question: &'static str, subject: SubjectRule) -> PromptRule {
    PromptRule {
        kind,
        edges: ("", ""),
        question,
        details_below: true,
        choices: Choices::Numbered { cursor: '›', first: "Yes, proceed (y)", count: 3 },
        footers: &["  Press enter to confirm"],
        subject,
        keys: YES,
    }
}

/// The model writes the reason above a command, so the command has to be the only row with a `$`, and the transcript has to
/// show it too.
const SCREEN: ScreenRules = ScreenRules {
    versions: &["0.166.0"],
    banner: &["OpenAI Codex"],
    dialogs: &[
        DialogRule {
            kind: DialogKind::Trust,
            rows: &["Folder access", "1. Trust and continue", "enter continue"],
        },
        DialogRule {
            kind: DialogKind::Hooks,
            rows: &["Hooks need review", "1. Review hooks", "enter confirm"],
        },
        DialogRule { kind: DialogKind::Warning, rows: &["Warnings ·", "k keep & next"] },
        DialogRule {
            kind: DialogKind::Update,
            rows: &["1. Update now", "2. Skip", "3. Skip until next version", "Press enter to continue"],
        },
        DialogRule { kind: DialogKind::ModelChange, rows: &["Try new model", "Press enter to confirm"] },
        DialogRule { kind: DialogKind::Login, rows: &["Sign in with ChatGPT", "Press Enter to continue"] },
        DialogRule { kind: DialogKind::Login, rows: &["1. Sign in with ChatGPT", "Press enter to continue"] },
        DialogRule { kind: DialogKind::Other, rows: &["enter continue"] },
        DialogRule { kind: DialogKind::Other, rows: &["enter confirm"] },
        DialogRule { kind: DialogKind::Other, rows: &["Press enter to"] },
    ],
    deny: &["Escape"],
    prompts: &[
        prompt(
            ApprovalKind::Command,
            "  Would you like to run the following command?",
            SubjectRule::Marked {
                mark: "  $ ",
                // The bullet blinks, and stops while it asks.
                witness: &["• Running *", "◦ Running *"],
                between: &[],
            },
        ),
        prompt(
            ApprovalKind::Edit,
            "  Would you like to make the following edits?",
            SubjectRule::FileMarked("  Destination: "),
        ),
    ],
    questions: &[],
    input: InputRule::Cursor { cursor: "›", below: 3 },
    hints: &["Ask Codex to do anything"],
    working: &[WorkMark { place: MarkPosition::Over, text: "esc to interrupt" }],
    limits: &[LimitRule { row: "You've hit your usage limit", before_reset: "try again at " }],
    endings: &[],
    sidebar: None,
};

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};

    use super::*;

    #[test]
    fn hook_arguments_survive_a_shell() {
        let arguments = hook_arguments(Path::new(r#"/opt/it's "x"/git-paw"#));
        let ran = Command::new("sh").args(["-c", &format!("printf '%s\\n' {arguments}")]).capture().unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(printed.lines().count(), 2 * EVENTS.len());
        assert_eq!(
            printed.lines().nth(1).unwrap(),
            r#"hooks.SessionStart=[{hooks=[{type="command",command="'/opt/it'\\''s \"x\"/git-paw' hook --cli codex"}]}]"#
        );
    }

    #[test]
    fn hooks_are_enabled_only_by_the_users_own_configuration() {
        let home = tempfile::tempdir().unwrap();
        assert!(!has_hooks(home.path()));
        for (text, on) in [
            ("[features]\nhooks = true\n", true),
            ("[features]\nhooks = false\n", false),
            ("hooks = true\n", false),
            ("[features]\nhooks = \"yes\"\n", false),
            ("[[[", false),
        ] {
            write_atomic(&home.path().join(".codex/config.toml"), text.as_bytes(), Access::Usual).unwrap();
            assert_eq!(has_hooks(home.path()), on, "{text}");
        }
    }
}
