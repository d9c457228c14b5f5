//! `GET /events`: all messages as server-sent events. Each event has its sequence number as id, so a reader that lost
//! the connection resumes where it stopped. A slow reader gets the next chunk when it has read the last one; unread
//! messages stay in the log, not in memory.

use std::fmt::Write as _;
use std::time::Duration;

use http_body_util::Either;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use serde_json::Value;
use tokio::sync::{mpsc, watch as flag};
use tokio::time::timeout;

use super::inbox::push_entry;
use super::response::{ApiError, Response};
use super::serve::Connection;
use super::stream_body::StreamBody;
use super::{ServerContext, access, ended};
use crate::bus::Subscription;
use crate::cache::CachedMessage;
use crate::log::PageLimit;

/// The interval of heartbeats while there is no message.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The pause after a full chunk. A reader that is behind catches up at 20,000 messages a second.
const CATCH_UP: Duration = Duration::from_millis(5);
/// The pause while a chunk or more arrives meanwhile. Readers must not take the processor from those who publish: a dashboard
/// spends as much time on a message as its publisher.
const CATCH_UP_UNDER_LOAD: Duration = Duration::from_millis(25);
/// The shortest time between two chunks, so that a reader is not woken for every commit. A message after a quiet moment is sent
/// at once.
const PAUSE: Duration = Duration::from_millis(10);
/// The size of one chunk.
const CHUNK: PageLimit = PageLimit { messages: 100, bytes: 64 << 10 };

pub(super) async fn events(
    app: &ServerContext,
    connection: &Connection,
    head: &Parts,
) -> Result<Response, ApiError> {
    let caller = access::caller(app, &head.headers).await?;
    let admitted = app.waiting.admit(&caller).ok_or_else(ApiError::too_many_streams)?;
    let since = match resume_after(&head.headers, head.uri.query())? {
        Some(since) => since,
        None => app.bus.head(),
    };
    connection.start_stream();
    let stream = app.bus.subscribe_after(since).with_limit(CHUNK).with_pause(PAUSE);
    let (sender, body) = StreamBody::new();
    let ending = app.ending.clone();
    tokio::spawn(async move {
        follow(stream, sender, ending).await;
        drop(admitted);
    });
    let mut response = Response::new(Either::Right(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

fn resume_after(headers: &HeaderMap, query: Option<&str>) -> Result<Option<u64>, ApiError> {
    let header = headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
    let since = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("since="));
    let number = |text: &str| text.parse().map_err(|_| ApiError::bad_request("since must be a valid u64"));
    header.or(since).map(number).transpose()
}

async fn follow(mut stream: Subscription, sender: mpsc::Sender<Bytes>, mut ending: flag::Receiver<bool>) {
    let session = Value::from(stream.session().as_str()).to_string();
    let mut chunk = String::from(": git paw\n\n");
    let mut newest = stream.newest();
    loop {
        // The reader is gone, or was disconnected because it stopped reading.
        if sender.send(Bytes::from(std::mem::take(&mut chunk))).await.is_err() {
            return;
        }
        let next = tokio::select! {
            next = timeout(HEARTBEAT, stream.next()) => next,
            () = ended(&mut ending) => return,
        };
        match next {
            Err(_) => chunk.push_str(": still here\n\n"),
            Ok(Ok(Some(page))) => {
                for kept in &page {
                    push_event(&mut chunk, &session, kept);
                }
                if page.len() == CHUNK.messages {
                    let arrived = stream.newest() - newest;
                    let is_busy = arrived >= CHUNK.messages as u64;
                    tokio::time::sleep(if is_busy { CATCH_UP_UNDER_LOAD } else { CATCH_UP }).await;
                }
                newest = stream.newest();
            }
            Ok(Ok(None) | Err(_)) => return,
        }
    }
}

/// Our JSON contains no line breaks.
fn push_event(text: &mut String, session: &str, kept: &CachedMessage) {
    let _ = write!(text, "id: {}\nevent: message\ndata: ", kept.entry.seq);
    push_entry(text, session, kept);
    text.push_str("\n\n");
}
