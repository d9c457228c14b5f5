//! What can be wrong with a configuration file, in words that point at the place.

use crate::error::{Diagnostic, ErrorCode, ErrorReport};

/// A file that cannot be used, or an edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("{file}:{line}:{column}: {message}\n{snippet}")]
    Syntax { file: String, line: usize, column: usize, snippet: String, message: String },
    /// A key has a value it cannot have.
    #[error("{file}:{line}:{column}: {key}: {message}\n{snippet}")]
    Value { file: String, line: usize, column: usize, snippet: String, key: String, message: String },
    /// Two valid files that do not fit together.
    #[error("the user's and the repository's configuration do not fit together: {message}")]
    Mismatch { message: String },
    /// The entry is written in a way that cannot be changed without touching its neighbours.
    #[error("{file}: cannot change {key} without touching the keys around it")]
    Entangled { file: String, key: String },
    /// A value that TOML cannot express, such as a path that is not Unicode.
    #[error("the configuration cannot be written as TOML: {message}")]
    Unwritable { message: String },
}

impl Diagnostic for ConfigError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::InvalidArgument, self);
        match self {
            Self::Entangled { .. } => report.hint("edit the file by hand"),
            Self::Syntax { .. } | Self::Value { .. } | Self::Mismatch { .. } | Self::Unwritable { .. } => {
                report
            }
        }
    }
}
