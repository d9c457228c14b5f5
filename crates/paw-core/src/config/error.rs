//! Errors in configuration files, with their position.

use crate::error::{Diagnostic, ErrorCode, ErrorReport};

/// An invalid file, or an edit that is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("{file}:{line}:{column}: {message}\n{snippet}")]
    Syntax { file: String, line: usize, column: usize, snippet: String, message: String },
    /// A key has an invalid value.
    #[error("{file}:{line}:{column}: {key}: {message}\n{snippet}")]
    Value { file: String, line: usize, column: usize, snippet: String, key: String, message: String },
    /// Two valid files whose merged values are invalid.
    #[error("the user's and the repository's configuration conflict: {message}")]
    Mismatch { message: String },
    /// The entry cannot be changed without changing others.
    #[error("{file}: cannot change {key} without changing the keys around it")]
    Entangled { file: String, key: String },
    /// A value that TOML cannot express, such as a path that is not Unicode.
    #[error("cannot write the configuration as TOML: {message}")]
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
