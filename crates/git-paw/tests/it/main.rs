//! The binary, as people and scripts see it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod add_cli;
mod architecture;
mod cli;
mod completions;
mod daemon;
mod demo;
mod doctor;
mod hostile;
mod init;
mod list_clis;
mod messages;
mod paw;
mod remove_cli;
mod start;
mod trust;
mod worktree;
