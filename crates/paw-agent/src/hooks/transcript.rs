//! Reads the end of the transcript that a CLI keeps, and the size of the conversation from it.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::Cli;

/// Bytes read from the end of a transcript. One answer of a model is never longer.
const TAIL: u64 = 512 * 1024;

/// The end of a transcript. The first line may be incomplete.
pub(crate) fn load_tail(transcript: &Path) -> Option<String> {
    // The path comes from a record, and opening a pipe would block.
    let about = fs::metadata(transcript).ok().filter(fs::Metadata::is_file)?;
    let mut file = File::open(transcript).ok()?;
    file.seek(SeekFrom::Start(about.len().saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a conversation has used, as far as its CLI reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TranscriptUsage {
    /// The size of the conversation: what the model reads and writes in one step.
    pub context_tokens: Option<u64>,
    /// Everything since the conversation began.
    pub total_tokens: Option<u64>,
    /// In millionths of a US dollar, since the conversation began.
    pub cost_usd_micros: Option<u64>,
}

/// The tokens of the conversation, if the transcript contains them.
pub fn load_usage(cli: &Cli, transcript: &Path) -> Option<TranscriptUsage> {
    let count = cli.hooks?.usage?;
    find_usage(count, &load_tail(transcript)?)
}

/// The transcripts of a CLI without hooks.
#[derive(Debug, Clone, Copy)]
pub struct FoundTranscript {
    /// The transcript of the newest conversation in a worktree, in a home directory.
    pub find: fn(home: &Path, worktree: &Path) -> Option<PathBuf>,
    /// What the conversation has used, from a line of its transcript.
    pub usage: fn(&Value) -> Option<TranscriptUsage>,
}

impl FoundTranscript {
    /// The tokens of the newest conversation in a worktree.
    pub fn load_usage(&self, home: &Path, worktree: &Path) -> Option<TranscriptUsage> {
        find_usage(self.usage, &load_tail(&(self.find)(home, worktree)?)?)
    }
}

/// The newest token count in the lines of a transcript. The first line may be incomplete.
fn find_usage(count: fn(&Value) -> Option<TranscriptUsage>, lines: &str) -> Option<TranscriptUsage> {
    lines.lines().rev().find_map(|line| {
        // Most lines have no token count, and some are very long.
        if !line.contains("token") {
            return None;
        }
        count(&serde_json::from_str(line).ok()?)
    })
}

/// The sum of these fields, or `None` if it is zero.
pub(crate) fn sum(usage: &Value, names: &[&str]) -> Option<u64> {
    let known = names.iter().filter_map(|name| usage[name].as_u64());
    let total = known.fold(0_u64, u64::saturating_add);
    (total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use paw_host::files::{Access, write_atomic};
    use paw_host::process::Command;
    use proptest::prelude::*;

    use super::*;
    use crate::cli;

    fn find(cli: &str, lines: &str) -> Option<u64> {
        find_usage(cli::descriptor(cli).hooks?.usage?, lines)?.context_tokens
    }

    fn load(file: &Path) -> Option<u64> {
        load_usage(cli::descriptor("claude"), file)?.context_tokens
    }

    const CLAUDE: &str = r#"{"type":"user","message":{"content":"how many tokens?"}}
{"type":"assistant","isSidechain":false,"message":{"usage":{"input_tokens":4,"cache_creation_input_tokens":1000,"cache_read_input_tokens":250000,"output_tokens":96,"service_tier":"standard"}}}
{"type":"assistant","isSidechain":true,"message":{"usage":{"input_tokens":9}}}
{"type":"system","subtype":"turn_duration"}
"#;
    const CODEX: &str = r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":900000},"last_token_usage":{"input_tokens":120000,"cached_input_tokens":110000,"output_tokens":500,"total_tokens":120500}}}}
{"type":"event_msg","payload":{"type":"token_count","info":null}}
"#;

    #[test]
    fn tokens_come_from_the_last_turn_of_the_main_conversation() {
        assert_eq!(find("claude", CLAUDE), Some(251_100));
        assert_eq!(find("codex", CODEX), Some(120_500));
        let total = find_usage(cli::descriptor("codex").hooks.unwrap().usage.unwrap(), CODEX);
        assert_eq!(total.unwrap().total_tokens, Some(900_000));
        assert_eq!(find("claude", "{\"type\":\"assistant\",\"message\":{}}\ntokens\n"), None);
    }

    #[test]
    fn load_usage_reads_the_end_of_a_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.jsonl");
        assert_eq!(load(&file), None);
        let long = format!("{}\n{CLAUDE}", "x".repeat(usize::try_from(TAIL).unwrap() * 2));
        write_atomic(&file, long.as_bytes(), Access::Usual).unwrap();
        assert_eq!(load(&file), Some(251_100));
        assert_eq!(load(dir.path()), None);
    }

    #[test]
    fn load_usage_does_not_block_on_a_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("t.jsonl");
        Command::new("mkfifo").arg(&pipe).capture().unwrap();
        assert!(pipe.exists());
        assert_eq!(load(&pipe), None);
    }

    proptest! {
        #[test]
        fn find_usage_accepts_any_text(text in "[{}\\[\\]\":,a-z_0-9\n]{0,200}", cut in 0_usize..600) {
            let _ = find("codex", &text);
            let _ = find("claude", CLAUDE.get(cut..).unwrap_or_default());
        }
    }
}
