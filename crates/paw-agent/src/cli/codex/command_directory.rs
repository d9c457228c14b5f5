//! Where codex would run the command it asks about. Its model chooses the directory and the shell of every call; the prompt
//! shows neither, and the hook tells the conversation's directory. The transcript that codex keeps names both.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::hooks::transcript;

/// Another program that is called a shell would get the line, whatever it does with it.
const SHELLS: [&str; 9] =
    ["bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh", "zsh", "/bin/zsh", "/usr/bin/zsh"];

/// The directory of the call that waits for an answer. Nothing where that is not sure.
pub(super) fn load_directory(transcript: &Path, command: &str, worktree: &Path) -> Option<PathBuf> {
    let kept = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let kept = kept.or_else(|| std::env::home_dir().map(|home| home.join(".codex")))?;
    let lines = load_tail(transcript, &kept)?;
    find_directory(&lines, command, worktree)?.canonicalize().ok()
}

/// The end of a transcript in codex' own directory, where its sandbox lets no command write. The path comes from a record,
/// which any process could have written.
fn load_tail(transcript: &Path, kept: &Path) -> Option<String> {
    let transcript = transcript.canonicalize().ok()?;
    transcript.starts_with(kept.canonicalize().ok()?).then(|| transcript::load_tail(&transcript))?
}

/// Of the calls of this turn that have no output yet, all that would run this command have to agree.
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
                let Some(call) = call.filter(|call: &Value| says(call, command)) else { continue };
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

fn says(call: &Value, command: &str) -> bool {
    call["cmd"].as_str().is_some_and(|cmd| cmd.trim() == command.trim())
}

/// Nothing for a call that names a shell of its own.
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

    /// As codex 0.166.0 writes it, without the fields that are not read.
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
    fn the_directory_of_the_call_that_waits_is_found() {
        assert_eq!(found(RECORDED).as_deref(), Some("/home/dev/repo/sub"));
        assert_eq!(found(&call("a", &json!({"cmd": "cargo test\n"}))).as_deref(), Some("/wt"));
        let relative = call("a", &json!({"cmd": "cargo test", "workdir": "sub"}));
        assert_eq!(found(&relative).as_deref(), Some("/wt/sub"));
        let half = &RECORDED[20..];
        assert_eq!(found(half).as_deref(), Some("/home/dev/repo/sub"), "the first line may be half a line");
    }

    #[test]
    fn what_is_over_or_not_sure_is_not_found() {
        assert_eq!(found(&format!("{RECORDED}{OUTPUT}")), None);
        assert_eq!(find_directory(RECORDED, "cargo test --all", Path::new("/wt")), None);
        let another = call("b", &json!({"cmd": "cargo test", "workdir": "/tmp"}));
        assert_eq!(found(&format!("{RECORDED}{another}")), None, "either of the two may be asked about");
        assert_eq!(found(&format!("{RECORDED}{OUTPUT}{another}")).as_deref(), Some("/tmp"));
        for odd in [json!({"shell": "/tmp/bash"}), json!({"shell": 1}), json!({"workdir": ["x"]})] {
            let mut arguments = json!({"cmd": "cargo test"});
            arguments.as_object_mut().unwrap().extend(odd.as_object().unwrap().clone());
            assert_eq!(found(&call("a", &arguments)), None, "{arguments}");
        }
        assert_eq!(found("function_call\n{\"type\":\"turn_context\"}\n"), None);
    }

    #[test]
    fn a_transcript_that_is_kept_elsewhere_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, other) = (dir.path().join("codex"), dir.path().join("tmp"));
        for place in [&kept, &other] {
            write_atomic(&place.join("a.jsonl"), RECORDED.as_bytes(), Access::Usual).unwrap();
        }
        assert!(load_tail(&kept.join("a.jsonl"), &kept).is_some());
        assert_eq!(load_tail(&other.join("a.jsonl"), &kept), None);
        assert_eq!(load_tail(&kept.join("../tmp/a.jsonl"), &kept), None);
        assert_eq!(load_tail(&kept, &kept), None, "a directory is no transcript");
    }
}
