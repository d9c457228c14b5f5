//! A CLI's JSON settings file: our hooks and permission rules are added and removed, everything else stays. Pure.

use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::{Map, Value, json};

use super::install::{HookInstall, hook_ending, hook_line};
use crate::cli::Cli;

/// A settings file that is not what the CLI expects; it is left alone.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("not JSON: {0} (correct it, or move it away)")]
    NotJson(#[from] serde_json::Error),
    #[error("'{0}' is not what it should be (correct it, or move the file away)")]
    Unexpected(String),
    #[error("this CLI has no hooks in a file")]
    NoHooks,
}

impl Diagnostic for SettingsError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
    }
}

/// Commands of ours that are harmless with any arguments, as permission rules. Every other command is judged by our hook,
/// which knows options and paths, where a rule knows only how a command begins.
const RULES: [&str; 3] = ["Bash(git paw say:*)", "Bash(git paw inbox:*)", "Bash(git paw status:*)"];

/// Where the hooks of a CLI stand in a worktree, if they stand in a file.
pub fn file(cli: &Cli, worktree: &Path) -> Option<PathBuf> {
    settings_file(cli).map(|(path, _)| worktree.join(path))
}

fn settings_file(cli: &Cli) -> Option<(&'static str, &'static [&'static str])> {
    match cli.hooks?.install {
        HookInstall::SettingsFile { path, events } => Some((path, events)),
        HookInstall::Arguments { .. } | HookInstall::Plugin(_) => None,
    }
}

/// The text of the file with our hooks in it, which run `program`. Ours from before are replaced.
pub fn with_hooks(before: &str, cli: &Cli, program: &Path) -> Result<String, SettingsError> {
    let (_, events) = settings_file(cli).ok_or(SettingsError::NoHooks)?;
    let mut settings = object(before)?;
    take_out(&mut settings, cli)?;
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| unexpected("hooks"))?;
    for event in events {
        let entries = hooks.entry(*event).or_insert_with(|| json!([]));
        let entries = entries.as_array_mut().ok_or_else(|| unexpected(event))?;
        entries.push(json!({"hooks": [{"type": "command", "command": hook_line(cli.name, program)}]}));
    }
    printed(&settings)
}

/// The text of the file without our hooks, or nothing if there is nothing else in it.
pub fn without_hooks(before: &str, cli: &Cli) -> Result<Option<String>, SettingsError> {
    let mut settings = object(before)?;
    take_out(&mut settings, cli)?;
    if settings.is_empty() { Ok(None) } else { printed(&settings).map(Some) }
}

/// The settings with our rules among `permissions.allow`, each once; everything else as it was.
pub fn with_rules(before: &str) -> Result<String, SettingsError> {
    let mut settings = object(before)?;
    let permissions = settings.entry("permissions").or_insert_with(|| json!({}));
    let permissions = permissions.as_object_mut().ok_or_else(|| unexpected("permissions"))?;
    let allow = permissions.entry("allow").or_insert_with(|| json!([]));
    let allow = allow.as_array_mut().ok_or_else(|| unexpected("permissions.allow"))?;
    for rule in RULES {
        if !allow.iter().any(|there| there == rule) {
            allow.push(rule.into());
        }
    }
    printed(&settings)
}

/// The settings without our rules, and without what is empty then; nothing if nothing is left.
pub fn without_rules(before: &str) -> Result<Option<String>, SettingsError> {
    let mut settings = object(before)?;
    if let Some(permissions) = settings.get_mut("permissions").and_then(Value::as_object_mut) {
        if let Some(allow) = permissions.get_mut("allow").and_then(Value::as_array_mut) {
            let count = allow.len();
            allow.retain(|there| !RULES.iter().any(|rule| there == rule));
            if allow.is_empty() && count > 0 {
                permissions.shift_remove("allow");
            }
        }
        if permissions.is_empty() {
            settings.shift_remove("permissions");
        }
    }
    if settings.is_empty() { Ok(None) } else { printed(&settings).map(Some) }
}

fn unexpected(key: &str) -> SettingsError {
    SettingsError::Unexpected(key.to_owned())
}

fn object(text: &str) -> Result<Map<String, Value>, SettingsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text)? {
        Value::Object(settings) => Ok(settings),
        _ => Err(unexpected("the whole file")),
    }
}

fn printed(settings: &Map<String, Value>) -> Result<String, SettingsError> {
    Ok(format!("{}\n", serde_json::to_string_pretty(settings)?))
}

/// Takes our commands out, and what is empty without them. An entry of another shape is not ours.
fn take_out(settings: &mut Map<String, Value>, cli: &Cli) -> Result<(), SettingsError> {
    let ending = hook_ending(cli.name);
    let is_ours = |command: &Value| command["command"].as_str().is_some_and(|line| line.ends_with(&ending));
    let Some(hooks) = settings.get_mut("hooks") else { return Ok(()) };
    let hooks = hooks.as_object_mut().ok_or_else(|| unexpected("hooks"))?;
    let mut emptied = Vec::new();
    for (event, entries) in hooks.iter_mut() {
        let Some(entries) = entries.as_array_mut() else { continue };
        let before = entries.len();
        entries.retain_mut(|entry| {
            let Some(commands) = entry.get_mut("hooks").and_then(Value::as_array_mut) else { return true };
            let before = commands.len();
            commands.retain(|command| !is_ours(command));
            commands.len() == before || !commands.is_empty()
        });
        if entries.is_empty() && before > 0 {
            emptied.push(event.clone());
        }
    }
    hooks.retain(|event, _| !emptied.contains(event));
    if hooks.is_empty() && !emptied.is_empty() {
        settings.shift_remove("hooks");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli;

    const PROGRAM: &str = "/opt/my tools/git-paw";

    fn claude() -> &'static Cli {
        cli::descriptor("claude")
    }

    fn put_in(before: &str) -> String {
        with_hooks(before, claude(), Path::new(PROGRAM)).unwrap()
    }

    #[test]
    fn hooks_are_put_beside_what_is_there() {
        let before = r#"{"permissions":{"allow":["Bash(ls)"]},"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"mine"}]}]},"z":1}"#;
        let after: Value = serde_json::from_str(&put_in(before)).unwrap();
        assert_eq!(after["permissions"]["allow"][0], "Bash(ls)");
        assert_eq!(after["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
        let ours = "'/opt/my tools/git-paw' hook --cli claude";
        assert_eq!(after["hooks"]["Stop"][1]["hooks"][0]["command"], ours);
        assert_eq!(after["hooks"]["PermissionRequest"][0]["hooks"][0]["command"], ours);
        let keys: Vec<_> = after.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["permissions", "hooks", "z"]);
    }

    #[test]
    fn hooks_of_an_older_program_are_replaced_not_doubled() {
        let once = with_hooks("", claude(), Path::new("/old/git-paw")).unwrap();
        let twice = put_in(&once);
        assert_eq!(twice, put_in(""));
        assert!(!twice.contains("/old/"));
    }

    #[test]
    fn taking_hooks_out_gives_back_what_was_there() {
        assert_eq!(without_hooks(&put_in(""), claude()).unwrap(), None);
        for before in [r#"{"a":{"b":[1]}}"#, r#"{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}],"Odd":7}}"#]
        {
            let after = without_hooks(&put_in(before), claude()).unwrap().unwrap();
            let values = [before, &after].map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(values[0], values[1]);
        }
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone() {
        for before in ["{", "[]", "7", r#"{"hooks":[]}"#, r#"{"hooks":{"Stop":{}}}"#] {
            assert!(with_hooks(before, claude(), Path::new(PROGRAM)).is_err(), "{before}");
        }
        for name in ["aider", "codex"] {
            assert!(with_hooks("", cli::descriptor(name), Path::new(PROGRAM)).is_err(), "{name}");
            assert_eq!(file(cli::descriptor(name), Path::new("/w")), None, "{name}");
        }
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rules_are_put_beside_what_is_there_and_each_once() {
        let before = r#"{"permissions":{"deny":["Read(.env)"],"allow":["Bash(ls)"]},"z":1}"#;
        let once = with_rules(before).unwrap();
        assert_eq!(with_rules(&once).unwrap(), once);
        let after = value(&once);
        assert_eq!(after["permissions"]["deny"][0], "Read(.env)");
        let allow = after["permissions"]["allow"].as_array().unwrap();
        assert_eq!((allow.len(), &allow[0]), (1 + RULES.len(), &json!("Bash(ls)")));
    }

    #[test]
    fn taking_rules_out_gives_back_what_was_there() {
        assert_eq!(without_rules(&with_rules("").unwrap()).unwrap(), None);
        for before in [r#"{"permissions":{"allow":["Bash(ls)"]},"a":1}"#, r#"{"permissions":{"deny":["x"]}}"#]
        {
            let after = without_rules(&with_rules(before).unwrap()).unwrap().unwrap();
            assert_eq!(value(&after), value(before));
        }
    }

    #[test]
    fn permissions_that_are_not_understood_are_left_alone() {
        for before in ["{", "[]", r#"{"permissions":[]}"#, r#"{"permissions":{"allow":{}}}"#] {
            assert!(with_rules(before).is_err(), "{before}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_an_error_or_the_same_hooks_again(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_hooks(&text, claude(), Path::new(PROGRAM)) {
                prop_assert_eq!(with_hooks(&after, claude(), Path::new(PROGRAM)).unwrap(), after);
            }
        }

        #[test]
        fn any_text_gives_an_error_or_the_same_rules_again(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_rules(&text) {
                prop_assert_eq!(with_rules(&after).unwrap(), after);
            }
            let _ = without_rules(&text);
        }
    }
}
