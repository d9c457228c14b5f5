//! The state of a session as plain serializable data. No I/O.
//!
//! - [`SessionView`]: the data, and the reducer that keeps it current
//! - [`ViewEvent`]: its input, created by the crates that read receipts, tmux, hooks and the log
//! - [`AgentView`]: one agent: its pane and worktree, what was observed, what its messages report
//! - [`ConflictView`], [`OpenQuestion`], [`MessageView`], [`CommitCheck`]: from messages; [`BranchTip`]: from git and signed records
//! - [`Need`]: which agents wait for the user, and why
//!
//! Texts are stored as they were sent. Sanitize them before printing them on a terminal.

mod agent;
mod attention;
mod check;
mod conflict;
mod event;
mod generated;
mod message;
mod question;
mod reduce;
mod session;

pub use agent::{
    AgentState, AgentUsage, AgentView, AnnouncedPlan, CliState, HostReach, MemberHost, Observation,
    PromptDelivery, SessionMember, SessionMembers, StateSource, StatusCategory, WorktreeState,
};
pub use attention::{Need, NeedKind};
pub use check::{BranchTip, CommitCheck, TipVerification};
pub use conflict::{ConflictGroup, ConflictKind, ConflictView};
pub use event::{SessionSnapshot, ViewChanges, ViewEvent};
pub use message::{MessageKind, MessageView};
pub use question::OpenQuestion;
pub use session::{BrokerView, SessionFacts, SessionView, SupervisorView};

/// How many recent messages a new view reads to find open questions and conflicts.
pub const LOOK_BACK: u64 = 10_000;

#[cfg(test)]
mod tests;
