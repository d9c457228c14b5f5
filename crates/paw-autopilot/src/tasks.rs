//! `.taskmaster/` as other programs write it, read without changing it and edited without touching what was not asked for.
//!
//! - [`project`]: where the files are; loading and editing them under their lock
//! - [`mod@file`]: `tasks.json` in both of its shapes; [`model`], [`id`], [`tag`]: what is in it
//! - [`edit`]: a status set, a task added
//! - [`problems`]: what is wrong with a list of tasks; [`next`]: what to do next; [`cascade`]: which status follows from which
//! - [`state`] and [`settings`]: `state.json` and `config.json`

pub mod cascade;
pub mod edit;
mod error;
pub mod file;
pub mod id;
mod lock;
pub mod model;
pub mod next;
pub mod problems;
pub mod project;
pub mod settings;
pub mod state;
pub mod tag;

pub use edit::NewTask;
pub use error::TaskError;
pub use file::TaskFile;
pub use id::{ItemId, SubtaskId, TaskId};
pub use model::{Priority, Subtask, Task, TaskStatus};
pub use problems::{ProblemKind, TaskProblem};
pub use project::TaskProject;
pub use settings::ProjectSettings;
pub use state::TaskmasterState;
pub use tag::TagName;
