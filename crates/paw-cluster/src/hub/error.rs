//! Why an agent on another machine cannot be started or reached.

use std::path::PathBuf;

use paw_broker::log::LogError;
use paw_core::{AgentId, BranchName, Diagnostic, ErrorCode, ErrorReport, HostName, NameError, PawError};
use paw_host::files::FileError;
use paw_host::git::{GitError, ScratchError};
use paw_host::signing::KeyError;
use paw_host::ssh::SshError;
use paw_session::lifecycle::LifecycleError;
use paw_session::receipts::ReceiptsError;
use paw_worktree::rescue::RescueError;

use crate::link;
use crate::remote::RemoteError;
use crate::snapshot::LARGEST;

/// An agent on another machine cannot be started or reached.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error("agents on other machines need the broker, and this session has none")]
    NoBroker,
    #[error("'{0}' is the name of this machine in the session")]
    OwnName(HostName),
    #[error("this session belongs to the hub of another machine")]
    NotTheHub,
    #[error("branch '{branch}' is already checked out at {}", path.display())]
    CheckedOut { branch: BranchName, path: PathBuf },
    #[error("cannot update branch '{branch}' from its machine: {why}")]
    InUse { branch: BranchName, why: String },
    #[error("the agent of '{branch}' would have the id '{id}', which another agent has")]
    IdTaken { branch: BranchName, id: AgentId },
    #[error("{host} still has a session of this repository that another session started")]
    OtherSession { host: HostName, path: PathBuf },
    #[error("{host} has no branch '{branch}'")]
    NoBranch { host: HostName, branch: BranchName },
    #[error("the repository has no commit yet")]
    NoCommit,
    #[error("{host} has uncommitted changes in {}", list(paths))]
    Kept { host: HostName, paths: Vec<PathBuf> },
    #[error("{branch} cannot move with its uncommitted changes: {} cannot be stored", list(files))]
    LeftOut { branch: BranchName, files: Vec<PathBuf> },
    #[error(
        "{branch} cannot move with its uncommitted changes: they have {} MB, and the limit is {} MB",
        bytes >> 20, LARGEST >> 20
    )]
    TooLarge { branch: BranchName, bytes: u64 },
    #[error("the session was purged")]
    Purged,
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Receipts(#[from] ReceiptsError),
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    #[error(transparent)]
    Rescue(#[from] RescueError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Announce(PawError),
}

impl HubError {
    /// Whether a machine refused a copy of its hub.
    pub fn is_other_hub(&self) -> bool {
        link::is_other_hub(&self.to_string())
    }

    /// Whether git-paw on the machine answered as it should, with what to do about it.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Kept { .. } | Self::NoBranch { .. } => true,
            Self::Remote(RemoteError::Refused { hints, .. }) => !hints.is_empty(),
            _ => false,
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Diagnostic for HubError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::NoBroker => report(ErrorCode::FailedPrecondition)
                .hint("set [broker] enabled = true for the next session, or start it with BRANCH@HOST"),
            Self::OwnName(_) => report(ErrorCode::InvalidArgument).hint("omit @ and the name"),
            Self::NotTheHub => report(ErrorCode::FailedPrecondition)
                .hint("add agents on the machine that started the session"),
            Self::CheckedOut { .. } => report(ErrorCode::FailedPrecondition).hint("use another branch"),
            Self::IdTaken { .. } => report(ErrorCode::FailedPrecondition).hint("use another branch name"),
            Self::OtherSession { host, path } => report(ErrorCode::FailedPrecondition).hint(format!(
                "look at it with 'git paw status' in {} on {host}, then purge it there",
                path.display()
            )),
            Self::NoBranch { branch, .. } => report(ErrorCode::FailedPrecondition).hint(format!(
                "if it was renamed there, rename it back; 'git paw remove {branch} --force' removes the agent and keeps its work for \
                 'git paw undo'"
            )),
            Self::InUse { .. } => report(ErrorCode::FailedPrecondition)
                .hint("commit there, or switch to another branch there, and try again"),
            Self::NoCommit => report(ErrorCode::FailedPrecondition).hint("commit something first"),
            Self::Kept { .. } => report(ErrorCode::FailedPrecondition)
                .hint("commit them there, or use --force (changes are kept for 'git paw undo')"),
            Self::LeftOut { .. } => report(ErrorCode::FailedPrecondition)
                .hint("files above 16 MB, unreadable ones and those with a git filter are not copied; commit them first"),
            Self::TooLarge { .. } => report(ErrorCode::FailedPrecondition).hint("commit them first"),
            Self::Purged => report(ErrorCode::FailedPrecondition),
            Self::Remote(error) => error.report(),
            Self::Ssh(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::Key(error) => error.report(),
            Self::Name(error) => error.report(),
            Self::Receipts(error) => error.report(),
            Self::Lifecycle(error) => error.report(),
            Self::Rescue(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Scratch(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Announce(error) => error.report(),
        }
    }
}
