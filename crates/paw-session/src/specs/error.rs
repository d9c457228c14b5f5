//! What can be wrong with specs, in words that say what to do next.

use std::io;
use std::path::PathBuf;

use paw_core::config::SpecType;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};

/// Specs that cannot be found, or a choice of them that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("no {format} specs: {} is not a directory of this repository", dir.display())]
    NoDirectory { dir: PathBuf, format: SpecType },
    #[error("[specs] dir {} leads out of the repository: specs are read inside of it only", dir.display())]
    Outside { dir: PathBuf },
    #[error("cannot read {}: {source}", dir.display())]
    Unreadable { dir: PathBuf, source: io::Error },
    #[error("{}", problems.join("\n"))]
    Unresolved {
        /// One line for each name that fits nothing or too much.
        problems: Vec<String>,
        /// The specs there are.
        hint: String,
    },
    #[error("{} would all be the branch {branch}: rename all but one of them", specs.join(", "))]
    SameBranch { branch: String, specs: Vec<String> },
    #[error(
        "git cannot keep the branches {outer} ({outer_spec}) and {inner} ({inner_spec}) beside each other: \
         rename one of them"
    )]
    BranchConflict { outer: String, outer_spec: String, inner: String, inner_spec: String },
}

impl Diagnostic for SpecError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NoDirectory { .. } => {
                report.hint("say where they are with [specs] dir, or which kind they are with --specs-format")
            }
            Self::Unresolved { hint, .. } => report.hint(hint),
            Self::Outside { .. }
            | Self::Unreadable { .. }
            | Self::SameBranch { .. }
            | Self::BranchConflict { .. } => report,
        }
    }
}
