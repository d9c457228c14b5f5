//! The generated messages and services of the package `paw.v1`.
#![allow(clippy::pedantic, missing_debug_implementations, unreachable_pub, reason = "generated code")]

tonic::include_proto!("paw.v1");

/// The descriptors, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("paw.v1");
