//! Runs the project's gates on a clean checkout of a branch's tip.
//!
//! - [`plan`]: which gates are configured, and whether the user has to approve them first
//! - [`GateChecks`]: the configured gates, approved, with what a checkout needs for them
//! - [`verify`]: runs them and returns what they prove; [`run_gates`]: runs them in the caller's checkout
//! - [`GateReport`]: the result and the message about it
//! - `checkout`: the checkout they run in; [`prepare`]: what it needs besides the files of its commit
//! - `outcome`: what the results of the gates mean. Pure
//! - `baseline`: compares failures with the main branch
//! - [`record`]: results on disk, by commit; `prune`: deletes old results and checkouts
//! - [`governance`]: the project's governance documents and their checklists

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
