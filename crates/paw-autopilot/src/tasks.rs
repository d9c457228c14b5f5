//! `.taskmaster/`, shared with other programs: read tolerantly, and edited without changing anything else.
//!
//! - [`project`]: finds, loads and edits the files under their lock
//! - [`mod@file`]: `tasks.json` in both of its formats; [`model`], [`id`], [`tag`]: its content
//! - [`edit`]: sets a status, adds a task
//! - [`problems`]: problems in a task list; [`next`]: the next task; [`mod@cascade`]: statuses that follow from
//!   others
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
