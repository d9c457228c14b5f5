//! What an agent is doing, and the evidence for it.

mod infer;

use std::fmt;

pub use infer::{ObservationSource, ObservedState, PaneProcess, ScreenObservation, infer_state};

use crate::screen::ApprovalRequest;

/// What an agent is doing, with the facts of each state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentActivity {
    Starting,
    Working,
    WaitingApproval(ApprovalRequest),
    /// The agent needs an answer that only a person can give.
    WaitingInput,
    Idle,
    RateLimited {
        /// When the limit resets, in the CLI's words.
        resets: Option<String>,
    },
    Exited,
    Unknown,
}

impl AgentActivity {
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

impl fmt::Display for AgentActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
