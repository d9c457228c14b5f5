//! Runs the project's gates on a clean checkout of a branch's tip.
//!
//! - [`plan`]: which gates are configured, and whether the user has to approve them first
//! - [`GateChecks`]: the configured gates, approved, with what a checkout needs for them
//! - [`verify`]: runs them and returns what they prove
//! - [`GateReport`]: the result and the message about it
//! - [`GateCheckouts`]: the checkouts they run in; `prepare`: what one needs besides the files of its commit
//! - `run`: runs them; `confine`: what they may do; `repository_watch`: notices what they did to the repository
//! - `outcome`: what the results of the gates mean. Pure
//! - `baseline`: compares failures with the main branch
//! - [`record`]: results on disk, by commit; `prune`: deletes old results and checkouts

mod baseline;
mod checkout;
mod checks;
mod confine;
mod outcome;
mod plan;
mod prepare;
mod prune;
pub mod record;
mod report;
mod repository_watch;
mod run;
mod stop;
mod suggest;
mod verify;

pub use checkout::GateCheckouts;
pub(crate) use checkout::{GateCheckout, MergeTrial, checkouts_dir};
pub use checks::GateChecks;
pub use outcome::{GateFinding, GateProof, GateStatus};
pub use plan::{Gate, GatePlan, GateStep, plan};
pub use report::GateReport;
pub(crate) use repository_watch::MERGE_REFLOG;
pub(crate) use run::GateRunner;
pub use run::TestedCommit;
pub use stop::StopRequest;
pub use suggest::find_test_command;
pub use verify::{GateError, GateRequest, verify};
