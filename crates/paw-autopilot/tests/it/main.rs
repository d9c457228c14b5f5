//! Tasks and runs against real files, real git and real test runners.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may panic and access files directly"
)]

mod artifacts;
mod changes;
mod cycle;
mod runners;
mod tasks;
mod work;
