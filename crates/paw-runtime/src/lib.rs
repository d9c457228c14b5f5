//! The long-running process of a session: broker, watcher, conflict detection, learnings and monitor. They are composed
//! here and nowhere else. It draws nothing; dashboards are its clients.
//!
//! - [`session`]: the process, its start and its shutdown
//! - `conflicts`: the worktree watcher and conflict detection
//! - `questions`: repeats unanswered questions
//! - `monitor`: starts the monitor

mod conflicts;
mod monitor;
mod questions;
pub mod session;

pub use session::{SessionProcess, SessionSettings};
