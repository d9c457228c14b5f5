//! Why a session was not changed as asked.

use std::path::PathBuf;

use paw_broker::hooks::HookError;
use paw_broker::log::LogError;
use paw_core::text::first_paths;
use paw_core::{BranchName, PawError, SessionName, SessionStatus};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::tmux::TmuxError;

use crate::briefing::BriefingError;
use crate::launch::LaunchError;
use crate::receipts::ReceiptsError;

#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    #[error("session '{session}' is {status}\nhint: git paw start brings it back")]
    NotRunning { session: SessionName, status: SessionStatus },
    #[error("no agent works on '{branch}' in session '{session}'\nhint: there are: {}", names(known))]
    UnknownBranch { branch: String, session: SessionName, known: Vec<BranchName> },
    #[error("an agent works on '{0}' already\nhint: git paw status shows everybody")]
    AlreadyThere(BranchName),
    #[error("the supervisor is no agent that can be removed\nhint: git paw stop ends the session")]
    Supervisor,
    #[error(
        "'{0}' is the last agent of the session\n\
         hint: git paw stop ends the session, git paw purge removes everything of it"
    )]
    LastAgent(BranchName),
    #[error(
        "{} has uncommitted changes: {}\n\
         hint: commit them, or use --force (they are kept: git paw undo) or --keep-worktree",
        path.display(), first_paths(files)
    )]
    Dirty { path: PathBuf, files: Vec<PathBuf> },
    #[error(transparent)]
    Receipts(#[from] ReceiptsError),
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Briefing(#[from] BriefingError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Hooks(#[from] HookError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Other(#[from] PawError),
}

fn names(branches: &[BranchName]) -> String {
    branches.iter().map(BranchName::as_str).collect::<Vec<_>>().join(", ")
}

impl From<LifecycleError> for PawError {
    fn from(error: LifecycleError) -> Self {
        match error {
            LifecycleError::Receipts(error) => error.into(),
            LifecycleError::Tmux(error) => error.into(),
            LifecycleError::Git(error) => error.into(),
            LifecycleError::File(error) => error.into(),
            LifecycleError::Briefing(error) => error.into(),
            LifecycleError::Launch(error) => error.into(),
            LifecycleError::Other(error) => error,
            LifecycleError::Dirty { .. } => Self::WorktreeError(error.to_string()),
            LifecycleError::NotRunning { .. }
            | LifecycleError::UnknownBranch { .. }
            | LifecycleError::AlreadyThere(_)
            | LifecycleError::Supervisor
            | LifecycleError::LastAgent(_)
            | LifecycleError::Log(_)
            | LifecycleError::Hooks(_) => Self::SessionError(error.to_string()),
        }
    }
}
