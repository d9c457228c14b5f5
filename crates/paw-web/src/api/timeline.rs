//! What happened when: one lane per agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::http::request::Parts;
use paw_broker::conflict::{ConflictLevel, ConflictReport};
use paw_broker::log::PageLimit;
use paw_broker::{Message, StoredMessage};
use paw_core::{PawError, text};
use paw_view::AgentState;
use serde_json::{Value, json};

use super::query;
use crate::app::App;
use crate::response::{Response, WebRefusal, json};

/// Messages that are read for the picture.
const SPAN: u64 = 20_000;
/// Marks in one lane; older ones are left out.
const MOST_MARKS: usize = 400;

pub(crate) async fn load(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let span = query(&head.uri, "messages").and_then(|count| count.parse().ok()).unwrap_or(SPAN).min(SPAN);
    let mut since = app.bus.head().saturating_sub(span);
    let mut lanes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    loop {
        let page = app.bus.history(since, PageLimit::DEFAULT).await.map_err(PawError::from)?;
        let Some(last) = page.last().map(|kept| kept.entry.seq) else { break };
        since = last;
        for stored in page.iter().filter_map(|kept| kept.parse(app.bus.session())) {
            if let Some(mark) = mark(&stored) {
                let lane = lanes.entry(stored.message.subject().to_string()).or_default();
                if lane.last().is_none_or(|before| {
                    before["what"] != mark["what"]
                        || mark["what"] != "state"
                        || before["state"] != mark["state"]
                }) {
                    lane.push(mark);
                }
            }
        }
    }
    for lane in lanes.values_mut() {
        let skipped = lane.len().saturating_sub(MOST_MARKS);
        lane.drain(..skipped);
    }
    Ok(json(&json!({"lanes": lanes})))
}

fn is_warning(message: &Message) -> bool {
    ConflictReport::find(message).is_some_and(|facts| facts.level != ConflictLevel::Cleared)
}

/// What a message shows in the picture.
fn mark(stored: &StoredMessage) -> Option<Value> {
    let (what, state) = match &stored.message {
        // Only what was observed is a state; a list of changed files is not.
        Message::Status(status) => ("state", Some(AgentState::find(status.phase.as_deref()?)?.name())),
        Message::Artifact(_) => ("commit", None),
        Message::Verified(_) => ("verified", None),
        Message::Question(_) => ("question", None),
        Message::Answer(_) => ("answer", None),
        Message::Blocked(_) => ("blocked", None),
        Message::Feedback(_) if is_warning(&stored.message) => ("conflict", None),
        Message::Feedback(_) => ("feedback", None),
        Message::AdvancedMain(_) => ("main", None),
        Message::Intent(_) | Message::Learning(_) | Message::VerifyNow(_) => return None,
    };
    let shown = text::truncate_chars(&stored.message.summary(), 200).into_owned();
    Some(json!({"at": stored.at, "seq": stored.seq, "what": what, "state": state, "text": shown}))
}
