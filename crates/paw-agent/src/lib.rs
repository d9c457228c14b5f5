//! AI coding CLIs: which ones there are, and which of them this machine has.
//!
//! - [`catalog`]: the CLIs we know by name
//! - [`detect`]: what is on PATH and what the user has added
//! - [`headless`]: one turn of a CLI without a screen, and what it says

pub mod catalog;
pub mod detect;
pub mod headless;

pub use detect::{CliInfo, CliSource, detect_clis};
