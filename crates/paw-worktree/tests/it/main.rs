//! Integration tests of worktrees, with real git.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and their files need not survive a crash"
)]

mod child;
mod copy;
mod crash;
mod create;
mod hostile;
mod log;
mod many;
mod moved;
mod power_cut;
mod remove;
mod rescue;
mod run_sandbox;
mod session;
mod setup;
mod stale;
mod world;
