//! The files of a run, in its own directory under `.taskmaster/reports/runs/`.
//!
//! - [`run_dir`]: the directory; [`id`]: its name
//! - [`manifest`], [`results`] and [`log`]: its files
//! - [`pull_request`]: title and body of the pull request

pub mod id;
pub mod log;
pub mod manifest;
pub mod pull_request;
pub mod results;
pub mod run_dir;

pub use id::RunId;
pub use manifest::{RunManifest, RunStatus};
pub use run_dir::RunDir;
