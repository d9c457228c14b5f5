//! Why a command on a session failed.

use std::path::PathBuf;

use paw_broker::hooks::HookError;
use paw_broker::identity::IdentityError;
use paw_broker::log::LogError;
use paw_core::text::first_paths;
use paw_core::{
    AgentId, BranchName, Diagnostic, ErrorCode, ErrorReport, PawError, SessionName, SessionStatus,
};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::tmux::TmuxError;

use crate::briefing::BriefingError;
use crate::launch::LaunchError;
use crate::receipts::ReceiptsError;
use crate::session_process::ProcessStartError;

#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    #[error("session '{session}' is {status}")]
    NotRunning { session: SessionName, status: SessionStatus },
    #[error("an agent is already working on '{0}'")]
    AgentExists(BranchName),
    #[error("the supervisor cannot be removed")]
    Supervisor,
    #[error("'{0}' is the last agent of the session")]
    LastAgent(BranchName),
    #[error("{} has uncommitted changes: {}", path.display(), first_paths(files))]
    Dirty { path: PathBuf, files: Vec<PathBuf> },
    #[error("the CLI of {0} is still running")]
    StillRunning(AgentId),
    #[error("{0} has no pane")]
    NoPane(AgentId),
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
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Hooks(#[from] HookError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Process(#[from] ProcessStartError),
    #[error(transparent)]
    Other(#[from] PawError),
}

impl Diagnostic for LifecycleError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NotRunning { .. } => report.hint("run 'git paw start' to resume it"),
            Self::AgentExists(_) => report.hint("run 'git paw status' to list all agents"),
            Self::Supervisor => report.hint("run 'git paw stop' to end the session"),
            Self::LastAgent(_) => {
                report.hint("run 'git paw stop' to end the session, or 'git paw purge' to remove it")
            }
            Self::Dirty { .. } => {
                report.hint("commit them, or use --force ('git paw undo' restores them) or --keep-worktree")
            }
            Self::StillRunning(agent) => {
                report.hint(format!("run 'git paw explain {agent}' to see its state"))
            }
            Self::NoPane(_) => report.hint("run 'git paw start' to open it again"),
            Self::Receipts(error) => error.report(),
            Self::Tmux(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Briefing(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Identity(error) => error.report(),
            Self::Hooks(error) => error.report(),
            Self::Launch(error) => error.report(),
            Self::Process(error) => error.report(),
            Self::Other(error) => error.report(),
        }
    }
}
