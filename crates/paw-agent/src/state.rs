//! What an agent is doing, and how we know.

mod conclude;

use std::fmt;

pub use conclude::{Known, Life, Sight, Source, conclude};

use crate::screen::Ask;

/// The states of an agent, each with what is true in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Starting,
    Working,
    WaitingApproval(Ask),
    /// For an answer that only a person can give.
    WaitingInput,
    Idle,
    RateLimited {
        /// When it may go on, as the CLI says it.
        resets: Option<String>,
    },
    Exited,
    Unknown,
}

impl State {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::WaitingApproval(_) => "waiting_approval",
            Self::WaitingInput => "waiting_input",
            Self::Idle => "idle",
            Self::RateLimited { .. } => "rate_limited",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
