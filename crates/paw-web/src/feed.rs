//! What every open page is told: the whole state when it connects, then what changed. One document per line; a page that reads
//! slowly gets the whole state again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use paw_broker::StoredMessage;
use paw_view::{AgentView, MessageView, SessionView, ViewEvent};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, broadcast};

/// Changes that a page may miss before it gets everything again.
const BACKLOG: usize = 64;
/// Messages in the first document, and at most in a change: a page shows no more, and searches for older ones.
pub(crate) const RECENT: usize = 200;

/// The state of the session for pages.
#[derive(Debug)]
pub(crate) struct Feed {
    state: Mutex<FeedState>,
    changes: broadcast::Sender<Arc<str>>,
    arrived: Notify,
}

#[derive(Debug)]
struct FeedState {
    view: SessionView,
    /// The parts as they were sent last, by name.
    sent: BTreeMap<&'static str, Value>,
    /// The agents as they were sent last, by id.
    agents: BTreeMap<String, Value>,
    order: Vec<String>,
    last_message: u64,
    /// The newest messages that are not in the view's list yet. They are prepared for display when a page is told, since most
    /// messages of a flood are replaced before that.
    unlisted: VecDeque<Arc<StoredMessage>>,
    /// Parts that do not come from the view, such as running jobs.
    extra: BTreeMap<&'static str, Value>,
}

/// A page's place in the feed.
#[derive(Debug)]
pub(crate) struct FeedReader {
    changes: broadcast::Receiver<Arc<str>>,
    first: Option<Arc<str>>,
}

impl Feed {
    pub(crate) fn new(view: SessionView) -> Arc<Self> {
        let state = FeedState {
            last_message: view.last_seq,
            view,
            sent: BTreeMap::new(),
            agents: BTreeMap::new(),
            order: Vec::new(),
            unlisted: VecDeque::new(),
            extra: BTreeMap::new(),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changes: broadcast::channel(BACKLOG).0,
            arrived: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies events without telling anyone yet.
    pub(crate) fn apply(&self, events: impl IntoIterator<Item = ViewEvent>) {
        let mut state = self.state();
        for event in events {
            state.view.apply(event);
        }
    }

    /// Like [`Self::apply`], for messages that were read together.
    pub(crate) fn apply_messages(&self, page: &[Arc<StoredMessage>]) {
        let mut state = self.state();
        state.view.fold_messages(page);
        let page = &page[page.len().saturating_sub(RECENT)..];
        let outdated = (state.unlisted.len() + page.len()).saturating_sub(RECENT);
        state.unlisted.drain(..outdated);
        state.unlisted.extend(page.iter().cloned());
    }

    /// Replaces a part that does not come from the view.
    pub(crate) fn set(&self, part: &'static str, value: Value) {
        self.state().extra.insert(part, value);
    }

    /// Whether a page is open.
    pub(crate) fn has_readers(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// Tells the open pages what changed. Without a page, nothing is computed.
    pub(crate) fn flush(&self, now: Timestamp) {
        if !self.has_readers() {
            return;
        }
        let mut state = self.state();
        if let Some(change) = state.change(now) {
            // Without readers nothing is sent.
            let _ = self.changes.send(line(change));
        }
    }

    pub(crate) fn subscribe(&self, now: Timestamp) -> FeedReader {
        let mut state = self.state();
        // Other pages have to see what changed before this one takes the state.
        if let Some(change) = state.change(now) {
            let _ = self.changes.send(line(change));
        }
        let changes = self.changes.subscribe();
        self.arrived.notify_waiters();
        FeedReader { changes, first: Some(line(state.everything(now))) }
    }

    /// Waits until a page is open.
    pub(crate) async fn wait_for_readers(&self) {
        let arrived = self.arrived.notified();
        if !self.has_readers() {
            arrived.await;
        }
    }

    /// Reads the current view. Its list of messages may be behind.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&SessionView) -> T) -> T {
        read(&self.state().view)
    }
}

impl FeedReader {
    /// The next line. `None` when the server ends.
    pub(crate) async fn next(&mut self, feed: &Feed, now: impl Fn() -> Timestamp) -> Option<Arc<str>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        match self.changes.recv().await {
            Ok(line) => Some(line),
            Err(broadcast::error::RecvError::Closed) => None,
            Err(broadcast::error::RecvError::Lagged(_)) => {
                *self = feed.subscribe(now());
                self.first.take()
            }
        }
    }
}

impl FeedState {
    /// Everything that changed since the last call.
    fn change(&mut self, now: Timestamp) -> Option<Map<String, Value>> {
        self.view.list_messages(self.unlisted.make_contiguous());
        self.unlisted.clear();
        let mut change = Map::new();
        for (name, value) in self.parts().collect::<Vec<_>>() {
            if self.sent.get(name) != Some(&value) {
                change.insert(name.to_owned(), value.clone());
                self.sent.insert(name, value);
            }
        }
        let agents: Vec<(String, Value)> = self.view.listed().map(Self::agent).collect();
        let order: Vec<String> = agents.iter().map(|(id, _)| id.clone()).collect();
        if order != self.order {
            change.insert("order".to_owned(), json!(order));
            self.agents.retain(|id, _| order.contains(id));
            self.order = order;
        }
        let changed: Map<String, Value> =
            agents.into_iter().filter(|(id, agent)| self.agents.get(id) != Some(agent)).collect();
        if !changed.is_empty() {
            self.agents.extend(changed.clone());
            change.insert("agents".to_owned(), Value::Object(changed));
        }
        let news = self.recent().filter(|message| message.seq > self.last_message);
        let news: Vec<&MessageView> = news.collect();
        if !news.is_empty() {
            change.insert("messages".to_owned(), json!(news));
        }
        self.last_message = self.view.last_seq;
        if change.is_empty() {
            return None;
        }
        change.insert("now".to_owned(), json!(now));
        Some(change)
    }

    fn everything(&self, now: Timestamp) -> Map<String, Value> {
        let mut all: Map<String, Value> =
            self.parts().map(|(name, value)| (name.to_owned(), value)).collect();
        let agents: Vec<(String, Value)> = self.view.listed().map(Self::agent).collect();
        all.insert("order".to_owned(), agents.iter().map(|(id, _)| id.as_str()).collect());
        all.insert("agents".to_owned(), Value::Object(agents.into_iter().collect()));
        all.insert("messages".to_owned(), json!(self.recent().collect::<Vec<_>>()));
        all.insert("whole".to_owned(), Value::Bool(true));
        all.insert("version".to_owned(), Value::from(env!("CARGO_PKG_VERSION")));
        all.insert("now".to_owned(), json!(now));
        all
    }

    fn recent(&self) -> impl Iterator<Item = &MessageView> {
        let skipped = self.view.messages.len().saturating_sub(RECENT);
        self.view.messages.iter().skip(skipped)
    }

    fn parts(&self) -> impl Iterator<Item = (&'static str, Value)> + use<'_> {
        let view = &self.view;
        let own = [
            ("session", json!(view.session)),
            ("supervisor", json!(view.supervisor)),
            ("questions", json!(view.open_questions().collect::<Vec<_>>())),
            ("conflicts", json!(view.conflicts)),
            ("needs", json!(view.needs())),
        ];
        own.into_iter().chain(self.extra.iter().map(|(name, value)| (*name, value.clone())))
    }

    /// An agent with its status in one word.
    fn agent(agent: &AgentView) -> (String, Value) {
        let mut value = json!(agent);
        let (category, word) = agent.status();
        value["status_category"] = json!(category);
        value["status"] = Value::from(word);
        value["since"] = json!(agent.since());
        value["verification"] = json!(agent.verification());
        value["cli"] = Value::from(agent.cli());
        // When it was looked at last changes with every look.
        if let Some(seen) = value.get_mut("observed").and_then(Value::as_object_mut) {
            seen.remove("at");
        }
        (agent.id.to_string(), value)
    }
}

fn line(document: Map<String, Value>) -> Arc<str> {
    let mut text = Value::Object(document).to_string();
    text.push('\n');
    text.into()
}

#[cfg(test)]
mod tests;
