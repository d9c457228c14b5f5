//! Several tasks in parallel, each on its own branch and in its own worktree.
//!
//! - [`members`]: the requested tasks, ordered by their dependencies
//! - [`schedule`]: which tasks can start, and which are blocked
//! - [`plan`]: the branch and progress of each task
//! - [`run`]: starts the child processes and waits for them; `child`: one process; [`outcome`]: its result
//! - [`worktrees`]: the worktree of each task
//! - [`conflicts`]: tasks that change the same files
//! - [`mod@merge_dependencies`]: merges the branches a task depends on; [`mod@merge_statuses`]: resolves conflicts in
//!   `tasks.json`

mod child;
pub mod conflicts;
mod error;
pub mod members;
pub mod merge_dependencies;
pub mod merge_statuses;
pub mod outcome;
pub mod plan;
pub mod run;
pub mod schedule;
pub mod worktrees;

pub use error::FleetError;
pub use members::{FleetMember, ordered_members};
pub use merge_dependencies::{DependencyMerge, merge_dependencies};
pub use plan::{FleetPlan, PlannedTask, TaskProgress, find_unfinished, plan};
pub use schedule::{Schedule, SkippedTask};
