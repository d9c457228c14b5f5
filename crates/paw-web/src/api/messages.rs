//! Messages, newest first, and searching them.

use std::sync::Arc;

use hyper::http::request::Parts;
use paw_broker::log::PageLimit;
use paw_core::PawError;
use paw_view::MessageView;
use serde_json::json;

use super::query;
use crate::app::App;
use crate::response::{Response, WebRefusal, json};

/// Messages in one answer.
const PAGE: usize = 100;
/// Messages that one request looks at. A search continues from where it stopped.
const SPAN: u64 = 5_000;

pub(crate) async fn search(app: &Arc<App>, head: &Parts) -> Result<Response, WebRefusal> {
    app.require_login(head)?;
    let words = query(&head.uri, "q").unwrap_or_default().to_lowercase();
    let agent = query(&head.uri, "agent").unwrap_or_default();
    let kind = query(&head.uri, "kind").unwrap_or_default();
    let before = query(&head.uri, "before").and_then(|before| before.parse().ok()).unwrap_or(u64::MAX);
    let end = before.min(app.bus.head().saturating_add(1));
    let start = end.saturating_sub(SPAN + 1);
    let mut since = start;
    let mut found: Vec<MessageView> = Vec::new();
    loop {
        let page = app.bus.history(since, PageLimit::DEFAULT).await.map_err(PawError::from)?;
        let Some(last) = page.last().map(|kept| kept.entry.seq) else { break };
        let messages = page.iter().filter(|kept| kept.entry.seq < end);
        let messages = messages.filter_map(|kept| kept.parse(app.bus.session()));
        found.extend(messages.map(|stored| MessageView::from(&*stored)).filter(|message| {
            (agent.is_empty()
                || message.from.as_str() == agent
                || message.to.as_ref().is_some_and(|to| to.as_str() == agent))
                && (kind.is_empty() || message.kind.word() == kind)
                && (words.is_empty() || has(message, &words))
        }));
        since = last;
        if last + 1 >= end {
            break;
        }
    }
    let skipped = found.len().saturating_sub(PAGE);
    // Where the next request continues.
    let next = if skipped > 0 { found[skipped].seq } else { start + 1 };
    let mut page = found.split_off(skipped);
    page.reverse();
    Ok(json(&json!({"messages": page, "next": (next > 1).then_some(next)})))
}

fn has(message: &MessageView, words: &str) -> bool {
    let texts = message.fields.iter().map(|(_, text)| text.as_str());
    texts
        .chain([message.text.as_str(), message.from.as_str()])
        .any(|text| text.to_lowercase().contains(words))
}
