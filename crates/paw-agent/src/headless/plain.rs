//! CLIs that answer in plain text: every line is text, and the exit code is the result. Each turn is a new conversation.

use super::{Headless, OutputReader, TurnEvent, TurnFacts};

/// A CLI that reads the message from standard input and needs no arguments.
pub const PLAIN: Headless =
    Headless { arguments: |_| Vec::new(), reader: || Box::new(Plain), unattended: None };

#[derive(Debug)]
struct Plain;

impl OutputReader for Plain {
    fn out(&mut self, line: &str) -> Vec<TurnEvent> {
        vec![TurnEvent::Text(format!("{line}\n"))]
    }

    fn facts(&self) -> TurnFacts {
        TurnFacts { verdict: Some(Ok(())), ..TurnFacts::default() }
    }
}
