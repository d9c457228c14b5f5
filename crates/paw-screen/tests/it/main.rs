//! Tests of the dashboard and the navigator: drawing, keys, event loops, sources.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may use the file system directly"
)]

mod actions;
mod event_loop;
mod hostile;
mod keys;
mod navigator;
mod rendering;
mod sample;
mod screens;
mod sources;
mod test_dashboard;
mod tmux;
