//! Worktrees made, found, lost and removed by real git.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot set itself up has to stop, and what it writes need not survive a crash"
)]

mod child;
mod copy;
mod crash;
mod create;
mod hostile;
mod log;
mod many;
mod remove;
mod rescue;
mod session;
mod setup;
mod stale;
mod world;
