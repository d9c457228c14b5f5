//! Tests with the real git, tmux and files.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic and access files directly"
)]

mod checkout;
mod clean_checkout;
mod config;
mod git;
mod planted_programs;
mod sandbox;
mod tmux;
