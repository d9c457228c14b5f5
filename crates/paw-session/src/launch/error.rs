//! Why a session did not start. What had been made was taken back.

use paw_broker::broker::StartError;
use paw_broker::hooks::HookError;
use paw_broker::identity::IdentityError;
use paw_broker::log::LogError;
use paw_core::error::BrokerError;
use paw_core::{BranchName, PawError};
use paw_host::files::FileError;
use paw_host::tmux::TmuxError;

use crate::layout::TooManyAgents;
use crate::receipts::ReceiptsError;

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(
        "another `git paw start` is at work in this repository\nhint: wait for it, or end it with Ctrl+C"
    )]
    Busy,
    #[error(
        "a broker of this repository is running already at {url}\n\
         hint: end it first (git paw serve runs in a terminal of its own, or process {pid})"
    )]
    BrokerRuns { url: String, pid: u32 },
    #[error("{}", refusals(.0))]
    Worktrees(Vec<(BranchName, PawError)>),
    #[error(transparent)]
    TooMany(#[from] TooManyAgents),
    #[error(transparent)]
    Receipts(#[from] ReceiptsError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Hooks(#[from] HookError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error(transparent)]
    Other(#[from] PawError),
}

fn refusals(refused: &[(BranchName, PawError)]) -> String {
    let line = |(branch, error): &(BranchName, PawError)| match error {
        PawError::WorktreeError(detail) => format!("{branch}: {detail}"),
        other => format!("{branch}: {other}"),
    };
    refused.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl From<LaunchError> for PawError {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Worktrees(_) => Self::WorktreeError(error.to_string()),
            LaunchError::TooMany(error) => error.into(),
            LaunchError::Receipts(error) => error.into(),
            LaunchError::Start(error) => error.into(),
            LaunchError::Broker(error) => error.into(),
            LaunchError::Identity(error) => error.into(),
            LaunchError::File(error) => error.into(),
            LaunchError::Tmux(error) => error.into(),
            LaunchError::Other(error) => error,
            LaunchError::Busy
            | LaunchError::BrokerRuns { .. }
            | LaunchError::Log(_)
            | LaunchError::Hooks(_) => Self::SessionError(error.to_string()),
        }
    }
}
