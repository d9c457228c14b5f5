//! Signed records of gate runs.
//!
//! A run of all gates leaves a record that says what ran on which commit, where and with which result. It is signed with
//! a key in our data directory that no pane and no run receives. A record with a bad signature, of another key or of
//! another repository counts as nothing.
//!
//! - [`ProofRecord`]: what was proven; [`SignedProof`]: with its signature, as stored and exported
//! - [`ProofConditions`]: when a record can stand in for a run
//! - [`ProofStore`]: the records of a repository
//! - [`verify()`]: verifies a branch and signs the result, or reuses a signed one
//! - [`add_tips`]: which agents' branches are proven, for views
//! - [`check()`]: what an exported record is worth in this repository

mod check;
mod error;
mod record;
mod store;
mod tips;
mod verify;

pub use check::{ProofCheck, check};
pub use error::ProofError;
pub use record::{BuildOutput, ProofConditions, ProofRecord, ProvenGate, SignedProof};
pub use store::ProofStore;
pub use tips::{add_tips, add_uncompared_tips, is_about_tips, load_tips};
pub(crate) use verify::conditions;
pub use verify::{ProvenReport, Reuse, verify};
