//! Several tasks at once: which of them can be done, in which order, each on a branch and in a worktree of its own.
//!
//! - [`members`]: the tasks that were named, each behind what it depends on, or why that cannot be
//! - [`schedule`]: who may begin now, and who never will
//! - [`plan`]: the branch of each, and how far it is already
//! - [`build_on`]: the branches of what a task depends on, merged where it begins; [`settle`]: conflicts in our own files

pub mod build_on;
mod error;
pub mod members;
pub mod plan;
pub mod schedule;
pub mod settle;

pub use build_on::{BuiltOn, build_on};
pub use error::FleetError;
pub use members::{Member, members};
pub use plan::{FleetPlan, PlannedTask, Standing, find_unfinished, plan};
pub use schedule::{Left, Schedule};
