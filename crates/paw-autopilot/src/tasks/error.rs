//! Errors when reading or changing tasks.

use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::FileError;

use super::id::ItemId;
use super::tag::TagName;
use crate::json_text::JsonTextError;

/// Git paw writes atomically, so another program or the user broke the file.
const FIX_IT: &str = "fix it in an editor; git log -p shows what was committed of it";

#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("there are no tasks here: no .taskmaster/tasks/tasks.json in {} or above it", .0.display())]
    NoProject(PathBuf),
    #[error("cannot read {}: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: JsonTextError },
    #[error("cannot read {}: {problem}", path.display())]
    Shape { path: PathBuf, problem: String },
    #[error("'{0}' is not a task id")]
    BadId(String),
    #[error("'{0}' is not a tag name: only letters, digits, '-' and '_' are allowed")]
    BadTag(String),
    #[error("'{0}' is not a status")]
    BadStatus(String),
    #[error("'{0}' is not a priority")]
    BadPriority(String),
    #[error("there is no tag '{tag}' in tasks.json")]
    NoSuchTag { tag: TagName, known: Vec<String> },
    #[error("there is no {} in tag '{tag}'", item.noun())]
    NoSuchItem { item: ItemId, tag: TagName },
    #[error("{} is in tag '{tag}' more than once", item.noun())]
    Ambiguous { item: ItemId, tag: TagName },
    #[error("a subtask has no subtasks of its own: {0}")]
    TooDeep(ItemId),
    #[error("{} is being changed by another program: {} exists", .0.with_extension("").display(), .0.display())]
    Locked(PathBuf),
    #[error("{} was taken over by another program while it was being changed; nothing was written", .0.display())]
    LockLost(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for TaskError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NoProject(_) => report.hint("git paw tasks add TITLE creates one"),
            Self::Unreadable { problem: JsonTextError::MergeMarkers { .. }, .. } => {
                report.hint("resolve the conflict first")
            }
            Self::Unreadable { problem: JsonTextError::Syntax(_), .. } | Self::Shape { .. } => {
                report.hint(FIX_IT)
            }
            Self::BadId(_) => report.hint("42 is a task, 42.3 its third subtask"),
            Self::BadTag(_) => report,
            Self::BadStatus(_) => {
                report.hint("one of: pending, in-progress, done, review, blocked, deferred, cancelled")
            }
            Self::BadPriority(_) => report.hint("one of: critical, high, medium, low"),
            Self::NoSuchTag { known, .. } => report.hint(format!("tags: {}", known.join(", "))),
            Self::NoSuchItem { .. } => report.hint("git paw tasks list shows what there is"),
            Self::Ambiguous { .. } => report.hint("change one of the ids first"),
            Self::TooDeep(_) => report.hint("add to its task instead"),
            Self::Locked(_) => report.hint("try again, or remove it if no program is running"),
            Self::LockLost(_) => report.hint("try again"),
            Self::File(error) => error.report(),
        }
    }
}
