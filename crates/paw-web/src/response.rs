//! Responses: their security headers, and errors as JSON.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{Either, Full};
use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use paw_core::{ErrorCode, PawError};
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::login::LoginError;

pub(crate) type Body = Either<Full<Bytes>, Lines>;
pub(crate) type Response = hyper::Response<Body>;

/// Lines that are sent as they happen. Their sender learns when the browser has closed the connection.
#[derive(Debug)]
pub(crate) struct Lines(mpsc::Receiver<Bytes>);

impl HttpBody for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

/// Nothing from elsewhere, no inline script, no frame around the page. The terminal writes colours into `style` attributes and
/// one `<style>` element, which carries the nonce.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
    style-src-elem 'self' 'nonce-NONCE'; style-src-attr 'unsafe-inline'; font-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebRefusal {
    #[error("the page is not served under this name")]
    WrongHost,
    #[error("requests from other pages are not accepted")]
    ForeignOrigin,
    #[error("log in first")]
    NoLogin,
    #[error("this login is view-only")]
    ViewOnly,
    #[error("there is nothing at this address")]
    NotFound,
    #[error("the request must be JSON")]
    NotJson,
    #[error("{0}")]
    BadRequest(String),
    #[error("this has changed in the meantime; nothing was done")]
    Outdated,
    #[error("the request is too large")]
    TooLarge,
    #[error("too many pages and terminals are open")]
    TooMany,
    #[error(transparent)]
    Login(LoginError),
    #[error("{}", .0.report().message)]
    Failed(PawError),
}

impl From<LoginError> for WebRefusal {
    fn from(error: LoginError) -> Self {
        Self::Login(error)
    }
}

impl From<PawError> for WebRefusal {
    fn from(error: PawError) -> Self {
        Self::Failed(error)
    }
}

impl WebRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::WrongHost | Self::ForeignOrigin | Self::ViewOnly => StatusCode::FORBIDDEN,
            Self::NoLogin | Self::Login(LoginError::WrongCode) => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Outdated => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            Self::Login(LoginError::TooManyFailures) => StatusCode::TOO_MANY_REQUESTS,
            Self::Login(LoginError::NoRandomness) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Failed(error) => match error.report().code {
                ErrorCode::NotFound => StatusCode::NOT_FOUND,
                ErrorCode::InvalidArgument => StatusCode::BAD_REQUEST,
                ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
                _ => StatusCode::CONFLICT,
            },
        }
    }

    pub(crate) fn into_response(self) -> Response {
        let hints = match &self {
            Self::Failed(error) => error.report().hints,
            Self::NoLogin => vec!["run 'git paw web' for a new link".to_owned()],
            _ => Vec::new(),
        };
        let mut response = json(&json!({"error": self.to_string(), "hints": hints}));
        *response.status_mut() = self.status();
        response
    }
}

/// A JSON document.
pub(crate) fn json(document: &impl Serialize) -> Response {
    let text = serde_json::to_vec(document).unwrap_or_default();
    bytes("application/json", Bytes::from(text))
}

pub(crate) fn bytes(content_type: &'static str, content: Bytes) -> Response {
    let mut response = Response::new(Either::Left(Full::new(content)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = status;
    response
}

/// An answer that lasts, and the sender of its lines.
pub(crate) fn stream() -> (mpsc::Sender<Bytes>, Response) {
    let (sender, lines) = mpsc::channel(1);
    let mut response = Response::new(Either::Right(Lines(lines)));
    let content_type = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    (sender, response)
}

/// Adds the headers that every response has.
pub(crate) fn secure(response: &mut Response, nonce: &str) {
    let headers = response.headers_mut();
    let policy = HeaderValue::from_str(&POLICY.replace("NONCE", nonce));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        policy.unwrap_or(HeaderValue::from_static("default-src 'none'")),
    );
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
