//! What can go wrong with a worktree: a code that programs act on, a message for people, and details as JSON.

use std::fmt;
use std::path::PathBuf;

use paw_core::text::{self, first_paths};
use paw_core::{BranchName, NameError, PawError};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::sqlite::SqliteError;
use serde_json::{Value, json};

use crate::copy::CopyError;
use crate::id::{ConversationId, WorktreeId};
use crate::rescue::RescueError;

/// The kinds of failure, named and numbered as gRPC has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    ResourceExhausted,
    FailedPrecondition,
    Internal,
}

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Internal => "INTERNAL",
        }
    }

    /// The number of the gRPC status code.
    pub fn number(self) -> i32 {
        match self {
            Self::InvalidArgument => 3,
            Self::NotFound => 5,
            Self::AlreadyExists => 6,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Internal => 13,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something a worktree operation could not do.
///
/// [`WorktreeError::message`] is what clients are told, [`WorktreeError::details`] what they can act on. `Display` adds
/// what a person at a terminal needs besides the message.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error(transparent)]
    InvalidBranch(#[from] NameError),
    #[error("Worktree name cannot contain path separators")]
    NameWithSeparator,
    #[error("Invalid worktree name: '{name}' {problem}")]
    InvalidName { name: String, problem: &'static str },
    #[error("Invalid worktree path: '{}' {problem}", path.display())]
    InvalidPath { path: PathBuf, problem: &'static str },
    #[error("Repository path is required")]
    NoRepositoryPath,
    #[error("Repository path '{}' does not exist", .0.display())]
    RepositoryMissing(PathBuf),
    #[error("'{}' is not a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("Repository '{}' has no commit yet\nhint: commit something first", .0.display())]
    NoCommit(PathBuf),
    #[error("Branch '{0}' does not exist\nhint: git paw worktree create --new {0} makes it")]
    BranchMissing(BranchName),
    #[error("Branch '{0}' already exists")]
    BranchExists(BranchName),
    #[error("Branch '{wanted}' cannot exist beside branch '{existing}'")]
    BranchInTheWay { wanted: BranchName, existing: String },
    #[error("Branch '{branch}' is already checked out at '{}'", path.display())]
    BranchCheckedOut { branch: BranchName, path: PathBuf },
    #[error("Path '{}' already exists", .0.display())]
    PathExists(PathBuf),
    #[error(
        "Path '{}' belongs to a locked worktree that is not there now{}\n\
         hint: bring its disk back, choose another --path, or run: git worktree unlock {}",
        path.display(), because(.reason), path.display()
    )]
    PlaceLocked { path: PathBuf, reason: String },
    #[error(
        "Insufficient disk space to create worktree ({required_bytes} bytes needed, {available_bytes} free)"
    )]
    DiskFull { required_bytes: u64, available_bytes: u64 },
    #[error("Git worktree creation failed: {}", .stderr.trim())]
    CreationFailed { stderr: String },
    #[error("Git worktree removal failed: {}", .stderr.trim())]
    RemovalFailed { stderr: String },
    #[error("rebase onto main failed: {}", .stderr.trim())]
    RebaseFailed { stderr: String },
    #[error("Worktree '{0}' does not exist\nhint: git paw worktree list shows all of them")]
    Unknown(String),
    #[error(
        "Worktree '{name}' does not exist in this repository\n\
         hint: another one has a worktree of that name; its id is {}",
        joined(.ids)
    )]
    OnlyElsewhere { name: String, ids: Vec<WorktreeId> },
    #[error("Worktree name '{name}' is ambiguous: {}\nhint: use one of these ids", joined(.ids))]
    Ambiguous { name: String, ids: Vec<WorktreeId> },
    #[error("Worktree directory no longer exists")]
    DirectoryMissing { path: PathBuf },
    #[error("Worktree is broken: {problem}")]
    Broken { path: PathBuf, problem: String },
    #[error("Worktree is being created or removed by another process")]
    Busy { id: WorktreeId },
    #[error("Worktree has uncommitted changes: {}\nhint: commit them, or use --force (they are kept under a rescue ref)", first_paths(.files))]
    Dirty { files: Vec<PathBuf> },
    #[error(
        "Other worktrees lie in the worktree: {}\nhint: remove these first (git worktree list shows them)",
        first_paths(.paths)
    )]
    HoldsWorktrees { paths: Vec<PathBuf> },
    #[error("Worktree is locked{}\nhint: git worktree unlock, or use --force", because(.reason))]
    Locked { reason: String },
    #[error("Worktree has an active conversation: {}\nhint: close it, or use --force", .ids.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(", "))]
    InConversation { ids: Vec<ConversationId> },
    #[error("Processes live in the worktree: {}\nhint: end them, or use --force", text::line(&.processes.join(", ")))]
    Inhabited { processes: Vec<String> },
    #[error("'{}' is not a linked worktree of this repository", .0.display())]
    NotAWorktree(PathBuf),
    #[error("'{}' is registered already, as {id}", path.display())]
    Registered { id: WorktreeId, path: PathBuf },
    #[error("Conversation '{0}' does not exist")]
    UnknownConversation(String),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Rescue(#[from] RescueError),
    #[error("cannot use the worktree registry: {0}")]
    Registry(#[from] rusqlite::Error),
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorktreeError {
    /// No wildcard: a new variant has to choose.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidBranch(_)
            | Self::NameWithSeparator
            | Self::InvalidName { .. }
            | Self::InvalidPath { .. }
            | Self::NoRepositoryPath
            | Self::NotARepository(_)
            | Self::NotAWorktree(_)
            | Self::Ambiguous { .. } => ErrorCode::InvalidArgument,
            Self::RepositoryMissing(_)
            | Self::BranchMissing(_)
            | Self::Unknown(_)
            | Self::OnlyElsewhere { .. }
            | Self::UnknownConversation(_) => ErrorCode::NotFound,
            Self::BranchExists(_)
            | Self::BranchInTheWay { .. }
            | Self::BranchCheckedOut { .. }
            | Self::PathExists(_)
            | Self::PlaceLocked { .. }
            | Self::Registered { .. } => ErrorCode::AlreadyExists,
            Self::DiskFull { .. } => ErrorCode::ResourceExhausted,
            Self::NoCommit(_)
            | Self::DirectoryMissing { .. }
            | Self::Broken { .. }
            | Self::Busy { .. }
            | Self::Dirty { .. }
            | Self::HoldsWorktrees { .. }
            | Self::Locked { .. }
            | Self::InConversation { .. }
            | Self::Inhabited { .. } => ErrorCode::FailedPrecondition,
            Self::CreationFailed { .. }
            | Self::RemovalFailed { .. }
            | Self::RebaseFailed { .. }
            | Self::Copy(_)
            | Self::Rescue(_)
            | Self::Registry(_)
            | Self::Sqlite(_)
            | Self::File(_)
            | Self::Git(_) => ErrorCode::Internal,
        }
    }

    /// What clients are told: one sentence, without hints and without what is in the details.
    pub fn message(&self) -> String {
        match self {
            Self::DiskFull { .. } => "Insufficient disk space to create worktree".to_owned(),
            Self::CreationFailed { .. } => "Git worktree creation failed".to_owned(),
            Self::RemovalFailed { .. } => "Git worktree removal failed".to_owned(),
            Self::Dirty { .. } => "Worktree has uncommitted changes".to_owned(),
            Self::HoldsWorktrees { .. } => "Other worktrees lie in the worktree".to_owned(),
            Self::InConversation { .. } => "Worktree has an active conversation".to_owned(),
            Self::Inhabited { .. } => "Processes live in the worktree".to_owned(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// What programs can act on. An empty object where the message says everything.
    pub fn details(&self) -> Value {
        let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
        match self {
            Self::DiskFull { required_bytes, available_bytes } => {
                json!({ "required_bytes": required_bytes, "available_bytes": available_bytes })
            }
            Self::CreationFailed { stderr }
            | Self::RemovalFailed { stderr }
            | Self::RebaseFailed { stderr } => {
                json!({ "stderr": stderr.trim() })
            }
            Self::BranchCheckedOut { branch, path } => json!({ "branch": branch, "path": shown(path) }),
            Self::PathExists(path)
            | Self::InvalidPath { path, .. }
            | Self::DirectoryMissing { path }
            | Self::Broken { path, .. }
            | Self::RepositoryMissing(path)
            | Self::NotARepository(path)
            | Self::NotAWorktree(path)
            | Self::NoCommit(path) => json!({ "path": shown(path) }),
            Self::Registered { id, path } => json!({ "id": id, "path": shown(path) }),
            Self::Ambiguous { ids, .. } | Self::OnlyElsewhere { ids, .. } => json!({ "ids": ids }),
            Self::Busy { id } => json!({ "id": id }),
            Self::Dirty { files } => json!({ "files": files.iter().map(shown).collect::<Vec<_>>() }),
            Self::HoldsWorktrees { paths } => {
                json!({ "worktrees": paths.iter().map(shown).collect::<Vec<_>>() })
            }
            Self::PlaceLocked { path, reason } => json!({ "path": shown(path), "reason": reason }),
            Self::Locked { reason } => json!({ "reason": reason }),
            Self::InConversation { ids } => json!({ "conversations": ids }),
            Self::Inhabited { processes } => json!({ "processes": processes }),
            Self::InvalidBranch(_)
            | Self::NameWithSeparator
            | Self::InvalidName { .. }
            | Self::NoRepositoryPath
            | Self::BranchMissing(_)
            | Self::BranchExists(_)
            | Self::BranchInTheWay { .. }
            | Self::Unknown(_)
            | Self::UnknownConversation(_)
            | Self::Copy(_)
            | Self::Rescue(_)
            | Self::Registry(_)
            | Self::Sqlite(_)
            | Self::File(_)
            | Self::Git(_) => json!({}),
        }
    }

    /// The document that `--json` prints.
    pub fn to_json(&self) -> Value {
        json!({ "error": { "code": self.code().as_str(), "message": self.message(), "details": self.details() } })
    }
}

impl From<WorktreeError> for PawError {
    fn from(error: WorktreeError) -> Self {
        match error {
            WorktreeError::NotARepository(_) => Self::NotAGitRepo,
            WorktreeError::Git(error) => error.into(),
            other => Self::WorktreeError(other.to_string()),
        }
    }
}

fn joined(ids: &[WorktreeId]) -> String {
    ids.iter().map(WorktreeId::as_str).collect::<Vec<_>>().join(", ")
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", text::line(reason)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_and_hints_stay_out_of_the_message() {
        let full = WorktreeError::DiskFull { required_bytes: 524_288_000, available_bytes: 52_428_800 };
        insta::assert_snapshot!(full.to_json(), @r#"{"error":{"code":"RESOURCE_EXHAUSTED","message":"Insufficient disk space to create worktree","details":{"required_bytes":524288000,"available_bytes":52428800}}}"#);
        let failed =
            WorktreeError::CreationFailed { stderr: "fatal: unable to checkout working tree\n".into() };
        insta::assert_snapshot!(failed.to_json(), @r#"{"error":{"code":"INTERNAL","message":"Git worktree creation failed","details":{"stderr":"fatal: unable to checkout working tree"}}}"#);
        assert_eq!(
            failed.to_string(),
            "Git worktree creation failed: fatal: unable to checkout working tree"
        );
        let unknown = WorktreeError::Unknown("x".into());
        assert_eq!(unknown.message(), "Worktree 'x' does not exist");
    }

    #[test]
    fn many_changed_files_are_counted_and_some_are_named() {
        let files = (0..8).map(|n| PathBuf::from(format!("f{n}"))).collect();
        let text = WorktreeError::Dirty { files }.to_string();
        assert!(
            text.starts_with("Worktree has uncommitted changes: f0, f1, f2, f3, f4 and 3 more\n"),
            "{text}"
        );
    }
}
