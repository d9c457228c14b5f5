//! What makes claude and codex call us: for claude a file, in which our entries are put in and taken out and everything
//! else stays; for codex words on its command line. Of a file in a linked worktree codex takes no notice.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::process::shell_quote;
use serde_json::{Map, Value, json};

/// A settings file that is not what the CLI expects; it is left alone.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("not JSON: {0} (correct it, or move it away)")]
    NotJson(#[from] serde_json::Error),
    #[error("'{0}' is not what it should be (correct it, or move the file away)")]
    Unexpected(String),
    #[error("{0} has no hooks that are known")]
    NoHooks(String),
}

impl Diagnostic for SettingsError {
    fn report(&self) -> ErrorReport {
        ErrorReport::new(ErrorCode::InvalidArgument, self)
    }
}

const CLAUDE_EVENTS: [&str; 12] = [
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
];
const CODEX_EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"];

fn events(cli: &str) -> Result<&'static [&'static str], SettingsError> {
    match cli {
        "claude" => Ok(&CLAUDE_EVENTS),
        _ => Err(SettingsError::NoHooks(cli.to_owned())),
    }
}

/// Where the hooks of a CLI stand in a worktree, if they stand in a file. It is not meant to be committed.
pub fn file(cli: &str, worktree: &Path) -> Option<PathBuf> {
    (cli == "claude").then(|| worktree.join(".claude/settings.local.json"))
}

/// The words on its command line that make a CLI call us, quoted for a shell, if that is how it is told. They are the same
/// in every worktree, and codex remembers them as such: its user is asked about them once.
pub fn words(cli: &str, program: &Path) -> Option<String> {
    let command = Value::String(line(cli, program));
    let word = |event: &&str| {
        let hook = format!(r#"hooks.{event}=[{{hooks=[{{type="command",command={command}}}]}}]"#);
        format!("--config {}", shell_quote(OsStr::new(&hook)))
    };
    (cli == "codex").then(|| CODEX_EVENTS.iter().map(word).collect::<Vec<_>>().join(" "))
}

/// The shell line that a hook runs. Its end is how we know our own entries again.
fn line(cli: &str, program: &Path) -> String {
    format!("{}{}", shell_quote(OsStr::new(program)), ending(cli))
}

fn ending(cli: &str) -> String {
    format!(" hook --cli {cli}")
}

/// The text of the file with our hooks in it, which run `program`. Ours from before are replaced.
pub fn with_hooks(before: &str, cli: &str, program: &Path) -> Result<String, SettingsError> {
    let mut settings = object(before)?;
    take_out(&mut settings, cli)?;
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| SettingsError::Unexpected("hooks".to_owned()))?;
    for event in events(cli)? {
        let entries = hooks.entry(*event).or_insert_with(|| json!([]));
        let entries = entries.as_array_mut().ok_or_else(|| SettingsError::Unexpected((*event).to_owned()))?;
        entries.push(json!({"hooks": [{"type": "command", "command": line(cli, program)}]}));
    }
    printed(&settings)
}

/// The text of the file without our hooks, or nothing if there is nothing else in it.
pub fn without_hooks(before: &str, cli: &str) -> Result<Option<String>, SettingsError> {
    let mut settings = object(before)?;
    take_out(&mut settings, cli)?;
    if settings.is_empty() { Ok(None) } else { printed(&settings).map(Some) }
}

fn object(text: &str) -> Result<Map<String, Value>, SettingsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text)? {
        Value::Object(settings) => Ok(settings),
        _ => Err(SettingsError::Unexpected("the whole file".to_owned())),
    }
}

fn printed(settings: &Map<String, Value>) -> Result<String, SettingsError> {
    Ok(format!("{}\n", serde_json::to_string_pretty(settings)?))
}

/// Takes our commands out, and what is empty without them. Whatever has another shape is somebody else's.
fn take_out(settings: &mut Map<String, Value>, cli: &str) -> Result<(), SettingsError> {
    let ending = ending(cli);
    let is_ours = |command: &Value| command["command"].as_str().is_some_and(|line| line.ends_with(&ending));
    let Some(hooks) = settings.get_mut("hooks") else { return Ok(()) };
    let hooks = hooks.as_object_mut().ok_or_else(|| SettingsError::Unexpected("hooks".to_owned()))?;
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

    const PROGRAM: &str = "/opt/my tools/git-paw";

    fn put_in(before: &str, cli: &str) -> String {
        with_hooks(before, cli, Path::new(PROGRAM)).unwrap()
    }

    #[test]
    fn hooks_are_put_beside_what_is_there() {
        let before = r#"{"permissions":{"allow":["Bash(ls)"]},"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"mine"}]}]},"z":1}"#;
        let after: Value = serde_json::from_str(&put_in(before, "claude")).unwrap();
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
        let once = with_hooks("", "claude", Path::new("/old/git-paw")).unwrap();
        let twice = put_in(&once, "claude");
        assert_eq!(twice, put_in("", "claude"));
        assert!(!twice.contains("/old/"));
    }

    #[test]
    fn codex_is_told_on_its_command_line_and_by_no_file() {
        assert_eq!(file("codex", Path::new("/w")), None);
        let words = words("codex", Path::new(r#"/opt/it's "x"/git-paw"#)).unwrap();
        let line = format!("printf '%s\\n' {words}");
        let ran = paw_host::process::Command::new("sh").args(["-c", &line]).capture().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(said.lines().count(), 2 * CODEX_EVENTS.len());
        assert_eq!(
            said.lines().nth(1).unwrap(),
            r#"hooks.SessionStart=[{hooks=[{type="command",command="'/opt/it'\\''s \"x\"/git-paw' hook --cli codex"}]}]"#
        );
    }

    #[test]
    fn taking_hooks_out_gives_back_what_was_there() {
        assert_eq!(without_hooks(&put_in("", "claude"), "claude").unwrap(), None);
        for before in [r#"{"a":{"b":[1]}}"#, r#"{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}],"Odd":7}}"#]
        {
            let after = without_hooks(&put_in(before, "claude"), "claude").unwrap().unwrap();
            let values = [before, &after].map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(values[0], values[1]);
        }
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone() {
        for before in ["{", "[]", "7", r#"{"hooks":[]}"#, r#"{"hooks":{"Stop":{}}}"#] {
            assert!(with_hooks(before, "claude", Path::new(PROGRAM)).is_err(), "{before}");
        }
        assert!(with_hooks("", "aider", Path::new(PROGRAM)).is_err());
        assert_eq!(words("aider", Path::new(PROGRAM)), None);
    }

    proptest! {
        #[test]
        fn any_text_gives_an_error_or_the_same_hooks_again(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
            if let Ok(after) = with_hooks(&text, "claude", Path::new(PROGRAM)) {
                prop_assert_eq!(with_hooks(&after, "claude", Path::new(PROGRAM)).unwrap(), after);
            }
        }
    }
}
