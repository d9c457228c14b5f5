//! Replication over a real `nats-server`. Tests are skipped, and say so, where it is not installed.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and may use the file system directly"
)]

mod chaos;
mod nats_server;
mod node;
mod replication;
