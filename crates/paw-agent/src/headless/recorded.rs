//! What real CLIs printed, and what we understand of it.

use paw_host::process::{Exit, Stream};
use proptest::prelude::*;

use super::{TurnEvent, listener};
use crate::cli;

/// The recorded output as events, one per line, and how the turn ended.
fn transcribe(cli: &str, out: &str, err: &str, exit: i32) -> String {
    let mut listener = listener(cli::descriptor(cli));
    let mut lines = Vec::new();
    for (stream, text) in [(Stream::Err, err), (Stream::Out, out)] {
        for line in text.lines() {
            lines.extend(listener.read_line(stream, line.as_bytes()).iter().map(shown));
        }
    }
    let done = listener.finish(Exit::Code(exit));
    lines.push(format!(
        "done ok={} cost={:?} turns={:?} session={} {}",
        done.ok,
        done.cost_usd,
        done.turns,
        done.session.is_some(),
        done.message.unwrap_or_default()
    ));
    lines.join("\n")
}

fn shown(event: &TurnEvent) -> String {
    match event {
        TurnEvent::Text(text) => format!("text {text:?}"),
        TurnEvent::ToolUse { name, input, .. } => format!("use {name} {input}"),
        TurnEvent::ToolResult { output, is_error, .. } => format!("result error={is_error} {output:?}"),
        TurnEvent::PermissionDenied { name, message, .. } => {
            format!("denied {}: {message}", name.as_deref().unwrap_or("?"))
        }
        TurnEvent::Error(message) => format!("error {message}"),
        TurnEvent::Raw(value) => format!("raw {} {}", value["type"], value["subtype"]),
    }
}

macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!("fixtures/", $file))
    };
}

#[test]
fn claude_runs_tools() {
    insta::assert_snapshot!(transcribe("claude", recorded!("claude-allowed.jsonl"), "", 0), @r#"
    raw "system" "hook_started"
    raw "system" "hook_response"
    raw "system" "init"
    use Bash {"command":"cargo test","description":"Run cargo test"}
    result error=false "stub cargo test\ntest result: ok. 1 passed; 0 failed"
    use Write {"file_path":"/home/dev/repo/b.txt","content":"1"}
    result error=false "File created successfully at: /home/dev/repo/b.txt (file state is current in your context — no need to Read it back)"
    text "done"
    done ok=true cost=Some(0.0165) turns=Some(3) session=true
    "#);
}

#[test]
fn claude_reports_denied_tools_and_succeeds() {
    insta::assert_snapshot!(transcribe("claude", recorded!("claude-denied.jsonl"), "", 0), @r#"
    raw "system" "hook_started"
    raw "system" "hook_response"
    raw "system" "init"
    use Bash {"command":"cargo test","description":"Run cargo test"}
    result error=true "This command requires approval"
    use Write {"file_path":"/home/dev/repo/a.txt","content":"1"}
    result error=true "Claude requested permissions to write to /home/dev/repo/a.txt, but you haven't granted it yet."
    text "done"
    denied Bash: This command requires approval
    denied Write: Claude requested permissions to write to /home/dev/repo/a.txt, but you haven't granted it yet.
    done ok=true cost=Some(0.0165) turns=Some(3) session=true
    "#);
}

#[test]
fn claude_retries_and_recovers() {
    insta::assert_snapshot!(transcribe("claude", recorded!("claude-401.jsonl"), "", 0), @r#"
    raw "system" "hook_started"
    raw "system" "hook_response"
    raw "system" "init"
    error API error (authentication_failed), attempt 1 of 10
    text "done"
    done ok=true cost=Some(0.0055) turns=Some(1) session=true
    "#);
}

#[test]
fn claude_fails_when_it_runs_out_of_turns() {
    insta::assert_snapshot!(transcribe("claude", recorded!("claude-maxturns.jsonl"), "", 1), @r#"
    raw "system" "hook_started"
    raw "system" "hook_response"
    raw "system" "init"
    use Bash {"command":"ls","description":"Run ls"}
    result error=false "Cargo.toml\nb.txt\nnotes.txt\nsrc"
    done ok=false cost=Some(0.0055) turns=Some(2) session=true Reached maximum number of turns (1)
    "#);
}

#[test]
fn claude_fails_without_its_api_although_it_reports_success() {
    let outcome = |exit| transcribe("claude", recorded!("claude-unreachable.jsonl"), "", exit);
    insta::assert_snapshot!(outcome(1), @r#"
    raw "system" "hook_started"
    raw "system" "hook_response"
    raw "system" "init"
    error API error (unknown), attempt 1 of 1
    error API Error: Unable to connect to API (ConnectionRefused)
    done ok=false cost=Some(0.0) turns=Some(1) session=true API Error: Unable to connect to API (ConnectionRefused)
    "#);
    assert_eq!(outcome(0), outcome(1));
}

#[test]
fn codex_runs_tools() {
    insta::assert_snapshot!(transcribe("codex", recorded!("codex-exec.jsonl"), "", 0), @r#"
    use command_execution {"command":"/bin/bash -lc 'cargo test'"}
    result error=false "stub cargo test\ntest result: ok. 1 passed; 0 failed\n"
    use file_change {"changes":[{"path":"/home/dev/repo/c.txt","kind":"add"}]}
    result error=false ""
    use file_change {"changes":[{"path":"/home/dev/repo/c.txt","kind":"update"}]}
    result error=false ""
    text "done codex"
    done ok=true cost=None turns=None session=true
    "#);
}

#[test]
fn codex_reports_a_rejection_only_on_standard_error() {
    let err = recorded!("codex-exec-denied.err");
    insta::assert_snapshot!(transcribe("codex", recorded!("codex-exec-denied.jsonl"), err, 0), @r#"
    denied ?: approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never
    denied ?: patch rejected: writing outside of the project; rejected by user approval settings
    text "done codex"
    done ok=true cost=None turns=None session=true
    "#);
}

#[test]
fn codex_fails_when_it_is_killed_without_its_server() {
    insta::assert_snapshot!(transcribe("codex", recorded!("codex-unreachable.jsonl"), "", 124), @r"
    error Reconnecting... waiting for network (Connection failed: error sending request)
    error Reconnecting... waiting for network (Connection failed: error sending request)
    error Reconnecting... waiting for network (Connection failed: error sending request)
    error Reconnecting... waiting for network (Connection failed: error sending request)
    done ok=false cost=None turns=None session=true the CLI exited with code 124 without reporting a result
    ");
}

#[test]
fn gemini_runs_tools() {
    insta::assert_snapshot!(transcribe("gemini", recorded!("gemini-yolo.jsonl"), "", 0), @r#"
    use run_shell_command {"command":"cargo test","description":"Run cargo test"}
    result error=false "stub cargo test\ntest result: ok. 1 passed; 0 failed"
    use write_file {"file_path":"/home/dev/repo/g.txt","content":"hi"}
    result error=false ""
    text "done gemini"
    done ok=true cost=None turns=None session=true
    "#);
}

#[test]
fn gemini_reports_unknown_tools() {
    insta::assert_snapshot!(transcribe("gemini", recorded!("gemini-default.jsonl"), "", 0), @r#"
    use Bash {"command":"cargo test","description":"Run cargo test"}
    result error=true "Tool \"Bash\" not found. Did you mean one of: \"glob\", \"read_file\", \"grep_search\"?"
    use Write {"file_path":"/home/dev/repo/g2.txt","content":"hi"}
    result error=true "Tool \"Write\" not found. Did you mean one of: \"glob\", \"read_file\", \"grep_search\"?"
    text "done gemini"
    done ok=true cost=None turns=None session=true
    "#);
}

#[test]
fn gemini_deltas_are_joined_into_lines() {
    let piece = |words: &str| {
        serde_json::json!({"type": "message", "role": "assistant", "content": words, "delta": true})
            .to_string()
    };
    let lines = [
        piece(r#"{"subtasks": [{"ti"#),
        piece("tle\": \"one\"},\n"),
        piece("{\"title\": \"two\"}]}"),
        r#"{"type":"result","status":"success"}"#.to_owned(),
    ];
    insta::assert_snapshot!(transcribe("gemini", &lines.join("\n"), "", 0), @r#"
    text "{\"subtasks\": [{\"title\": \"one\"},"
    text "{\"title\": \"two\"}]}"
    done ok=true cost=None turns=None session=false
    "#);
}

#[test]
fn opencode_runs_tools() {
    insta::assert_snapshot!(transcribe("opencode", recorded!("opencode-allowed.jsonl"), "", 0), @r#"
    use bash {"command":"cargo test","description":"Run cargo test"}
    result error=false "stub cargo test\ntest result: ok. 1 passed; 0 failed\n"
    use write {"filePath":"/home/dev/repo/oc.txt","content":"hi"}
    result error=false "Wrote file successfully."
    text "done oc"
    done ok=true cost=Some(0.0) turns=Some(3) session=true
    "#);
}

#[test]
fn opencode_fails_after_a_rejection() {
    insta::assert_snapshot!(transcribe("opencode", recorded!("opencode-run.jsonl"), "", 0), @r#"
    use bash {"command":"ls","description":"Run ls"}
    result error=true "The user rejected permission to use this specific tool call."
    denied bash: The user rejected permission to use this specific tool call.
    done ok=false cost=Some(0.0) turns=Some(1) session=true the turn ended unfinished (tool-calls)
    "#);
}

#[test]
fn a_custom_cli_prints_plain_text() {
    insta::assert_snapshot!(transcribe("mine", "hello\n\nyou", "noise", 0), @r#"
    text "hello\n"
    text "\n"
    text "you\n"
    done ok=true cost=None turns=None session=false
    "#);
    insta::assert_snapshot!(transcribe("mine", "hello", "it broke", 3), @r#"
    text "hello\n"
    done ok=false cost=None turns=None session=false the CLI exited with code 3: it broke
    "#);
}

const CLIS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "mine"];

proptest! {
    #[test]
    fn a_listener_accepts_any_bytes(lines in prop::collection::vec(any::<Vec<u8>>(), 0..8), exit in any::<i32>()) {
        for cli in CLIS {
            let mut listener = listener(cli::descriptor(cli));
            for line in &lines {
                listener.read_line(Stream::Out, line);
                listener.read_line(Stream::Err, line);
            }
            listener.finish(Exit::Code(exit));
        }
    }

    #[test]
    fn a_listener_accepts_truncated_records(at in 0..6000_usize, length in 0..200_usize) {
        for (cli, text) in [
            ("claude", recorded!("claude-denied.jsonl")),
            ("codex", recorded!("codex-exec.jsonl")),
            ("gemini", recorded!("gemini-default.jsonl")),
            ("opencode", recorded!("opencode-run.jsonl")),
        ] {
            let start = text.floor_char_boundary(at);
            let end = text.floor_char_boundary(at.saturating_add(length));
            transcribe(cli, &format!("{}{}", &text[..start], &text[end..]), "", 0);
        }
    }
}
