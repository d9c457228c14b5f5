//! Why specs cannot be found or started.

use std::io;
use std::path::PathBuf;

use paw_core::config::SpecType;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};

/// Why specs cannot be found, or why a selection of them cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("no {format} specs: {} is not a directory of this repository", dir.display())]
    NoDirectory { dir: PathBuf, format: SpecType },
    #[error("this repository has no specs: none of {} exists", looked_in.join(", "))]
    NotFound { looked_in: Vec<&'static str> },
    #[error("[specs] dir {} is outside of the repository", dir.display())]
    Outside { dir: PathBuf },
    #[error("cannot read {}: {source}", dir.display())]
    Unreadable { dir: PathBuf, source: io::Error },
    #[error("{}", problems.join("\n"))]
    Unresolved {
        /// One line for each name without exactly one match.
        problems: Vec<String>,
        /// Lists the available specs.
        hint: String,
    },
    #[error("{} would use the same branch {branch}: rename all but one of them", specs.join(", "))]
    SameBranch { branch: String, specs: Vec<String> },
    #[error(
        "git cannot store both branches {outer} ({outer_spec}) and {inner} ({inner_spec}): rename one of the specs"
    )]
    BranchConflict { outer: String, outer_spec: String, inner: String, inner_spec: String },
}

impl Diagnostic for SpecError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::FailedPrecondition, self);
        match self {
            Self::NotFound { .. } => {
                report.hint("set their directory with [specs] dir and their format with [specs] type")
            }
            Self::NoDirectory { .. } => {
                report.hint("set their directory with [specs] dir, or their format with --specs-format")
            }
            Self::Unresolved { hint, .. } => report.hint(hint),
            Self::Outside { .. }
            | Self::Unreadable { .. }
            | Self::SameBranch { .. }
            | Self::BranchConflict { .. } => report,
        }
    }
}
