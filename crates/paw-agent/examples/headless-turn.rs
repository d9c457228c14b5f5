//! Runs one headless turn of a real CLI and prints its text and outcome as one JSON document.
//!
//! `headless-turn CLI PROGRAM WORKTREE MESSAGE [CONVERSATION]`

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use paw_agent::cli;
use paw_agent::headless::{self, Turn, TurnEvent};
use serde_json::json;

const LIMIT: Duration = Duration::from_mins(3);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [cli, program, worktree, message, conversation @ ..] = words.as_slice() else {
        return Err("CLI PROGRAM WORKTREE MESSAGE [CONVERSATION]".into());
    };
    let turn = Turn { message, resume: conversation.first().map(String::as_str), model: None };
    let command = headless::command(cli::descriptor(cli), Path::new(program), Path::new(worktree), turn)
        .time_limit(LIMIT);
    let mut listener = headless::listener(cli::descriptor(cli));
    let (mut text_output, mut tools, mut denied) = (String::new(), Vec::new(), Vec::new());
    let exit = command.stream(|stream, line| {
        for event in listener.read_line(stream, line) {
            match event {
                TurnEvent::Text(text) => text_output.push_str(&text),
                TurnEvent::ToolUse { name, .. } => tools.push(name),
                TurnEvent::PermissionDenied { message, .. } => denied.push(message),
                TurnEvent::ToolResult { .. } | TurnEvent::Error(_) | TurnEvent::Raw(_) => {}
            }
        }
    })?;
    let done = listener.finish(exit);
    let document = json!({
        "ok": done.ok, "conversation": done.session, "problem": done.message,
        "said": text_output, "tools": tools, "denied": denied,
    });
    writeln!(std::io::stdout(), "{document}")?;
    Ok(())
}
