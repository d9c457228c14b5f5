//! A real daemon in a process of its own, asked by the generated client; real git, real processes, real signals.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files and processes as anybody would"
)]

mod child;
mod conversation;
mod create;
mod health;
mod lifecycle;
mod setup;
mod stale;
mod world;
