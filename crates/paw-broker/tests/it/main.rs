//! The broker, tried from outside: real sockets, real files, real deaths.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
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
mod server;
mod slow_tokens;
mod stream;
mod watch;
