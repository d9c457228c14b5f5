//! AI coding CLIs: which ones there are, which of them this machine has, and how one talks with them.
//!
//! - [`cli`]: the CLIs we know, one descriptor each
//! - [`deliver`]: bringing a prompt into a CLI, and seeing that it has arrived
//! - [`detect`]: what is on PATH and what the user has added
//! - [`headless`]: one turn of a CLI without a screen, and what it says
//! - [`hooks`]: what CLIs report about themselves, through hooks and event streams
//! - [`launch`]: the shell line that starts a CLI in a pane
//! - [`resume`]: how a CLI takes up one of its own conversations
//! - [`screen`]: what the screen of a CLI shows
//! - [`state`]: what an agent is doing

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
