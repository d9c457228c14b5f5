//! Tests a real daemon in a separate process through the generated client, with real git, processes and signals.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may panic and access files and processes directly"
)]

mod child;
mod conversation;
mod create;
mod health;
mod lifecycle;
mod setup;
mod stale;
mod world;
