//! Proof that a branch is fit to be merged: the project's own checks, run on a clean checkout of its tip.
//!
//! - [`plan`]: which checks are configured, and whether the user must approve them first
//! - [`GateChecks`]: the configured ones, approved, with what a checkout needs for them
//! - [`verify`]: runs them and says what they prove; [`run_gates`]: the same in a checkout of the caller
//! - [`GateReport`]: what they have shown, and the message about it
//! - `checkout`: the checkout they run in; [`prepare`]: what it needs besides the files of its commit
//! - `outcome`: what single checks and all of them together mean; pure
//! - `baseline`: failures compared with those of the main branch
//! - [`record`]: results on disk, bound to the commit; `prune`: which of them go, with which checkouts
//! - [`governance`]: the documents that work is held against, with their checklists

mod baseline;
mod checkout;
mod checks;
pub mod governance;
mod outcome;
mod plan;
mod prune;
pub mod record;
mod report;
mod run;
mod stop;
mod verify;

pub use checkout::prepare;
pub use checks::GateChecks;
pub use outcome::{GateFinding, GateProof, GateStatus};
pub use plan::{Gate, GatePlan, GateStep, plan};
pub use report::GateReport;
pub use run::run_gates;
pub use stop::StopRequest;
pub use verify::{GateError, GateRequest, verify};
