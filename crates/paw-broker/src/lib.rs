//! Messages between agents: the log that stores them, the broker that delivers them, and what is derived from them.
//!
//! - [`message`]: all message types, with parsing and validation
//! - [`route`]: the audience of a message
//! - [`log`]: the durable message log
//! - [`bus`]: publish, inboxes and the stream of a session, on top of the log and the [`cache`]
//! - [`record`]: the state of each agent; [`open_questions`]: repeated questions
//! - [`identity`]: tokens, and who may send what
//! - [`http`]: the HTTP server; [`endpoint`]: its address
//! - [`client`]: publish and read messages, with or without a broker
//! - [`audit`]: the audit trail, a readable copy of the log
//! - [`broker`]: all of these together, for one session
//! - [`hooks`]: git hooks that report commits
//! - [`watch`]: turns changes in worktrees into status messages
//! - [`conflict`]: finds conflicts between agents
//! - [`learnings`]: what a session teaches

pub mod audit;
pub mod broker;
pub mod bus;
pub mod cache;
pub mod client;
pub mod conflict;
pub mod endpoint;
pub mod hooks;
pub mod http;
pub mod identity;
pub mod learnings;
pub mod log;
pub mod message;
pub mod open_questions;
pub mod record;
pub mod route;
pub mod watch;

pub use broker::{Broker, BrokerSettings};
pub use bus::{Bus, Subscription};
pub use log::{SessionId, StoredMessage};
pub use message::{Message, MessageError};
