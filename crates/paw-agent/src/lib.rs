//! AI coding CLIs: which ones git paw knows, which are installed, and how to talk to them.
//!
//! - [`cli`]: one descriptor per known CLI
//! - [`deliver`]: paste a prompt into a CLI and verify that it was accepted
//! - [`detect`]: find CLIs on PATH and in the configuration
//! - [`headless`]: run one turn of a CLI without a screen and read its output
//! - [`hooks`]: read what CLIs report through hooks and event streams
//! - [`launch`]: the shell line that starts a CLI in a pane
//! - [`resume`]: the arguments that resume a CLI's conversation
//! - [`screen`]: read the screen of an interactive CLI
//! - [`state`]: infer what an agent is doing

pub mod cli;
pub mod deliver;
pub mod detect;
pub mod headless;
pub mod hooks;
pub mod launch;
pub mod resume;
pub mod screen;
pub mod state;

pub use detect::{CliInfo, CliSource, detect_clis};
