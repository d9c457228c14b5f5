//! The words every other crate shares: names with their checks, the configuration, errors and exit codes.
//!
//! Nothing here reads a file, starts a program or asks for the time. Whatever does sits in `paw-host`.
//!
//! - [`name`]: [`BranchName`], [`AgentId`], [`SessionName`], [`ProjectName`]
//! - [`config`]: the schema, its defaults, merging, the generated file, edits that keep comments
//! - [`paths`]: every file and directory we keep
//! - [`receipt`]: what is remembered of a session
//! - [`error`]: [`PawError`], [`Diagnostic`] and the exit codes

pub mod config;
pub mod error;
pub mod name;
pub mod paths;
pub mod receipt;
pub mod text;

pub use error::{Diagnostic, ErrorCode, ErrorReport, PawError};
pub use name::{AgentId, BranchName, NameError, ProjectName, SessionName};
pub use receipt::{AgentReceipt, Receipt, ReceiptError, SessionMode, SessionStatus, SupervisorReceipt};
