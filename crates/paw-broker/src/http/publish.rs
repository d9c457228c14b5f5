//! `POST /publish`: stores one message, and responds when it is stored.

use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use paw_host::clock;

use super::response::{ApiError, Response, accepted};
use super::{LARGEST_BODY, ServerContext, access};
use crate::identity::{SendRefusal, may_send};
use crate::log::SendId;
use crate::message::Message;

/// The sequence number of the stored message.
pub(super) const SEQ: HeaderName = HeaderName::from_static("x-git-paw-seq");

/// Marks a request that its sender may repeat.
const SEND_ID: HeaderName = HeaderName::from_static("idempotency-key");

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a large body may wait for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);
/// Bodies up to this size need no turn.
const SMALL_BODY: u64 = 16 << 10;

pub(super) async fn publish(app: &ServerContext, head: &Parts, body: Incoming) -> Result<Response, ApiError> {
    let caller = access::caller(app, &head.headers).await?;
    if !access::is_json(&head.headers) {
        return Err(ApiError::not_json());
    }
    let _open = app.waiting.admit_body(&caller).ok_or_else(ApiError::too_many_bodies)?;
    let body = read_body(app, &head.headers, body).await?;
    let message = Message::parse(&body)?;
    may_send(&caller, &message)?;
    if !app.bus.has_room_for(&message) {
        return Err(SendRefusal::TooManyAgents.into());
    }
    let seq = app.bus.publish_once(message, clock::now(), send_id(&head.headers)?).await?;
    let mut response = accepted();
    response.headers_mut().insert(SEQ, HeaderValue::from(seq));
    Ok(response)
}

/// The id that the sender chose, so that it can send the request again.
fn send_id(headers: &HeaderMap) -> Result<Option<SendId>, ApiError> {
    let invalid =
        || ApiError::bad_request("idempotency-key must be up to 64 letters, digits, '-', '_' or '.'");
    let Some(id) = headers.get(SEND_ID) else { return Ok(None) };
    id.to_str().ok().and_then(SendId::parse).map(Some).ok_or_else(invalid)
}

/// Reads the whole body, if it is small enough and arrives in time.
pub(super) async fn read_body(
    app: &ServerContext,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Bytes, ApiError> {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > LARGEST_BODY as u64) {
        return Err(ApiError::too_large());
    }
    let _turn = if length.is_some_and(|length| length <= SMALL_BODY) {
        None
    } else {
        let turn = tokio::time::timeout(TURN_TIMEOUT, app.large_bodies.acquire()).await;
        Some(turn.map_err(|_| ApiError::busy())?.map_err(|_| ApiError::busy())?)
    };
    let whole = Limited::new(body, LARGEST_BODY).collect();
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Err(_) => Err(ApiError::too_slow()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(ApiError::too_large()),
        Ok(Err(_)) => Err(ApiError::bad_request("the request body is incomplete")),
    }
}
