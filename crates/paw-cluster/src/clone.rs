//! The clone of a repository on a host, and the invitation to the session that its agents belong to.

use std::path::Path;

use paw_broker::log::{self, LogError, StreamId};
use paw_core::paths::{DataDir, PawDir};
use paw_core::receipt::{ClusterReceipt, HubSupervision};
use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError, SessionName};
use paw_host::files::{self, Access, FileError};
use paw_host::git::{Git, GitError, Repo};
use paw_host::signing::{KeyError, SecretKey};
use paw_session::Receipts;
use paw_session::receipts::ReceiptsError;

use crate::link;
use crate::remote::{PrepareRequest, PreparedHost};

/// A clone cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    #[error("'{0}' is not the name of a clone")]
    Name(String),
    #[error("not an invitation to a session: {0}")]
    Invitation(serde_json::Error),
    #[error(transparent)]
    OtherHub(#[from] PawError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Receipts(#[from] ReceiptsError),
}

impl Diagnostic for CloneError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Name(_) | Self::Invitation(_) => ErrorReport::new(ErrorCode::InvalidArgument, self),
            Self::OtherHub(error) => error.report(),
            Self::Git(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Key(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Receipts(error) => error.report(),
        }
    }
}

/// Creates the clone if it is missing. The hub pushes branches into it; its main checkout follows the main branch.
pub fn prepare(
    data: &DataDir,
    receipts: &Receipts,
    request: &PrepareRequest,
) -> Result<PreparedHost, CloneError> {
    let name = &request.repository;
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(is_legal) {
        return Err(CloneError::Name(name.clone()));
    }
    let path = data.clones().join(name);
    if !path.join(".git").exists() {
        files::create_private_dir(&path)?;
        let branch = format!("--initial-branch={}", request.main);
        Git::at(&path).run(["init", "--quiet", &branch])?;
    }
    let git = Git::at(&path);
    git.run(["config", "receive.denyCurrentBranch", "updateInstead"])?;
    for (key, value) in [("user.name", &request.user_name), ("user.email", &request.user_email)] {
        if let Some(value) = value
            && git.find(["config", "--get", key])?.is_none()
        {
            git.run(["config", key, value])?;
        }
    }
    let repo = Repo::discover(&path)?;
    link::require_one_hub(&PawDir::of(&repo.common_dir), &request.hub)?;
    let receipt = receipts.find_for_repo(&repo.root)?;
    Ok(PreparedHost {
        path: repo.root,
        key: SecretKey::open(&data.host_key())?.public().to_string(),
        stream: receipt.as_ref().and_then(|receipt| Some(receipt.cluster.as_ref()?.stream.clone())),
        has_session: receipt.is_some(),
        agents: receipt.into_iter().flat_map(|receipt| receipt.worktrees).map(|agent| agent.branch).collect(),
    })
}

/// Keeps an invitation for the next session.
pub fn accept(common_dir: &Path, invitation: &[u8]) -> Result<(), CloneError> {
    let cluster: ClusterReceipt = serde_json::from_slice(invitation).map_err(CloneError::Invitation)?;
    let text = serde_json::to_vec_pretty(&cluster).map_err(CloneError::Invitation)?;
    let dir = PawDir::of(common_dir);
    files::create_private_dir(dir.path())?;
    if let (Some(log), Some(stream)) = (log::find(&dir.log())?, StreamId::parse(&cluster.stream)) {
        log.readmit_stream(&stream)?;
    }
    Ok(files::write_atomic(&dir.cluster_invitation(), &text, Access::Private)?)
}

/// Keeps how the hub looks after the agents of a session here.
pub fn supervise(receipts: &Receipts, session: &SessionName, said: &[u8]) -> Result<(), CloneError> {
    let said: Option<HubSupervision> = serde_json::from_slice(said).map_err(CloneError::Invitation)?;
    let known = receipts.load(session)?.and_then(|receipt| receipt.cluster);
    if known.is_some_and(|cluster| cluster.supervision == said) {
        return Ok(());
    }
    let lock = receipts.lock()?;
    receipts.update(session, &lock, |receipt| {
        if let Some(cluster) = receipt.cluster.as_mut().filter(|cluster| !cluster.is_hub()) {
            cluster.supervision = said;
        }
    })?;
    Ok(())
}

/// The session that a new session in this repository joins.
pub fn load_invitation(common_dir: &Path) -> Result<Option<ClusterReceipt>, CloneError> {
    let text = files::load_text(&PawDir::of(common_dir).cluster_invitation())?;
    text.map(|text| serde_json::from_str(&text).map_err(CloneError::Invitation)).transpose()
}
