//! Integration tests of approvals, gates and merges.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the unexpected has to stop, and may touch files as anybody would"
)]

mod approvals;
mod gates;
mod hostile;
mod merge;
