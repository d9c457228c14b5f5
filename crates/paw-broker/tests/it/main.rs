//! Integration tests of the broker, with real sockets, files and processes.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic, and may use the file system directly"
)]

mod client;
mod conflict;
mod crash;
mod hooks;
mod hostile;
mod http;
mod learnings;
mod log;
mod message;
mod replica;
mod server;
mod slow_tokens;
mod stream;
mod watch;
