//! Integration tests of approvals, gates and merges.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests may panic, access files directly, and print rates"
)]

mod approvals;
mod corpus;
mod gates;
mod merge;
mod printed;
mod proof;
mod shell_truth;
