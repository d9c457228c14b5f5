//! Finds the directory in which codex would run a command. The model chooses the directory and the shell of every call. The
//! prompt shows neither, and the hook reports only the conversation's directory, but codex's transcript contains both.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hooks::transcript;

/// Accepted shells. Any other program that a call names as its shell could do anything with the command.
const SHELLS: [&str; 9] =
    ["bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh", "zsh", "/bin/zsh", "/usr/bin/zsh"];

/// The directory of the call that waits for an answer, or `None` if it is uncertain.
pub(super) fn load_directory(transcript: &Path, command: &str, worktree: &Path) -> Option<PathBuf> {
    let kept = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let kept = kept.or_else(|| std::env::home_dir().map(|home| home.join(".codex")))?;
    let lines = load_tail(transcript, &kept)?;
    find_directory(&lines, command, worktree)?.canonicalize().ok()
}

/// The end of a transcript in codex's own directory, where its sandbox lets no command write. The path comes from a record
/// that any process could have written, so a transcript elsewhere is not trusted.
fn load_tail(transcript: &Path, kept: &Path) -> Option<String> {
    let transcript = transcript.canonicalize().ok()?;
    transcript.starts_with(kept.canonicalize().ok()?).then(|| transcript::load_tail(&transcript))?
}

/// All pending calls of this turn that would run this command have to agree on the directory.
fn find_directory(lines: &str, command: &str, worktree: &Path) -> Option<PathBuf> {
    let mut turn = worktree.to_path_buf();
    let mut open: Vec<(String, Option<PathBuf>)> = Vec::new();
    for line in lines.lines().filter(|line| line.contains("turn_context") || line.contains("function_call")) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let payload = &line["payload"];
        let id = || payload["call_id"].as_str().unwrap_or_default().to_owned();
        match (line["type"].as_str(), payload["type"].as_str()) {
            (Some("turn_context"), _) => {
                open.clear();
                turn = payload["cwd"].as_str().map_or_else(|| worktree.to_path_buf(), PathBuf::from);
            }
            (Some("response_item"), Some("function_call")) => {
                let call = payload["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
                let Some(call) = call.filter(|call: &Value| runs(call, command)) else { continue };
                open.push((id(), directory(&call, &turn)));
            }
            (Some("response_item"), Some("function_call_output")) => {
                open.retain(|(other, _)| *other != id());
            }
            _ => {}
        }
    }
    let (_, first) = open.first()?;
    open.iter().all(|(_, other)| other == first).then(|| first.clone())?
}

fn runs(call: &Value, command: &str) -> bool {
    call["cmd"].as_str().is_some_and(|cmd| cmd.trim() == command.trim())
}

/// The directory of a call, or `None` if it names an unknown shell.
fn directory(call: &Value, turn: &Path) -> Option<PathBuf> {
    let plain = match &call["shell"] {
        Value::Null => true,
        shell => shell.as_str().is_some_and(|shell| SHELLS.contains(&shell)),
    };
    match &call["workdir"] {
        _ if !plain => None,
        Value::Null => Some(turn.to_path_buf()),
        Value::String(dir) => Some(turn.join(dir)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};
    use serde_json::json;

    use super::*;

    /// Written by codex 0.166.0, without unused fields.
    const RECORDED: &str = r#"{"timestamp":"2026-11-15T21:59:16.920Z","ordinal":5,"type":"turn_context","payload":{"turn_id":"01a1e138","cwd":"/home/dev/repo","approval_policy":"on-request"}}
{"timestamp":"2026-11-15T21:59:16.972Z","ordinal":9,"type":"response_item","payload":{"type":"function_call","status":"completed","id":"fc_e5","name":"exec_command","arguments":"{\"cmd\": \"cargo test\", \"workdir\": \"/home/dev/repo/sub\", \"sandbox_permissions\": \"require_escalated\", \"justification\": \"needs it\"}","call_id":"call_e5"},"metadata":{"client_authored":false}}
{"timestamp":"2026-11-15T21:59:16.977Z","ordinal":10,"type":"token_usage_record","payload":{"usage":{"input_tokens":1000}}}
"#;
    const OUTPUT: &str = r#"{"timestamp":"2026-11-15T21:59:34.551Z","ordinal":12,"type":"response_item","payload":{"type":"function_call_output","id":"fco_01","call_id":"call_e5","output":"Process exited with code 127"}}
"#;

    fn call(id: &str, arguments: &Value) -> String {
        let payload = json!({"type": "function_call", "name": "exec_command", "call_id": id, "arguments": arguments.to_string()});
        format!("{}\n", json!({"type": "response_item", "payload": payload}))
    }

    fn found(lines: &str) -> Option<String> {
        let found = find_directory(lines, "cargo test", Path::new("/wt"));
        found.map(|path| path.display().to_string())
    }

    #[test]
    fn find_directory_returns_the_directory_of_the_pending_call() {
        assert_eq!(found(RECORDED).as_deref(), Some("/home/dev/repo/sub"));
        assert_eq!(found(&call("a", &json!({"cmd": "cargo test\n"}))).as_deref(), Some("/wt"));
        let relative = call("a", &json!({"cmd": "cargo test", "workdir": "sub"}));
        assert_eq!(found(&relative).as_deref(), Some("/wt/sub"));
        let half = &RECORDED[20..];
        assert_eq!(found(half).as_deref(), Some("/home/dev/repo/sub"), "the first line may be incomplete");
    }

    #[test]
    fn find_directory_ignores_finished_and_ambiguous_calls() {
        assert_eq!(found(&format!("{RECORDED}{OUTPUT}")), None);
        assert_eq!(find_directory(RECORDED, "cargo test --all", Path::new("/wt")), None);
        let another = call("b", &json!({"cmd": "cargo test", "workdir": "/tmp"}));
        assert_eq!(found(&format!("{RECORDED}{another}")), None, "either of the two may be pending");
        assert_eq!(found(&format!("{RECORDED}{OUTPUT}{another}")).as_deref(), Some("/tmp"));
        for odd in [json!({"shell": "/tmp/bash"}), json!({"shell": 1}), json!({"workdir": ["x"]})] {
            let mut arguments = json!({"cmd": "cargo test"});
            arguments.as_object_mut().unwrap().extend(odd.as_object().unwrap().clone());
            assert_eq!(found(&call("a", &arguments)), None, "{arguments}");
        }
        assert_eq!(found("function_call\n{\"type\":\"turn_context\"}\n"), None);
    }

    #[test]
    fn a_transcript_outside_the_codex_directory_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, other) = (dir.path().join("codex"), dir.path().join("tmp"));
        for place in [&kept, &other] {
            write_atomic(&place.join("a.jsonl"), RECORDED.as_bytes(), Access::Usual).unwrap();
        }
        assert!(load_tail(&kept.join("a.jsonl"), &kept).is_some());
        assert_eq!(load_tail(&other.join("a.jsonl"), &kept), None);
        assert_eq!(load_tail(&kept.join("../tmp/a.jsonl"), &kept), None);
        assert_eq!(load_tail(&kept, &kept), None, "a directory is not a transcript");
    }
}
