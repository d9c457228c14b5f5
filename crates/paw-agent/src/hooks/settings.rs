//! Adds and removes our hooks and permission rules in a CLI's JSON settings file; keeps everything else. Pure.

use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use serde_json::{Map, Value, json};

use super::install::{HookInstall, hook_ending, hook_line};
use crate::cli::Cli;

/// Why a settings file cannot be changed. The file is left alone.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("not valid JSON: {0} (fix it, or move it away)")]
    NotJson(#[from] serde_json::Error),
    #[error("'{0}' has an unexpected type (fix it, or move the file away)")]
    Unexpected(String),
    #[error("this CLI has no settings file for hooks")]
    NoHooks,
}

impl Diagnostic for SettingsError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
    }
}

/// Permission rules for our commands that are harmless with any arguments. Our hook judges every other command, because
/// a rule matches only the beginning of a command, not its options and paths.
const RULES: [&str; 3] = ["Bash(git paw say:*)", "Bash(git paw inbox:*)", "Bash(git paw status:*)"];

/// The file with the hooks of a CLI in a worktree, if they are in a file.
pub fn file(cli: &Cli, worktree: &Path) -> Option<PathBuf> {
    settings_file(cli).map(|(path, _)| worktree.join(path))
}

fn settings_file(cli: &Cli) -> Option<(&'static str, &'static [&'static str])> {
    match cli.hooks?.install {
        HookInstall::SettingsFile { path, events, .. } => Some((path, events)),
        HookInstall::Arguments { .. } | HookInstall::Plugin(_) => None,
    }
}

/// Adds our hooks, which run `program`, and replaces earlier ones of ours.
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

/// Our hooks alone, as the value of an option.
pub(super) fn as_argument(cli: &Cli, program: &Path) -> Option<String> {
    let settings: Value = serde_json::from_str(&with_hooks("", cli, program).ok()?).ok()?;
    Some(settings.to_string())
}

/// Removes our hooks. `None` if nothing else is left.
pub fn without_hooks(before: &str, cli: &Cli) -> Result<Option<String>, SettingsError> {
    let mut settings = object(before)?;
    take_out(&mut settings, cli)?;
    if settings.is_empty() { Ok(None) } else { printed(&settings).map(Some) }
}

/// Adds our rules to `permissions.allow`, each once.
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

/// Removes our rules and the sections that become empty. `None` if nothing is left.
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

/// Removes our commands and the entries that become empty. An entry of another shape is not ours.
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
    fn with_hooks_keeps_existing_settings() {
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
    fn with_hooks_replaces_hooks_of_an_older_program() {
        let once = with_hooks("", claude(), Path::new("/old/git-paw")).unwrap();
        let twice = put_in(&once);
        assert_eq!(twice, put_in(""));
        assert!(!twice.contains("/old/"));
    }

    #[test]
    fn without_hooks_restores_the_original_settings() {
        assert_eq!(without_hooks(&put_in(""), claude()).unwrap(), None);
        for before in [r#"{"a":{"b":[1]}}"#, r#"{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}],"Odd":7}}"#]
        {
            let after = without_hooks(&put_in(before), claude()).unwrap().unwrap();
            let values = [before, &after].map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(values[0], values[1]);
        }
    }

    #[test]
    fn with_hooks_refuses_an_unexpected_file() {
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
    fn with_rules_keeps_existing_rules_and_adds_each_once() {
        let before = r#"{"permissions":{"deny":["Read(.env)"],"allow":["Bash(ls)"]},"z":1}"#;
        let once = with_rules(before).unwrap();
        assert_eq!(with_rules(&once).unwrap(), once);
        let after = value(&once);
        assert_eq!(after["permissions"]["deny"][0], "Read(.env)");
        let allow = after["permissions"]["allow"].as_array().unwrap();
        assert_eq!((allow.len(), &allow[0]), (1 + RULES.len(), &json!("Bash(ls)")));
    }

    #[test]
    fn without_rules_restores_the_original_settings() {
        assert_eq!(without_rules(&with_rules("").unwrap()).unwrap(), None);
        for before in [r#"{"permissions":{"allow":["Bash(ls)"]},"a":1}"#, r#"{"permissions":{"deny":["x"]}}"#]
        {
            let after = without_rules(&with_rules(before).unwrap()).unwrap().unwrap();
            assert_eq!(value(&after), value(before));
        }
    }

    #[test]
    fn with_rules_refuses_unexpected_permissions() {
        for before in ["{", "[]", r#"{"permissions":[]}"#, r#"{"permissions":{"allow":{}}}"#] {
            assert!(with_rules(before).is_err(), "{before}");
        }
    }

    proptest! {
        #[test]
        fn with_hooks_is_idempotent_or_fails(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_hooks(&text, claude(), Path::new(PROGRAM)) {
                prop_assert_eq!(with_hooks(&after, claude(), Path::new(PROGRAM)).unwrap(), after);
            }
        }

        #[test]
        fn with_rules_is_idempotent_or_fails(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_rules(&text) {
                prop_assert_eq!(with_rules(&after).unwrap(), after);
            }
            let _ = without_rules(&text);
        }
    }
}
