//! The dashboard, looked at.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod attached;
mod hostile;
mod keys;
mod looks;
mod navigator;
mod picture;
mod sample;
mod tmux;
mod waking;
