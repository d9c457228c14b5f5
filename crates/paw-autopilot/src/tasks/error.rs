//! Why tasks could not be read or changed.

use std::path::PathBuf;

use paw_core::PawError;
use paw_host::files::FileError;

use super::id::ItemId;
use super::tag::TagName;
use crate::json_text::JsonTextError;

/// Nothing of ours writes half a file, so somebody's hand or another program was at it.
const MEND_IT: &str = "\nhint: mend it in an editor; git log -p shows what was committed of it";

/// A conflict says itself what to do.
fn mend(problem: &JsonTextError) -> &'static str {
    match problem {
        JsonTextError::MergeMarkers { .. } => "",
        JsonTextError::Syntax(_) => MEND_IT,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("there are no tasks here: no .taskmaster/tasks/tasks.json in {} or above it (git paw tasks add TITLE makes one)", .0.display())]
    NoProject(PathBuf),
    #[error("cannot read {}: {problem}{}", path.display(), mend(problem))]
    Unreadable { path: PathBuf, problem: JsonTextError },
    #[error("cannot read {}: {problem}{MEND_IT}", path.display())]
    Shape { path: PathBuf, problem: String },
    #[error("'{0}' is no task id (42 is a task, 42.3 its third subtask)")]
    BadId(String),
    #[error("'{0}' is no tag name: only letters, digits, '-' and '_' are allowed")]
    BadTag(String),
    #[error("'{0}' is no status (one of: pending, in-progress, done, review, blocked, deferred, cancelled)")]
    BadStatus(String),
    #[error("'{0}' is no priority (one of: critical, high, medium, low)")]
    BadPriority(String),
    #[error("there is no tag '{tag}' in tasks.json (tags: {})", known.join(", "))]
    NoSuchTag { tag: TagName, known: Vec<String> },
    #[error("there is no {} in tag '{tag}' (git paw tasks list shows what there is)", item.noun())]
    NoSuchItem { item: ItemId, tag: TagName },
    #[error("{} is in tag '{tag}' more than once (give one of them another id first)", item.noun())]
    Ambiguous { item: ItemId, tag: TagName },
    #[error("a subtask has no subtasks of its own: {0} (add to its task instead)")]
    TooDeep(ItemId),
    #[error("{} is being changed by another program: {} is still there (try again; remove it if nothing runs)", .0.with_extension("").display(), .0.display())]
    Locked(PathBuf),
    #[error("{} was taken over by another program while it was being changed; nothing was written (try again)", .0.display())]
    LockLost(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<TaskError> for PawError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::File(error) => error.into(),
            other => Self::TaskError(other.to_string()),
        }
    }
}
