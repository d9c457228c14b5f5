//! Integration tests of approvals, gates and merges.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may panic and access files directly"
)]

mod approvals;
mod corpus;
mod gates;
mod merge;
mod shell_truth;
