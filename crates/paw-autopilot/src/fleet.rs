//! Several tasks at once: which of them can be done, in which order, each on a branch and in a worktree of its own.
//!
//! - [`members`]: the tasks that were named, each behind what it depends on, or why that cannot be
//! - [`schedule`]: who may begin now, and who never will
//! - [`plan`]: the branch of each, and how far it is already
//! - [`run`]: the processes that do them, begun and waited for; `child`: one of them; [`ending`]: how it ended
//! - [`place`]: the worktree of each
//! - [`radar`]: which tasks change the same files
//! - [`build_on`]: the branches of what a task depends on, merged where it begins; [`settle`]: conflicts in our own files

pub mod build_on;
mod child;
pub mod ending;
mod error;
pub mod members;
pub mod place;
pub mod plan;
pub mod radar;
pub mod run;
pub mod schedule;
pub mod settle;

pub use build_on::{BuiltOn, build_on};
pub use error::FleetError;
pub use members::{Member, members};
pub use plan::{FleetPlan, PlannedTask, Standing, find_unfinished, plan};
pub use schedule::{Left, Schedule};
