//! OpenSpec commands that are not an agent's job: an agent implements its change; what the specs of the whole project are is
//! decided after the merge, by whoever merges. Pure.

use paw_agent::cli::Cli;
use paw_agent::hooks::{Deed, What};
use paw_core::config::RoleGating;
use serde_json::Value;

use crate::approval;

/// What changes the project's own specs, or OpenSpec itself.
const NOT_FOR_AGENTS: [&str; 5] = ["archive", "bulk-archive", "init", "sync", "update"];
/// Programs that only run what is named after them.
const RUNNERS: [&str; 7] = ["npx", "bunx", "pnpm", "yarn", "dlx", "exec", "command"];

/// The OpenSpec command in a record of a CLI that its agent should leave to others, as it would be typed.
pub fn find_breach(event: &What, record: &Value) -> Option<String> {
    match event {
        What::ToolBegins(Deed::Command(command)) => in_shell(command),
        What::ToolBegins(_) => {
            let input = &record["tool_input"];
            // What was too long to be kept is still to be looked at.
            let command = input["command"].as_str().filter(|_| record["tool_name"] == "Bash");
            if let Some(breach) = command.and_then(in_shell) {
                return Some(breach);
            }
            ["command", "skill"].iter().find_map(|field| slashed(input[field].as_str()?))
        }
        What::PromptTaken => slashed(record["prompt"].as_str()?),
        _ => None,
    }
}

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Warn,
    /// The CLI is told that it may not.
    Refuse,
}

/// An agent whose CLI takes no refusal from a hook is warned.
pub fn answer(gating: RoleGating, cli: &Cli) -> Answer {
    match gating {
        RoleGating::Off => Answer::Nothing,
        RoleGating::Block if cli.hooks.is_some_and(|hooks| hooks.refuse.is_some()) => Answer::Refuse,
        RoleGating::Warn | RoleGating::Block => Answer::Warn,
    }
}

pub fn reason(breach: &str) -> String {
    format!(
        "{breach} is not an agent's job: it is done once, after the merge, by the supervisor or the person"
    )
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

/// The words of each command: as the shell reads them where that is certain, else word by word.
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
        find_breach(&What::ToolBegins(Deed::Command(command.to_owned())), &Value::Null)
    }

    #[test]
    fn a_command_that_is_too_long_to_be_kept_is_looked_at_all_the_same() {
        let record =
            json!({"tool_name": "Bash", "tool_input": {"command": "openspec archive x --yes # long"}});
        let event = What::ToolBegins(Deed::Other("Bash, too long to keep".to_owned()));
        assert_eq!(find_breach(&event, &record).as_deref(), Some("openspec archive"));
    }

    #[test]
    fn an_agent_implements_its_change_and_archives_nothing() {
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
    fn commands_with_a_slash_are_known_wherever_they_are_typed() {
        let prompt = |text: &str| find_breach(&What::PromptTaken, &json!({"prompt": text}));
        assert_eq!(prompt(" /opsx:archive add-auth").as_deref(), Some("/opsx:archive"));
        assert_eq!(prompt("/opsx:apply add-auth"), None);
        assert_eq!(prompt("please do not run /opsx:archive"), None);
        let tool = |input: Value| {
            find_breach(&What::ToolBegins(Deed::Other("Skill".into())), &json!({"tool_input": input}))
        };
        assert_eq!(tool(json!({"skill": "openspec:sync"})).as_deref(), Some("/openspec:sync"));
        assert_eq!(tool(json!({"command": "/opsx:archive x"})).as_deref(), Some("/opsx:archive"));
        assert_eq!(find_breach(&What::TurnEnded, &json!({"prompt": "/opsx:archive"})), None);
    }

    #[test]
    fn the_configuration_decides_between_nothing_a_warning_and_a_refusal() {
        assert_eq!(answer(RoleGating::Off, cli::descriptor("claude")), Answer::Nothing);
        assert_eq!(answer(RoleGating::Warn, cli::descriptor("claude")), Answer::Warn);
        assert_eq!(answer(RoleGating::Block, cli::descriptor("claude")), Answer::Refuse);
        assert_eq!(answer(RoleGating::Block, cli::descriptor("codex")), Answer::Warn);
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in "(openspec|archive|[ ;&|()`'\"$/=\n-]|[a-z]{0,3}){0,12}") {
            let _ = shell(&text);
            let _ = slashed(&text);
        }
    }
}
