//! Proof that a branch is fit to be merged: the project's own checks, run on a clean checkout of its tip.
//!
//! - [`plan`]: which checks are configured, and whether somebody must approve them first
//! - [`Checks`]: the configured ones, approved, with what a checkout needs for them
//! - [`verify`]: runs them and says what they prove; [`check`]: the same in a checkout of somebody else's
//! - `place`: the checkout they run in; [`Ready`]: what it needs beside the files of its commit
//! - `outcome`: what single checks and all of them together mean, held against the main branch; pure
//! - `baseline`, `compare`: failures held against the main branch; the second is pure
//! - [`record`]: results on disk, bound to the commit; `prune`: which of them go, with which checkouts
//! - [`message`]: what is published
//! - [`governance`]: the documents that work is held against, with their checklists

mod baseline;
mod checks;
mod compare;
pub mod governance;
pub mod message;
mod outcome;
mod place;
mod plan;
mod prune;
mod ready;
pub mod record;
mod run;
mod stop;
mod verify;

pub use checks::Checks;
pub use outcome::{Finding, Proof, Status};
pub use plan::{Gate, GatePlan, Step, plan};
pub use ready::Ready;
pub use run::check;
pub use stop::Stop;
pub use verify::{GateError, Order, Report, verify};
