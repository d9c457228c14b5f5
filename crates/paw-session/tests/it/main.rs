//! Sessions on real repositories and a real tmux server.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests panic on unexpected results and use the file system directly"
)]

mod briefing;
mod geometry;
mod launch;
mod logs;
mod receipts;
mod recover;
mod specs;
mod world;
