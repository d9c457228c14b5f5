//! Runs a task test-first and proves each step with the project's tests.
//!
//! - [`tasks`]: `.taskmaster/`: tasks, tags, state and settings, shared with other programs
//! - [`runners`]: test runner detection, command lines and reports
//! - [`coverage`]: coverage reports, thresholds, changed lines
//! - [`evidence`]: the rules that decide when tests prove a subtask
//! - [`engine`]: the state machine of a run, from preflight to pull request
//! - [`artifacts`]: the files a run leaves behind
//! - [`branch`], [`scope`] and [`message`]: branch names, commit scopes and commit messages
//! - [`work`]: the steps of a run on a real repository
//! - [`drive`]: a whole run with an [`executor`] and its [`prompt`]
//! - [`fleet`]: several tasks in parallel
//! - [`pane`]: an executor in a tmux window of the session
//! - [`expand`]: splits a task into subtasks
//! - [`trust`]: repository settings that need the user's approval
//! - [`json_text`]: edits JSON files as text

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
