//! Error codes and exit codes.

use std::fmt;

/// The command succeeded.
pub const EXIT_OK: u8 = 0;
/// The command failed; stderr has the error.
pub const EXIT_FAILURE: u8 = 1;
/// The user declined, or pressed Ctrl+C at a prompt. clap uses the same code for invalid arguments.
pub const EXIT_CANCELLED: u8 = 2;

/// The kind of a failure, with the names of gRPC status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    Cancelled,
    InvalidArgument,
    NotFound,
    AlreadyExists,
    ResourceExhausted,
    FailedPrecondition,
    Internal,
}

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "CANCELLED",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Internal => "INTERNAL",
        }
    }

    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Cancelled => EXIT_CANCELLED,
            Self::InvalidArgument
            | Self::NotFound
            | Self::AlreadyExists
            | Self::ResourceExhausted
            | Self::FailedPrecondition
            | Self::Internal => EXIT_FAILURE,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
