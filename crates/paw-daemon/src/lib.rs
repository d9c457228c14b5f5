//! The daemon: a gRPC service for worktrees and conversations, on a Unix socket that only its user can access.
//! It contains no product logic; `paw-worktree` and `paw-agent` do the work and do not need it.
//!
//! - [`server`]: [`Daemon`], from start to shutdown; [`run`] for a dedicated process
//! - [`control`]: query and stop a running daemon
//! - [`client`]: a connection to the daemon
//! - [`proto`]: the messages, generated from `proto/paw/v1/`
//! - [`log`]: the log file
//! - [`options`] and [`error`]
//! - internal: `instance_lock` and `socket` (one daemon at a time), `peer` (who may connect), `worktree_service`,
//!   `conversation_service` and `daemon_service` (the three services), `turn` (one message and its answer), `status`
//!   (errors as gRPC statuses), `truncation` (size limits)

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
