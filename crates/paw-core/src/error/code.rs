//! The kinds of failure, and what each means to a shell.

use std::fmt;

/// The command did what it was asked to do.
pub const EXIT_OK: u8 = 0;
/// Something failed; stderr says what and what to do next.
pub const EXIT_FAILURE: u8 = 1;
/// The user declined, or pressed Ctrl+C at a prompt. Also what clap uses for arguments it cannot read.
pub const EXIT_CANCELLED: u8 = 2;

/// The kind of a failure, named and numbered as gRPC does. Programs act on it.
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

    /// The process exit code. No wildcard: a new code has to choose.
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
