//! What all crates share: validated names, the configuration, errors and exit codes.
//!
//! Nothing here reads a file, starts a program or reads the clock; that is the job of `paw-host`.
//!
//! - [`name`]: [`BranchName`], [`AgentId`], [`SessionName`], [`ProjectName`], [`HostName`]
//! - [`config`]: the schema, its defaults, merging, the generated file, edits that keep comments
//! - [`paths`]: the path of every file and directory that git paw keeps
//! - [`receipt`]: the file that describes a session
//! - [`error`]: [`PawError`], [`Diagnostic`] and the exit codes

pub mod config;
pub mod error;
pub mod name;
pub mod paths;
pub mod receipt;
pub mod text;

pub use error::{Diagnostic, ErrorCode, ErrorReport, PawError};
pub use name::{AgentId, BranchName, HostName, NameError, ProjectName, SessionName};
pub use receipt::{AgentReceipt, Receipt, ReceiptError, SessionMode, SessionStatus, SupervisorReceipt};
