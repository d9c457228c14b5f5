//! Recorded screens and hooks of real CLIs, and deliveries on a real tmux server.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod deliver;
mod descriptor;
mod hooks;
mod plugin;
mod screens;
mod spoofs;
