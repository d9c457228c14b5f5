//! Replication over a real `nats-server`. Tests are skipped, and say so, where it is not installed.
#![allow(
    clippy::cast_possible_truncation,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::needless_range_loop,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may panic, report what they skip, and use the file system directly"
)]

mod chaos;
mod failing_log;
mod nats_server;
mod node;
mod own_server;
mod replication;
