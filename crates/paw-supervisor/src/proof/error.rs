//! Why a record could not be written, read or used.

use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::files::FileError;
use paw_host::git::GitError;
use paw_host::signing::KeyError;

#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error("no signed proof of {0}")]
    None(String),
    #[error("'{0}' is neither a commit nor a file")]
    Unknown(String),
    #[error("{} is not an exported proof: {reason}", path.display())]
    NotAProof { path: PathBuf, reason: String },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Diagnostic for ProofError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::None(_) => report(ErrorCode::NotFound)
                .hint("'git paw verify BRANCH' runs all gates and signs the result"),
            Self::Unknown(_) | Self::NotAProof { .. } => report(ErrorCode::InvalidArgument),
            Self::Key(error) => error.report(),
            Self::File(error) => error.report(),
            Self::Git(error) => error.report(),
        }
    }
}
