//! The daemon: worktrees and conversations for other programs, by gRPC over a Unix socket that only its user can reach.
//! No logic of its own; `paw-worktree` and `paw-agent` do the work, and work without it.
//!
//! - [`server`]: [`Daemon`], from taking the socket to leaving it; [`run`] for a process that does nothing else
//! - [`control`]: asking a running daemon how it is, and stopping it
//! - [`client`]: a connection to it
//! - [`proto`]: the messages, generated from `proto/paw/v1/`
//! - [`log`]: its log file
//! - [`options`] and [`error`]: where everything is, and what can go wrong
//! - inside: `claim` and `socket` (one daemon at a time), `peer` (who may connect), `worktrees`, `conversations` and
//!   `itself` (the three services), `turn` (a message on its way), `status` (errors on the wire)

pub mod client;
pub mod control;
mod conversation_service;
mod daemon_service;
pub mod error;
mod instance_lock;
pub mod log;
pub mod options;
mod peer;
pub mod proto;
pub mod server;
mod shared;
mod socket;
mod status;
mod truncation;
mod turn;
mod wire;
mod worktree_service;

pub use client::DaemonClient;
pub use control::{DaemonStatus, status, stop};
pub use error::DaemonError;
pub use options::DaemonOptions;
pub use server::{Daemon, Shutdown, run};
