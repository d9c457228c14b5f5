//! Follows a session without a supervisor until every agent has finished.
//!
//! - [`run`]: the loop, from the first event to the summary
//! - `session`: acts for the agents: runs gates, publishes results, merges
//! - `events`: all events in one queue
//! - [`notice`]: lines shown while it runs; [`summary`]: the result
//! - [`workers`]: the state of all agents: whose work to check next, and when all have finished. Pure
//! - `worker`: the state of one agent. Pure
//! - [`outcome`]: the result of an agent's work
//! - [`mergeable`]: which verified branches can be merged without the others. Pure
//! - [`refs`]: notices branches that move
//! - [`attendant_lock`]: the lock of the process that takes the supervisor's place
//! - `fix_prompt`: the prompt for an agent whose gates fail

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
