//! Why a session did not start. Completed steps have been undone.

use paw_broker::broker::BrokerStartError;
use paw_broker::hooks::HookError;
use paw_broker::identity::IdentityError;
use paw_broker::log::LogError;
use paw_core::ErrorCode::{FailedPrecondition, Internal};
use paw_core::error::BrokerError;
use paw_core::{BranchName, Diagnostic, ErrorReport, PawError};
use paw_host::files::FileError;
use paw_host::tmux::TmuxError;

use crate::layout::TooManyAgents;
use crate::receipts::ReceiptsError;
use crate::session_process::ProcessStartError;

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("another git paw command is changing the session of this repository")]
    Busy,
    #[error("this repository's broker is already running at {url}")]
    BrokerRuns { url: String, pid: u32 },
    #[error("{}", refusals(.0))]
    Worktrees(Vec<(BranchName, PawError)>),
    #[error(transparent)]
    TooMany(#[from] TooManyAgents),
    #[error(transparent)]
    Receipts(#[from] ReceiptsError),
    #[error(transparent)]
    Process(#[from] ProcessStartError),
    #[error(transparent)]
    Start(#[from] BrokerStartError),
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
    let line = |(branch, error): &(BranchName, PawError)| format!("{branch}: {}", error.report().full_text());
    refused.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Diagnostic for LaunchError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::Busy => report(FailedPrecondition)
                .hint("wait until it is done, or end it with Ctrl+C in its terminal"),
            Self::BrokerRuns { pid, .. } => report(FailedPrecondition)
                .hint(format!("stop it first: end 'git paw serve' in its terminal, or process {pid}")),
            Self::Worktrees(refused) => {
                report(Internal).with_hints(refused.iter().flat_map(|(_, error)| error.report().hints))
            }
            Self::TooMany(error) => error.report(),
            Self::Receipts(error) => error.report(),
            Self::Process(error) => error.report(),
            Self::Start(error) => error.report(),
            Self::Broker(error) => error.report(),
            Self::Identity(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Hooks(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Tmux(error) => error.report(),
            Self::Other(error) => error.report(),
        }
    }
}
