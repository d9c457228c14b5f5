//! `GET /messages/{agent_id}` with its long poll, and `GET /log`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use hyper::http::request::Parts;
use paw_core::AgentId;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::response::{ApiError, Response, json_text};
use super::{ServerContext, access, ended};
use crate::cache::CachedMessage;
use crate::identity::Caller;
use crate::log::PageLimit;

/// The longest wait of a long poll.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The most messages in one response, whatever the limit in the request.
const MAX_MESSAGES: usize = 5000;

/// The query parameters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    since: u64,
    wait: Duration,
    limit: Option<usize>,
    /// Whether to include sequence numbers, times and senders.
    entries: bool,
}

impl Query {
    fn parse(text: Option<&str>) -> Result<Self, ApiError> {
        let number = |name: &str, text: &str| {
            text.parse::<u64>().map_err(|_| ApiError::bad_request(&format!("{name} must be a valid u64")))
        };
        let mut query = Self::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "since" => query.since = number("since", value)?,
                "wait" => query.wait = Duration::from_secs(number("wait", value)?).min(MAX_WAIT),
                "limit" => {
                    query.limit = Some(usize::try_from(number("limit", value)?).unwrap_or(MAX_MESSAGES));
                }
                "entries" => query.entries = value != "0" && value != "false",
                _ => {}
            }
        }
        Ok(query)
    }

    fn page(&self) -> PageLimit {
        let messages = self.limit.unwrap_or(PageLimit::DEFAULT.messages).clamp(1, MAX_MESSAGES);
        PageLimit { messages, ..PageLimit::DEFAULT }
    }
}

pub(super) async fn messages(app: &ServerContext, head: &Parts, agent: &str) -> Result<Response, ApiError> {
    let caller = access::caller(app, &head.headers).await?;
    let agent = inbox_of(agent)?;
    let mut query = Query::parse(head.uri.query())?;
    let admitted = if query.wait.is_zero() { None } else { app.waiting.admit(&caller) };
    if admitted.is_none() {
        // With too many long polls, a poll answers at once.
        query.wait = Duration::ZERO;
    }
    let page = poll(app, &agent, &query).await?;
    let last = page.last().map_or(query.since, |kept| kept.entry.seq.max(query.since));
    if !page.is_empty() && caller == Caller::Known(agent.clone()) {
        app.bus.note_read(&agent, last);
    }
    let more = !page.is_empty() && !app.bus.is_empty_after(&agent, last);
    let (name, content) =
        if query.entries { ("entries", entries(app, &page)) } else { ("messages", bodies(&page)) };
    Ok(json_text(format!("{{\"{name}\":{content},\"last_seq\":{last},\"more\":{more}}}")))
}

/// The agent in the path: its id, or its branch.
fn inbox_of(text: &str) -> Result<AgentId, ApiError> {
    AgentId::new(text.replace("%2F", "-").replace("%2f", "-").replace('/', "-"))
        .map_err(|_| ApiError::bad_request("agent_id must match [a-z0-9-_]+"))
}

async fn poll(
    app: &ServerContext,
    agent: &AgentId,
    query: &Query,
) -> Result<Vec<Arc<CachedMessage>>, ApiError> {
    let is_moved = app.tokens.has_moved(agent);
    let page = app.bus.inbox(agent, query.since, query.page(), is_moved).await?;
    if !page.is_empty() || query.wait.is_zero() {
        return Ok(page);
    }
    let (mut news, mut ending) = (app.bus.head_changes(), app.ending.clone());
    let deadline = Instant::now() + query.wait;
    loop {
        // Messages stored after this line wake the wait below.
        news.borrow_and_update();
        let page = app.bus.inbox(agent, query.since, query.page(), is_moved).await?;
        if !page.is_empty() {
            return Ok(page);
        }
        let woken = timeout_at(deadline, async {
            tokio::select! {
                changed = news.changed() => changed.is_ok(),
                () = ended(&mut ending) => false,
            }
        });
        if !matches!(woken.await, Ok(true)) {
            return Ok(Vec::new());
        }
    }
}

pub(super) async fn log(app: &ServerContext, head: &Parts) -> Result<Response, ApiError> {
    access::caller(app, &head.headers).await?;
    let query = Query::parse(head.uri.query())?;
    let page = app.bus.history(query.since, query.page()).await?;
    let last = page.last().map_or(query.since, |kept| kept.entry.seq.max(query.since));
    let more = !page.is_empty() && last < app.bus.head();
    Ok(json_text(format!("{{\"entries\":{},\"last_seq\":{last},\"more\":{more}}}", entries(app, &page))))
}

fn bodies(page: &[Arc<CachedMessage>]) -> String {
    list(page, |text, kept| text.push_str(&kept.entry.body))
}

fn entries(app: &ServerContext, page: &[Arc<CachedMessage>]) -> String {
    let session = Value::from(app.bus.session().as_str()).to_string();
    list(page, |text, kept| push_entry(text, &session, kept))
}

/// Writes one message with its sequence number, time, session (as JSON) and sender, none of which needs escaping.
pub(super) fn push_entry(text: &mut String, session: &str, kept: &CachedMessage) {
    let entry = &kept.entry;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{{\"seq\":{},\"timestamp_unix_secs\":{},\"at\":\"{}\",\"session\":{session},\"sender\":\"{}\",\"message\":{}}}",
        entry.seq,
        entry.at.as_second(),
        entry.at,
        entry.sender,
        entry.body
    );
}

fn list(page: &[Arc<CachedMessage>], push: impl Fn(&mut String, &CachedMessage)) -> String {
    let size: usize = page.iter().map(|kept| kept.entry.body.len() + 1).sum();
    let mut text = String::with_capacity(size + 2);
    text.push('[');
    for (index, kept) in page.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push(&mut text, kept);
    }
    text.push(']');
    text
}
