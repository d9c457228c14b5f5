//! Messages between agents: carried, kept, and looked at while they pass.
//!
//! - [`message`]: every message there is, read from JSON, checked, and written back
//! - [`route`]: who a message is for
//! - [`log`]: the durable log, and messages as they are stored in it
//! - [`bus`]: publish, inboxes and the stream of a session, over the log and what [`memory`] keeps of it
//! - [`record`]: what is known about each agent; [`repeat`]: a question asked twice in a row
//! - [`identity`]: tokens, and who may send what
//! - [`http`]: the broker over HTTP; [`endpoint`]: where it is reached
//! - [`client`]: speaking and listening, with or without a broker
//! - [`audit`]: the readable trail
//! - [`broker`]: all of it together
//! - [`hooks`]: commit signals by git hooks
//! - [`watch`]: changes in worktrees become status messages
//! - [`radar`]: who is about to collide with whom
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
