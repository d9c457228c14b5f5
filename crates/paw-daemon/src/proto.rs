//! The messages and services of the package `paw.v1`, as generated.
#![allow(
    clippy::pedantic,
    missing_debug_implementations,
    unreachable_pub,
    reason = "nobody reads generated code, and its generator has habits of its own"
)]

tonic::include_proto!("paw.v1");

/// The same as descriptors, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("paw.v1");
