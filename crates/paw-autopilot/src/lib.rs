//! A task done test-first, with proof: what there is to do, how it is tested, and what may happen next.
//!
//! - [`tasks`]: `.taskmaster/`: tasks, tags, state and settings, read and changed beside other programs
//! - [`runners`]: which test runner a project has, how it is called, what its reports say
//! - [`coverage`]: coverage reports, thresholds, changed lines
//! - [`evidence`]: when a failing test is a proof, and when passing ones are
//! - [`engine`]: the state machine from preflight to pull request
//! - [`artifacts`]: what a run leaves behind for people and views
//! - [`branch`], [`scope`] and [`message`]: the names of branches, the scopes and messages of commits
//! - [`work`]: a run step by step, on a real repository with its real tests
//! - [`drive`]: a run from its beginning to its end, with an [`executor`] who is told by a [`prompt`]
//! - [`fleet`]: several tasks at once
//! - [`pane`]: an executor that works in a window of the session
//! - [`expand`]: a task divided into subtasks
//! - [`trust`]: what a repository's file would have autopilot run
//! - [`json_text`]: JSON files changed as text

pub mod artifacts;
pub mod branch;
pub mod coverage;
pub mod drive;
pub mod engine;
pub mod evidence;
pub mod executor;
pub mod expand;
pub mod fleet;
pub mod json_text;
pub mod message;
pub mod pane;
pub mod prompt;
pub mod runners;
pub mod scope;
pub mod tasks;
mod time_limit;
pub mod trust;
pub mod work;
