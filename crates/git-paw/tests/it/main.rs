//! The binary, as people and scripts see it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod add_cli;
mod approvals;
mod architecture;
mod cli;
mod completions;
mod daemon;
mod demo;
mod doctor;
mod explain;
mod hostile;
mod init;
mod lifecycle;
mod list_clis;
mod merge;
mod messages;
mod paw;
mod prompt;
mod remove_cli;
mod replay;
mod skills;
mod start;
mod tasks;
mod tower;
mod trust;
mod verify;
mod worktree;
