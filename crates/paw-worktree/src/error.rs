//! Errors of worktree operations.

use std::path::PathBuf;

use paw_core::text::{self, first_paths};
use paw_core::{BranchName, Diagnostic, ErrorCode, ErrorReport, NameError};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::sqlite::{self, SqliteError};
use serde_json::{Value, json};

use crate::copy::CopyError;
use crate::id::{ConversationId, WorktreeId};
use crate::rescue::RescueError;

/// Why a worktree operation failed.
///
/// `Display` includes the details; the message of the report is the same sentence without them.
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
    #[error("Repository '{}' has no commit yet", .0.display())]
    NoCommit(PathBuf),
    #[error("Branch '{0}' does not exist")]
    BranchMissing(BranchName),
    #[error("Branch '{0}' already exists")]
    BranchExists(BranchName),
    #[error("Branch '{wanted}' conflicts with the existing branch '{existing}'")]
    BranchNameConflict { wanted: BranchName, existing: String },
    #[error("Branch '{branch}' is already checked out at '{}'", path.display())]
    BranchCheckedOut { branch: BranchName, path: PathBuf },
    #[error("Path '{}' already exists", .0.display())]
    PathExists(PathBuf),
    #[error("Path '{}' belongs to a locked worktree whose directory is missing{}", path.display(), reason_suffix(.reason))]
    PathLocked { path: PathBuf, reason: String },
    #[error(
        "Insufficient disk space to create worktree ({required_bytes} bytes needed, {available_bytes} free)"
    )]
    DiskFull { required_bytes: u64, available_bytes: u64 },
    #[error("Git worktree creation failed: {}", .stderr.trim())]
    CreationFailed { stderr: String },
    #[error("Git worktree removal failed: {}", .stderr.trim())]
    RemovalFailed { stderr: String },
    #[error("rebase onto main failed: {}", .stderr.trim())]
    RebaseFailed { stderr: String, files: Vec<PathBuf> },
    #[error("Worktree '{0}' does not exist")]
    Unknown(String),
    #[error("Worktree '{name}' does not exist in this repository")]
    InOtherRepository { name: String, ids: Vec<WorktreeId> },
    #[error("Worktree name '{name}' is ambiguous: {}", joined(.ids))]
    Ambiguous { name: String, ids: Vec<WorktreeId> },
    #[error("'{name}' matches several worktrees: {}", matches.join(", "))]
    AmbiguousPrefix { name: String, matches: Vec<String> },
    #[error("there is no previous worktree to switch to")]
    NoPrevious,
    #[error("Worktree directory no longer exists")]
    DirectoryMissing { path: PathBuf },
    #[error("Worktree is broken: {problem}")]
    Broken { path: PathBuf, problem: String },
    #[error("Worktree is being created or removed by another process")]
    Busy { id: WorktreeId },
    #[error("Worktree has uncommitted changes: {}", first_paths(.files))]
    Dirty { files: Vec<PathBuf> },
    #[error("Worktree contains other worktrees: {}", first_paths(.paths))]
    ContainsWorktrees { paths: Vec<PathBuf> },
    #[error("Worktree is locked{}", reason_suffix(.reason))]
    Locked { reason: String },
    #[error("Worktree has an active conversation: {}", .ids.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(", "))]
    HasActiveConversation { ids: Vec<ConversationId> },
    #[error("Processes are running in the worktree: {}", text::line(&.processes.join(", ")))]
    HasProcesses { processes: Vec<String> },
    #[error("'{}' is not a linked worktree of this repository", .0.display())]
    NotAWorktree(PathBuf),
    #[error("'{}' is already registered as {id}", path.display())]
    AlreadyRegistered { id: WorktreeId, path: PathBuf },
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
    /// No wildcard, so that every new variant gets a code.
    fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidBranch(_)
            | Self::NameWithSeparator
            | Self::InvalidName { .. }
            | Self::InvalidPath { .. }
            | Self::NoRepositoryPath
            | Self::NotARepository(_)
            | Self::NotAWorktree(_)
            | Self::Ambiguous { .. }
            | Self::AmbiguousPrefix { .. } => ErrorCode::InvalidArgument,
            Self::RepositoryMissing(_)
            | Self::BranchMissing(_)
            | Self::Unknown(_)
            | Self::NoPrevious
            | Self::InOtherRepository { .. }
            | Self::UnknownConversation(_) => ErrorCode::NotFound,
            Self::BranchExists(_)
            | Self::BranchNameConflict { .. }
            | Self::BranchCheckedOut { .. }
            | Self::PathExists(_)
            | Self::PathLocked { .. }
            | Self::AlreadyRegistered { .. } => ErrorCode::AlreadyExists,
            Self::DiskFull { .. } => ErrorCode::ResourceExhausted,
            Self::NoCommit(_)
            | Self::DirectoryMissing { .. }
            | Self::Broken { .. }
            | Self::Busy { .. }
            | Self::Dirty { .. }
            | Self::ContainsWorktrees { .. }
            | Self::Locked { .. }
            | Self::HasActiveConversation { .. }
            | Self::HasProcesses { .. } => ErrorCode::FailedPrecondition,
            Self::CreationFailed { .. }
            | Self::RemovalFailed { .. }
            | Self::RebaseFailed { .. }
            | Self::Registry(_) => ErrorCode::Internal,
            Self::Copy(error) => error.report().code,
            Self::Rescue(error) => error.report().code,
            Self::Sqlite(error) => error.report().code,
            Self::File(error) => error.report().code,
            Self::Git(error) => error.report().code,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoCommit(_) => "create a first commit".to_owned(),
            Self::BranchMissing(branch) => {
                format!("run 'git paw worktree create --new {branch}' to create it")
            }
            Self::PathLocked { path, .. } => format!(
                "mount its disk, choose another --path, or run 'git worktree unlock {}'",
                path.display()
            ),
            Self::Unknown(_) => "run 'git paw worktree list' to list worktrees".to_owned(),
            Self::InOtherRepository { ids, .. } => {
                format!("another repository has a worktree with this name; use its id: {}", joined(ids))
            }
            Self::Ambiguous { .. } => "use one of these ids".to_owned(),
            Self::AmbiguousPrefix { .. } => "type more of the name".to_owned(),
            Self::NoPrevious => "name one: 'git paw worktree list' lists them".to_owned(),
            Self::PathExists(_) => {
                "choose another directory with --path DIR, or another name with --name NAME".to_owned()
            }
            Self::RebaseFailed { files, .. } if !files.is_empty() => format!(
                "these files conflict: {}; rebase the branch yourself, or use --no-rebase",
                first_paths(files)
            ),
            Self::RebaseFailed { .. } => "rebase the branch yourself, or use --no-rebase".to_owned(),
            Self::BranchCheckedOut { .. } => "use another branch, or work in that directory".to_owned(),
            Self::Dirty { .. } => {
                "commit them, or use --force (they are stored for 'git paw undo')".to_owned()
            }
            Self::ContainsWorktrees { .. } => {
                "remove those worktrees first ('git worktree list' lists them)".to_owned()
            }
            Self::Locked { .. } => "run 'git worktree unlock', or use --force".to_owned(),
            Self::HasActiveConversation { .. } => "close the conversation, or use --force".to_owned(),
            Self::HasProcesses { .. } => "end them, or use --force".to_owned(),
            _ => return None,
        })
    }

    /// The message without the details, for variants whose `Display` has both.
    fn summary(&self) -> Option<&'static str> {
        Some(match self {
            Self::DiskFull { .. } => "Insufficient disk space to create worktree",
            Self::CreationFailed { .. } => "Git worktree creation failed",
            Self::RemovalFailed { .. } => "Git worktree removal failed",
            Self::Dirty { .. } => "Worktree has uncommitted changes",
            Self::ContainsWorktrees { .. } => "Worktree contains other worktrees",
            Self::HasActiveConversation { .. } => "Worktree has an active conversation",
            Self::HasProcesses { .. } => "Processes are running in the worktree",
            _ => return None,
        })
    }

    fn details(&self) -> Value {
        let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
        match self {
            Self::DiskFull { required_bytes, available_bytes } => {
                json!({ "required_bytes": required_bytes, "available_bytes": available_bytes })
            }
            Self::CreationFailed { stderr } | Self::RemovalFailed { stderr } => {
                json!({ "stderr": stderr.trim() })
            }
            Self::RebaseFailed { stderr, files } => {
                json!({ "stderr": stderr.trim(), "files": files.iter().map(shown).collect::<Vec<_>>() })
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
            Self::AlreadyRegistered { id, path } => json!({ "id": id, "path": shown(path) }),
            Self::Ambiguous { ids, .. } | Self::InOtherRepository { ids, .. } => json!({ "ids": ids }),
            Self::Busy { id } => json!({ "id": id }),
            Self::Dirty { files } => json!({ "files": files.iter().map(shown).collect::<Vec<_>>() }),
            Self::ContainsWorktrees { paths } => {
                json!({ "worktrees": paths.iter().map(shown).collect::<Vec<_>>() })
            }
            Self::PathLocked { path, reason } => json!({ "path": shown(path), "reason": reason }),
            Self::Locked { reason } => json!({ "reason": reason }),
            Self::HasActiveConversation { ids } => json!({ "conversations": ids }),
            Self::HasProcesses { processes } => json!({ "processes": processes }),
            _ => json!({}),
        }
    }
}

impl Diagnostic for WorktreeError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Copy(error) => error.report(),
            Self::Rescue(error) => error.report(),
            Self::Sqlite(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::Registry(error) if sqlite::is_damage(error) => {
                ErrorReport::new(self.code(), self).hint(sqlite::REPAIR)
            }
            own => {
                let report = ErrorReport::new(own.code(), own).details(own.details()).with_hints(own.hint());
                match own.summary() {
                    Some(summary) => report.summary(summary),
                    None => report,
                }
            }
        }
    }
}

fn joined(ids: &[WorktreeId]) -> String {
    ids.iter().map(WorktreeId::as_str).collect::<Vec<_>>().join(", ")
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", text::line(reason)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_message_excludes_details_and_hints() {
        let full = WorktreeError::DiskFull { required_bytes: 524_288_000, available_bytes: 52_428_800 };
        insta::assert_snapshot!(full.report().document(), @r#"{"error":{"code":"RESOURCE_EXHAUSTED","message":"Insufficient disk space to create worktree","hints":[],"details":{"required_bytes":524288000,"available_bytes":52428800}}}"#);
        let failed =
            WorktreeError::CreationFailed { stderr: "fatal: unable to checkout working tree\n".into() };
        insta::assert_snapshot!(failed.report().document(), @r#"{"error":{"code":"INTERNAL","message":"Git worktree creation failed","hints":[],"details":{"stderr":"fatal: unable to checkout working tree"}}}"#);
        assert_eq!(
            failed.report().to_string(),
            "Git worktree creation failed: fatal: unable to checkout working tree"
        );
        let unknown = WorktreeError::Unknown("x".into()).report();
        assert_eq!(unknown.message, "Worktree 'x' does not exist");
        assert_eq!(unknown.hints, ["run 'git paw worktree list' to list worktrees"]);
    }

    #[test]
    fn dirty_error_names_some_files_and_counts_the_rest() {
        let files = (0..8).map(|n| PathBuf::from(format!("f{n}"))).collect();
        let text = WorktreeError::Dirty { files }.to_string();
        assert_eq!(text, "Worktree has uncommitted changes: f0, f1, f2, f3, f4 and 3 more");
    }
}
