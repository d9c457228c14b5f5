//! What a run leaves behind: a directory of its own under `.taskmaster/reports/runs/`, and what views look at.
//!
//! - [`run_dir`]: the directory, written piece by piece; [`id`]: its name
//! - [`manifest`], [`results`] and [`log`]: its files
//! - [`pull_request`]: the title and the body of a pull request

pub mod id;
pub mod log;
pub mod manifest;
pub mod pull_request;
pub mod results;
pub mod run_dir;

pub use id::RunId;
pub use manifest::{RunManifest, RunStatus};
pub use run_dir::RunDir;
