//! Sessions on real repositories and a real tmux server.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod briefing;
mod geometry;
mod launch;
mod logs;
mod receipts;
mod recover;
mod specs;
mod world;
