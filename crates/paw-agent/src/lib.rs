//! AI coding CLIs: which ones there are, and which of them this machine has.
//!
//! - [`catalog`]: the CLIs we know by name
//! - [`detect`]: what is on PATH and what the user has added

pub mod catalog;
pub mod detect;

pub use detect::{CliInfo, CliSource, detect_clis};
