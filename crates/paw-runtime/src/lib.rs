//! The long-running process of a session: broker, watcher, conflict detection, learnings, monitor and page. They are composed
//! here and nowhere else. It draws nothing; dashboards are its clients.
//!
//! - [`session`]: the process, its start and its shutdown
//! - [`brokerless`]: the process of a session without a broker
//! - `pane_services`: what watches the panes, with or without a broker
//! - `delivery`: delivers the first prompts
//! - `attention`: notifies the user, and shows in tmux who needs the user
//! - `cluster`: other machines of the session
//! - `conflicts`: the worktree watcher and conflict detection
//! - `questions`: repeats unanswered questions
//! - `repository`: notices that the repository is gone
//! - `requests`: runs gates and merges that agents and the page request

mod attention;
pub mod brokerless;
mod cluster;
mod conflicts;
mod delivery;
mod pane_services;
mod questions;
mod repository;
mod requests;
pub mod session;

pub use brokerless::BrokerlessSession;
pub use session::{SessionProcess, SessionSettings};
