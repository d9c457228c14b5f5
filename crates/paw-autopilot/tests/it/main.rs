//! Tasks and runs against real files, real git and real test runners.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod artifacts;
mod changes;
mod cycle;
mod runners;
mod tasks;
mod work;
