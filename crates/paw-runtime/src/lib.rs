//! The long-running process of a session: broker, watcher, conflict radar, learnings and monitor, put together here and
//! nowhere else. It draws nothing; a screen is given its bus, its members and its facts.
//!
//! - [`session`]: the process, from its start to its end in order
//! - `patrol`: watcher and radar, and what they remember when it starts
//! - `questions`: questions that are raised again
//! - `monitor`: what the agents are doing, told on the session's own bus

mod monitor;
mod patrol;
mod questions;
pub mod session;

pub use session::{SessionProcess, SessionSettings};
