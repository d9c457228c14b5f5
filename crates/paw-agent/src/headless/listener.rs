//! Reads the output of a CLI, and decides at its exit how the turn went.

use std::collections::VecDeque;
use std::fmt;

use paw_core::text;
use paw_host::process::{Exit, Stream};

use super::{OutputReader, TurnEvent, TurnFacts, TurnOutcome};

/// Lines of standard error that are kept to explain a failure.
const LAST_WORDS: usize = 5;

/// Reads one turn of one CLI.
pub struct TurnListener {
    reader: Box<dyn OutputReader>,
    last_words: VecDeque<String>,
}

impl fmt::Debug for TurnListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("last_words", &self.last_words).finish_non_exhaustive()
    }
}

impl TurnListener {
    pub(super) fn new(reader: Box<dyn OutputReader>) -> Self {
        Self { reader, last_words: VecDeque::new() }
    }

    /// The events of one line.
    pub fn read_line(&mut self, stream: Stream, line: &[u8]) -> Vec<TurnEvent> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        match stream {
            Stream::Out => self.reader.out(line),
            Stream::Err => {
                let line = text::output_line(line);
                if !line.trim().is_empty() {
                    if self.last_words.len() == LAST_WORDS {
                        self.last_words.pop_front();
                    }
                    self.last_words.push_back(line.trim().to_owned());
                }
                self.reader.err(&line)
            }
        }
    }

    /// The CLI's id of the conversation, once the CLI has printed it.
    pub fn session(&self) -> Option<String> {
        self.reader.facts().session
    }

    /// The outcome of the turn, given the CLI's exit.
    pub fn finish(&self, exit: Exit) -> TurnOutcome {
        let TurnFacts { session, cost_usd, turns, verdict } = self.reader.facts();
        let words = self.last_words.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let message = judge(verdict, exit, &words).err();
        TurnOutcome { ok: message.is_none(), cost_usd, turns, session, message }
    }
}

/// A turn succeeded if the CLI reports success and exits with success. Neither alone is enough.
fn judge(verdict: Option<Result<(), String>>, exit: Exit, last_words: &str) -> Result<(), String> {
    let because = if last_words.is_empty() { String::new() } else { format!(": {last_words}") };
    match verdict {
        Some(Err(message)) => Err(message),
        Some(Ok(())) if exit.success() => Ok(()),
        Some(Ok(())) => Err(format!("the CLI {exit}{because}")),
        None => Err(format!("the CLI {exit} without reporting a result{because}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_succeeds_only_with_a_reported_success_and_exit_code_zero() {
        let bad = || Some(Err("no".to_owned()));
        assert_eq!(judge(Some(Ok(())), Exit::Code(0), "noise"), Ok(()));
        assert_eq!(judge(bad(), Exit::Code(0), ""), Err("no".into()));
        assert_eq!(judge(Some(Ok(())), Exit::Code(2), "oh"), Err("the CLI exited with code 2: oh".into()));
        let silent = judge(None, Exit::Signal(9), "");
        assert_eq!(silent, Err("the CLI was killed by signal 9 without reporting a result".into()));
    }

    #[test]
    fn the_last_lines_of_standard_error_explain_a_failure() {
        let mut listener = super::super::listener(crate::cli::descriptor("claude"));
        for n in 0..9 {
            assert_eq!(listener.read_line(Stream::Err, format!("line {n}\r").as_bytes()), []);
        }
        let message = listener.finish(Exit::Code(1)).message.unwrap();
        assert!(message.ends_with("result: line 4\nline 5\nline 6\nline 7\nline 8"), "{message}");
    }
}
