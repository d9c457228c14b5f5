//! `POST /run`: has the session's process run something for the caller, and streams its output. What can be run is decided
//! by the process that takes the requests, not here.
//!
//! The response is one JSON object per line. Empty lines are heartbeats.

use std::time::Duration;

use http_body_util::Either;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch as flag};
use tokio::time::timeout;

use super::response::{ApiError, Response};
use super::serve::Connection;
use super::stream_body::StreamBody;
use super::{ServerContext, access, ended, publish};
use crate::identity::Caller;

/// The interval of heartbeats while the run prints nothing. A caller that is gone is noticed by the next one.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Events that wait for a slow reader. A run that prints more waits, too.
const EVENTS: usize = 64;

/// A request to run something.
#[derive(Debug)]
pub struct RunRequest {
    pub caller: Caller,
    /// What to run, as the caller described it.
    pub body: Vec<u8>,
    /// Where the output goes. Closed when the caller is gone.
    pub events: mpsc::Sender<RunEvent>,
}

/// What a run sends to its caller. The exit code is the last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// A line on standard output.
    Out(String),
    /// A line on standard error.
    Err(String),
    Exit(u8),
}

pub(super) async fn run(
    app: &ServerContext,
    connection: &Connection,
    head: &Parts,
    body: Incoming,
) -> Result<Response, ApiError> {
    let caller = access::caller(app, &head.headers).await?;
    if !access::is_json(&head.headers) {
        return Err(ApiError::not_json());
    }
    let admitted = app.waiting.admit(&caller).ok_or_else(ApiError::too_many_streams)?;
    let body = publish::read_body(app, &head.headers, body).await?.to_vec();
    let (events, received) = mpsc::channel(EVENTS);
    let request = RunRequest { caller, body, events };
    app.runs.try_send(request).map_err(|_| ApiError::too_many_runs())?;
    connection.start_stream();
    let (sender, body) = StreamBody::new();
    let ending = app.ending.clone();
    tokio::spawn(async move {
        pass_on(received, sender, ending).await;
        drop(admitted);
    });
    let mut response = Response::new(Either::Right(body));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// Dropping the receiver tells the run that its caller is gone.
async fn pass_on(
    mut received: mpsc::Receiver<RunEvent>,
    sender: mpsc::Sender<Bytes>,
    mut ending: flag::Receiver<bool>,
) {
    loop {
        let next = tokio::select! {
            next = timeout(HEARTBEAT, received.recv()) => next,
            () = ended(&mut ending) => return,
        };
        let (mut line, is_last) = match next {
            Err(_) => (String::new(), false),
            Ok(Some(event)) => {
                (serde_json::to_string(&event).unwrap_or_default(), matches!(event, RunEvent::Exit(_)))
            }
            Ok(None) => return,
        };
        line.push('\n');
        if sender.send(Bytes::from(line)).await.is_err() || is_last {
            return;
        }
    }
}
