//! Errors of calls and their gRPC statuses.

use std::collections::HashMap;
use std::path::PathBuf;

use paw_core::{Diagnostic, ErrorCode, ErrorReport, PawError};
use paw_host::process::ProcessError;
use paw_worktree::{ConversationId, WorktreeError};
use prost::Message as _;
use prost_types::Any;
use serde_json::json;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::{truncation, wire};

/// The domain of our errors in `ErrorInfo`.
pub(crate) const DOMAIN: &str = "git-paw";
/// The trailer with the details as JSON, for people.
pub(crate) const DETAILS: &str = "paw-details";

/// The key of `ErrorInfo.metadata` that holds the hints, one per line.
const HINTS: &str = "hints";

/// Clients accept a few kilobytes of trailers, and the details are sent twice.
const MAX_DETAILS: usize = 1500;
const MAX_MESSAGE: usize = 500;

/// Why a call fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error("Repository path must be absolute: '{}'", .0.display())]
    RelativePath(PathBuf),
    #[error("Cannot spawn {cli}: worktree directory does not exist")]
    NoDirectory { cli: String, path: PathBuf },
    #[error("CLI '{cli}' is not installed")]
    NoCli { cli: String, installed: Vec<String> },
    #[error("Message is empty")]
    EmptyMessage,
    #[error("Conversation '{0}' is closed")]
    Closed(ConversationId),
    #[error("Conversation '{0}' is busy with another message")]
    InTurn(ConversationId),
    #[error("{0}")]
    Config(PawError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Diagnostic for CallError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::Worktree(error) => error.report(),
            Self::RelativePath(path) => {
                report(ErrorCode::InvalidArgument).details(json!({ "path": path.to_string_lossy() }))
            }
            Self::NoDirectory { path, .. } => {
                report(ErrorCode::FailedPrecondition).details(json!({ "path": path.to_string_lossy() }))
            }
            Self::NoCli { installed, .. } => {
                report(ErrorCode::NotFound).details(json!({ "installed": installed }))
            }
            Self::EmptyMessage => report(ErrorCode::InvalidArgument),
            Self::Closed(id) | Self::InTurn(id) => {
                report(ErrorCode::FailedPrecondition).details(json!({ "conversation_id": id }))
            }
            // The file is invalid, not the argument of the caller.
            Self::Config(error) => error.report().with_code(ErrorCode::FailedPrecondition),
            Self::Process(error) => error.report(),
        }
    }
}

impl From<CallError> for Status {
    fn from(refusal: CallError) -> Self {
        let report = refusal.report();
        if report.code == ErrorCode::Internal {
            tracing::error!("{refusal}");
        } else {
            tracing::debug!("{}: {refusal}", report.code);
        }
        status(&report)
    }
}

fn grpc_code(code: ErrorCode) -> Code {
    match code {
        ErrorCode::Cancelled => Code::Cancelled,
        ErrorCode::InvalidArgument => Code::InvalidArgument,
        ErrorCode::NotFound => Code::NotFound,
        ErrorCode::AlreadyExists => Code::AlreadyExists,
        ErrorCode::ResourceExhausted => Code::ResourceExhausted,
        ErrorCode::FailedPrecondition => Code::FailedPrecondition,
        ErrorCode::Internal => Code::Internal,
    }
}

fn status(report: &ErrorReport) -> Status {
    let code = grpc_code(report.code);
    let message = truncation::text(&report.message, MAX_MESSAGE);
    let details = truncation::value(&report.details, MAX_DETAILS);
    let hints = truncation::text(&report.hints.join("\n"), MAX_MESSAGE);
    let hints = Some(hints).filter(|hints| !hints.is_empty());
    let rich = RpcStatus {
        code: code as i32,
        message: message.clone(),
        details: vec![
            any(
                "google.rpc.ErrorInfo",
                &ErrorInfo {
                    reason: report.code.as_str().to_owned(),
                    domain: DOMAIN.to_owned(),
                    metadata: hints.iter().map(|hints| (HINTS.to_owned(), hints.clone())).collect(),
                },
            ),
            any("google.protobuf.Struct", &wire::object(&details)),
        ],
    };
    let mut trailers = MetadataMap::new();
    if let Ok(readable) = truncation::ascii_json(&details).parse() {
        trailers.insert(DETAILS, readable);
    }
    Status::with_details_and_metadata(code, message, rich.encode_to_vec().into(), trailers)
}

fn any(name: &str, message: &impl prost::Message) -> Any {
    Any { type_url: format!("type.googleapis.com/{name}"), value: message.encode_to_vec() }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_have_the_names_of_grpc_codes() {
        for code in [
            ErrorCode::Cancelled,
            ErrorCode::InvalidArgument,
            ErrorCode::NotFound,
            ErrorCode::AlreadyExists,
            ErrorCode::ResourceExhausted,
            ErrorCode::FailedPrecondition,
            ErrorCode::Internal,
        ] {
            let name = format!("{:?}", grpc_code(code)).to_uppercase();
            assert_eq!(code.as_str().replace('_', ""), name);
        }
    }

    #[test]
    fn hints_are_sent_in_the_error_info() {
        let sent = Status::from(CallError::from(WorktreeError::Unknown("x".into())));
        assert_eq!((sent.code(), sent.message()), (Code::NotFound, "Worktree 'x' does not exist"));
        let rich = RpcStatus::decode(sent.details()).unwrap();
        let info = ErrorInfo::decode(rich.details[0].value.as_slice()).unwrap();
        assert_eq!((rich.code, info.reason.as_str()), (5, "NOT_FOUND"));
        assert_eq!(info.metadata[HINTS], "run 'git paw worktree list' to list worktrees");
    }

    #[test]
    fn a_very_long_error_of_git_fits_in_the_trailers() {
        let stderr = "fatal: “über” \u{1b}[31m\n".repeat(100_000);
        let refused = Status::from(CallError::from(WorktreeError::CreationFailed { stderr }));
        let readable = refused.metadata().get(DETAILS).unwrap().as_encoded_bytes().len();
        assert!(readable + refused.details().len() * 4 / 3 + refused.message().len() < 7000);
    }
}
