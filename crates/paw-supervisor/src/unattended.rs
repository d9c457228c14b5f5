//! A session without a person or a supervisor: its agents are followed until each of them has finished, one way or
//! another.
//!
//! - [`run`]: the loop, from the first event to the summary
//! - `session`: what is done for the agents: gates, messages, merge
//! - `events`: everything that can happen, in one queue
//! - [`notice`]: what is worth a line meanwhile; [`summary`]: what became of it
//! - [`workers`]: who is at what, whose work is to be checked now, and when it is over. Pure: messages and the time come in
//! - [`outcome`]: what became of an agent's work
//! - [`mergeable`]: whose verified work can be merged without that of others. Pure
//! - [`refs`]: branches that move, as they move
//! - [`attendant_lock`]: the lock of the process that stands in for a supervisor
//! - [`words`]: what a failing agent is told

pub mod attendant_lock;
mod events;
mod fix_prompt;
pub mod mergeable;
pub mod notice;
pub mod outcome;
pub mod refs;
pub mod run;
mod session;
pub mod summary;
mod worker;
pub mod workers;

pub use attendant_lock::AttendantLock;
pub use notice::{NoticeTone, NotifyFn, ProgressNotice};
pub use outcome::AgentOutcome;
pub use run::{UnattendedOptions, follow, format_duration};
pub use session::UnattendedContext;
pub use summary::{UnattendedEnd, UnattendedSummary};
pub use workers::{UnattendedStep, WorkJudgement, Workers};
