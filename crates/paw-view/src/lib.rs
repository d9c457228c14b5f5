//! Everything a person needs to know about a session, as plain serializable data. No I/O.
//!
//! - [`SessionView`]: the data, and the reducer that keeps it current
//! - [`ViewEvent`]: what changes it; the crates that read receipts, tmux, hooks and the log make these
//! - [`AgentView`]: one agent: its pane and worktree, what was observed, what its messages report
//! - [`ConflictView`], [`OpenQuestion`], [`MessageView`], [`CommitCheck`]: what messages tell
//! - [`Need`]: who needs a person, and for what
//!
//! Texts are kept as they were sent. A program that prints them on a terminal makes them harmless first.

mod agent;
mod attention;
mod check;
mod conflict;
mod event;
mod message;
mod question;
mod reduce;
mod session;

pub use agent::{
    AgentState, AgentView, AnnouncedPlan, CliState, Observation, PromptDelivery, SessionMember,
    SessionMembers, StateSource, StatusCategory, WorktreeState,
};
pub use attention::{Need, NeedKind};
pub use check::CommitCheck;
pub use conflict::{ConflictKind, ConflictView};
pub use event::{SessionSnapshot, ViewChanges, ViewEvent};
pub use message::{MessageKind, MessageView};
pub use question::OpenQuestion;
pub use session::{BrokerView, SessionFacts, SessionView, SupervisorView};

/// How many of the newest messages a new view reads for open questions and conflicts.
pub const LOOK_BACK: u64 = 10_000;

#[cfg(test)]
mod tests;
