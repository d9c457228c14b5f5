//! OpenSpec commands that agents must not run. An agent implements its change; the project's specs are changed after the
//! merge, by the supervisor or the user. Pure.

use paw_agent::cli::Cli;
use paw_agent::hooks::{HookEventKind, ToolAction};
use paw_core::config::RoleGating;
use serde_json::Value;

use crate::approval;

/// Subcommands that change the project's specs or OpenSpec itself.
const NOT_FOR_AGENTS: [&str; 5] = ["archive", "bulk-archive", "init", "sync", "update"];
/// Programs that run the program named after them.
const RUNNERS: [&str; 7] = ["npx", "bunx", "pnpm", "yarn", "dlx", "exec", "command"];

/// Finds an OpenSpec command in a hook record that the agent must not run, as it would be typed.
pub fn find_breach(event: &HookEventKind, record: &Value) -> Option<String> {
    match event {
        HookEventKind::ToolStarted(ToolAction::Command(command)) => in_shell(command),
        HookEventKind::ToolStarted(_) => {
            let input = &record["tool_input"];
            // A command too long to be stored is still checked.
            let command = input["command"].as_str().filter(|_| record["tool_name"] == "Bash");
            if let Some(breach) = command.and_then(in_shell) {
                return Some(breach);
            }
            ["command", "skill"].iter().find_map(|field| slashed(input[field].as_str()?))
        }
        HookEventKind::PromptSubmitted => slashed(record["prompt"].as_str()?),
        _ => None,
    }
}

/// What to do about a command that an agent must not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleAction {
    Ignore,
    Warn,
    /// Tell the CLI not to run it.
    Refuse,
}

/// A CLI whose hooks cannot refuse a command gets a warning instead.
pub fn action(gating: RoleGating, cli: &Cli) -> RoleAction {
    match gating {
        RoleGating::Off => RoleAction::Ignore,
        RoleGating::Block if cli.hooks.is_some_and(|hooks| hooks.refuse.is_some()) => RoleAction::Refuse,
        RoleGating::Warn | RoleGating::Block => RoleAction::Warn,
    }
}

pub fn breach_reason(breach: &str) -> String {
    format!("{breach} is not an agent's job: the supervisor or the user runs it once, after the merge")
}

/// `/opsx:archive …` or `openspec:archive`.
fn slashed(text: &str) -> Option<String> {
    let command = text.trim_start().trim_start_matches('/').split_whitespace().next()?;
    let (family, verb) = command.split_once(':')?;
    let verb = NOT_FOR_AGENTS.into_iter().find(|one| *one == verb)?;
    ["opsx", "openspec"].contains(&family).then(|| format!("/{family}:{verb}"))
}

fn in_shell(text: &str) -> Option<String> {
    if !text.contains("openspec") {
        return None;
    }
    commands(text).iter().find_map(|words| verb(words))
}

/// The words of each command: as the shell parses them if that is certain, else split at spaces.
fn commands(text: &str) -> Vec<Vec<String>> {
    approval::simple_commands(text).unwrap_or_else(|| {
        let words = |part: &str| part.split_whitespace().map(|word| word.replace(['"', '\''], "")).collect();
        text.split([';', '&', '|', '(', ')', '`', '\n']).map(words).collect()
    })
}

fn verb(words: &[String]) -> Option<String> {
    let is_set = |word: &str| word.contains('=') && !word.starts_with('=');
    let skipped = |word: &&String| word.starts_with('-') || is_set(word) || RUNNERS.contains(&name_of(word));
    let mut words = words.iter().skip_while(skipped);
    let program = name_of(words.next()?);
    if program != "openspec" && !program.starts_with("openspec@") {
        return None;
    }
    let verb = words.find(|word| !word.starts_with('-'))?;
    let verb = NOT_FOR_AGENTS.into_iter().find(|one| one == verb)?;
    Some(format!("openspec {verb}"))
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use paw_agent::cli;
    use serde_json::json;

    use super::*;

    fn shell(command: &str) -> Option<String> {
        find_breach(&HookEventKind::ToolStarted(ToolAction::Command(command.to_owned())), &Value::Null)
    }

    #[test]
    fn role_gating_checks_commands_too_long_to_be_stored() {
        let record =
            json!({"tool_name": "Bash", "tool_input": {"command": "openspec archive x --yes # long"}});
        let event = HookEventKind::ToolStarted(ToolAction::Other("Bash, too long to keep".to_owned()));
        assert_eq!(find_breach(&event, &record).as_deref(), Some("openspec archive"));
    }

    #[test]
    fn role_gating_finds_openspec_commands_that_change_specs() {
        for fine in [
            "openspec validate add-auth --strict",
            "openspec show add-auth",
            "openspec new change x",
            "grep -rn 'openspec archive' docs",
            "git commit -m 'notes; openspec archive comes later'",
            "echo archive",
            "tar -x openspec",
        ] {
            assert_eq!(shell(fine), None, "{fine}");
        }
        for (command, breach) in [
            ("openspec archive add-auth --yes", "openspec archive"),
            ("cd x && npx --yes @fission-ai/openspec@1.2 archive a", "openspec archive"),
            ("A=1 ./node_modules/.bin/openspec --no-color update", "openspec update"),
            ("x=$(openspec sync)", "openspec sync"),
            ("for c in a b; do\nopenspec init $c; done", "openspec init"),
        ] {
            assert_eq!(shell(command).as_deref(), Some(breach), "{command}");
        }
    }

    #[test]
    fn role_gating_finds_slash_commands_in_prompts_and_tools() {
        let prompt = |text: &str| find_breach(&HookEventKind::PromptSubmitted, &json!({"prompt": text}));
        assert_eq!(prompt(" /opsx:archive add-auth").as_deref(), Some("/opsx:archive"));
        assert_eq!(prompt("/opsx:apply add-auth"), None);
        assert_eq!(prompt("please do not run /opsx:archive"), None);
        let tool = |input: Value| {
            find_breach(
                &HookEventKind::ToolStarted(ToolAction::Other("Skill".into())),
                &json!({"tool_input": input}),
            )
        };
        assert_eq!(tool(json!({"skill": "openspec:sync"})).as_deref(), Some("/openspec:sync"));
        assert_eq!(tool(json!({"command": "/opsx:archive x"})).as_deref(), Some("/opsx:archive"));
        assert_eq!(find_breach(&HookEventKind::TurnEnded, &json!({"prompt": "/opsx:archive"})), None);
    }

    #[test]
    fn role_gating_action_follows_the_configuration() {
        assert_eq!(action(RoleGating::Off, cli::descriptor("claude")), RoleAction::Ignore);
        assert_eq!(action(RoleGating::Warn, cli::descriptor("claude")), RoleAction::Warn);
        assert_eq!(action(RoleGating::Block, cli::descriptor("claude")), RoleAction::Refuse);
        assert_eq!(action(RoleGating::Block, cli::descriptor("codex")), RoleAction::Warn);
    }

    proptest! {
        #[test]
        fn role_gating_accepts_any_text(text in "(openspec|archive|[ ;&|()`'\"$/=\n-]|[a-z]{0,3}){0,12}") {
            let _ = shell(&text);
            let _ = slashed(&text);
        }
    }
}
