//! Responses, and errors as JSON with a status code.

use http_body_util::{Either, Full};
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use paw_core::Diagnostic as _;
use serde_json::{Value, json};

use super::stream_body::StreamBody;
use crate::identity::SendRefusal;
use crate::log::LogError;
use crate::message::MessageError;

/// A response with a complete body or a stream.
pub(super) type Response = hyper::Response<Either<Full<Bytes>, StreamBody>>;

/// A request that failed.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: Value,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, error: &str) -> Self {
        Self { status, body: json!({"error": error}) }
    }

    fn with_hint(status: StatusCode, error: &str, hint: &str) -> Self {
        Self { status, body: json!({"error": error, "hint": hint}) }
    }

    pub(super) fn bad_request(error: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn not_found() -> Self {
        let known = "POST /publish, GET /messages/{agent_id}, GET /status, GET /log, POST /watch, GET /events, POST /run";
        Self::with_hint(StatusCode::NOT_FOUND, "no such endpoint", known)
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method not allowed")
    }

    pub(super) fn wrong_host() -> Self {
        Self::with_hint(
            StatusCode::MISDIRECTED_REQUEST,
            "the Host header does not name this server",
            "use the address in GIT_PAW_BROKER_URL unchanged",
        )
    }

    pub(super) fn foreign_origin() -> Self {
        Self::new(StatusCode::FORBIDDEN, "requests from other web pages are refused")
    }

    pub(super) fn no_token() -> Self {
        Self::with_hint(
            StatusCode::UNAUTHORIZED,
            "no token",
            "send the header 'Authorization: Bearer $GIT_PAW_BROKER_TOKEN', or use git paw say and git paw inbox",
        )
    }

    pub(super) fn unknown_token() -> Self {
        Self::with_hint(
            StatusCode::UNAUTHORIZED,
            "unknown token",
            "a token belongs to one session: use the GIT_PAW_BROKER_TOKEN of this pane",
        )
    }

    pub(super) fn not_privileged() -> Self {
        Self::new(StatusCode::FORBIDDEN, "only the supervisor or the operator may do this")
    }

    pub(super) fn not_json() -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
    }

    pub(super) fn too_large() -> Self {
        let text = format!("the message is larger than {} bytes", super::LARGEST_BODY);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, &text)
    }

    pub(super) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the request body did not arrive in time")
    }

    pub(super) fn too_many_bodies() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too many messages of this sender at once; send it again")
    }

    pub(super) fn too_many_streams() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many event streams and long polls at once")
    }

    pub(super) fn too_many_runs() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many runs at once; try again later")
    }

    pub(super) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many large messages at once; send it again")
    }
}

impl From<MessageError> for ApiError {
    fn from(error: MessageError) -> Self {
        Self { status: StatusCode::BAD_REQUEST, body: error.to_json() }
    }
}

impl From<SendRefusal> for ApiError {
    fn from(refusal: SendRefusal) -> Self {
        Self::new(StatusCode::FORBIDDEN, &refusal.to_string())
    }
}

impl From<LogError> for ApiError {
    fn from(error: LogError) -> Self {
        let status = match error {
            LogError::Full => StatusCode::INSUFFICIENT_STORAGE,
            LogError::Closed => StatusCode::SERVICE_UNAVAILABLE,
            LogError::Open(_) | LogError::Failed(_) | LogError::Damaged(_) | LogError::Purged => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        let report = error.report();
        match report.hints.first() {
            Some(hint) => Self::with_hint(status, &report.message, hint),
            None => Self::new(status, &report.message),
        }
    }
}

impl ApiError {
    pub(super) fn into_response(self) -> Response {
        let mut response = json_text(self.body.to_string());
        *response.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A response with a JSON document.
pub(super) fn json_text(text: String) -> Response {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// An empty `202 Accepted`.
pub(super) fn accepted() -> Response {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
