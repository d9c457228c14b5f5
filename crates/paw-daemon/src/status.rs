//! What a call cannot do, and how that looks on the wire.

use std::path::PathBuf;

use paw_core::PawError;
use paw_host::process::ProcessError;
use paw_worktree::{ConversationId, ErrorCode, WorktreeError};
use prost::Message as _;
use prost_types::Any;
use serde_json::{Value, json};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::{fit, wire};

/// What machines know our errors by.
pub(crate) const DOMAIN: &str = "git-paw";
/// The trailer in which people find the details.
pub(crate) const DETAILS: &str = "paw-details";

/// Clients take some kilobytes of trailers, of which the details come twice.
const ROOM_FOR_DETAILS: usize = 1500;
const ROOM_FOR_MESSAGE: usize = 500;

/// Why a call is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
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

impl Refusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Worktree(error) => error.code(),
            Self::RelativePath(_) | Self::EmptyMessage => ErrorCode::InvalidArgument,
            Self::NoCli { .. } => ErrorCode::NotFound,
            Self::NoDirectory { .. } | Self::Closed(_) | Self::InTurn(_) | Self::Config(_) => {
                ErrorCode::FailedPrecondition
            }
            Self::Process(_) => ErrorCode::Internal,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Worktree(error) => error.message(),
            other => other.to_string(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Worktree(error) => error.details(),
            Self::RelativePath(path) | Self::NoDirectory { path, .. } => {
                json!({ "path": path.to_string_lossy() })
            }
            Self::NoCli { installed, .. } => json!({ "installed": installed }),
            Self::Closed(id) | Self::InTurn(id) => json!({ "conversation_id": id }),
            Self::EmptyMessage | Self::Config(_) | Self::Process(_) => json!({}),
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        if refusal.code() == ErrorCode::Internal {
            tracing::error!("{refusal}");
        } else {
            tracing::debug!("{}: {refusal}", refusal.code());
        }
        status(refusal.code(), &refusal.message(), &refusal.details())
    }
}

/// No wildcard: a new code has to choose.
fn grpc_code(code: ErrorCode) -> Code {
    match code {
        ErrorCode::InvalidArgument => Code::InvalidArgument,
        ErrorCode::NotFound => Code::NotFound,
        ErrorCode::AlreadyExists => Code::AlreadyExists,
        ErrorCode::ResourceExhausted => Code::ResourceExhausted,
        ErrorCode::FailedPrecondition => Code::FailedPrecondition,
        ErrorCode::Internal => Code::Internal,
    }
}

fn status(code: ErrorCode, message: &str, details: &Value) -> Status {
    let message = fit::text(message, ROOM_FOR_MESSAGE);
    let details = fit::value(details, ROOM_FOR_DETAILS);
    let rich = RpcStatus {
        code: code.number(),
        message: message.clone(),
        details: vec![
            any(
                "google.rpc.ErrorInfo",
                &ErrorInfo { reason: code.as_str().to_owned(), domain: DOMAIN.to_owned() },
            ),
            any("google.protobuf.Struct", &wire::object(&details)),
        ],
    };
    let mut trailers = MetadataMap::new();
    if let Ok(readable) = fit::ascii_json(&details).parse() {
        trailers.insert(DETAILS, readable);
    }
    Status::with_details_and_metadata(grpc_code(code), message, rich.encode_to_vec().into(), trailers)
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

/// `google.rpc.ErrorInfo`, of which we use two fields.
#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_and_names_that_grpc_gives_them() {
        for code in [
            ErrorCode::InvalidArgument,
            ErrorCode::NotFound,
            ErrorCode::AlreadyExists,
            ErrorCode::ResourceExhausted,
            ErrorCode::FailedPrecondition,
            ErrorCode::Internal,
        ] {
            assert_eq!(grpc_code(code) as i32, code.number());
            let name = format!("{:?}", grpc_code(code)).to_uppercase();
            assert_eq!(code.as_str().replace('_', ""), name);
        }
    }

    #[test]
    fn an_endless_complaint_of_git_still_fits_in_the_trailers() {
        let stderr = "fatal: “über” \u{1b}[31m\n".repeat(100_000);
        let refused = Status::from(Refusal::from(WorktreeError::CreationFailed { stderr }));
        let readable = refused.metadata().get(DETAILS).unwrap().as_encoded_bytes().len();
        assert!(readable + refused.details().len() * 4 / 3 + refused.message().len() < 7000);
    }
}
