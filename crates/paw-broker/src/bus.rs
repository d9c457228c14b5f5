//! The bus of one session: publish, read an inbox, follow everything. No network.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::AgentId;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::cache::{CacheLookup, CachedMessage, SessionCache};
use crate::log::writer::{self, WriterContext, WriterJob};
use crate::log::{
    LogEntry, LogError, MessageDraft, MessageLog, PageLimit, SendId, SessionId, StoredMessage, StreamId,
    StreamProgress,
};
use crate::message::Message;
use crate::record::AgentRecords;

/// The messages of one session, from any thread.
#[derive(Debug)]
pub struct Bus {
    session: SessionId,
    log: Arc<dyn MessageLog>,
    cache: Arc<RwLock<SessionCache>>,
    jobs: mpsc::Sender<WriterJob>,
    head: watch::Receiver<u64>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// How far each agent has read, as far as it is saved.
    shown: Mutex<HashMap<AgentId, u64>>,
}

impl Bus {
    /// Loads the session's state and starts the writer. `nudge`: a request to verify follows each commit message.
    pub fn open(log: Arc<dyn MessageLog>, session: SessionId, nudge: bool) -> Result<Arc<Self>, LogError> {
        let cache = Arc::new(RwLock::new(load_cache(&*log, &session)?));
        let (head_sender, head) = watch::channel(read(&cache).head());
        let context = WriterContext {
            log: Arc::clone(&log),
            session: session.clone(),
            cache: Arc::clone(&cache),
            head: head_sender,
            nudge,
        };
        let (jobs, writer) = writer::start(context).map_err(|error| LogError::Failed(error.to_string()))?;
        Ok(Arc::new(Self {
            session,
            log,
            cache,
            jobs,
            head,
            writer: Mutex::new(Some(writer)),
            shown: Mutex::default(),
        }))
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The log that stores the messages.
    pub fn log(&self) -> &Arc<dyn MessageLog> {
        &self.log
    }

    /// The newest sequence number.
    pub fn head(&self) -> u64 {
        *self.head.borrow()
    }

    /// Stores a message, and returns its sequence number when it is durable.
    pub async fn publish(&self, message: Message, at: Timestamp) -> Result<u64, LogError> {
        self.publish_once(message, at, None).await
    }

    /// Like [`Self::publish`]. If a message of the same sender was stored under the same id, returns its number instead.
    pub async fn publish_once(
        &self,
        message: Message,
        at: Timestamp,
        id: Option<SendId>,
    ) -> Result<u64, LogError> {
        let (done, answer) = oneshot::channel();
        let draft = Box::new(MessageDraft::new(message, at).with_id(id));
        self.jobs.send(WriterJob::Publish { draft, done }).await.map_err(|_| LogError::Closed)?;
        answer.await.map_err(|_| LogError::Closed)?
    }

    /// Like [`Self::publish`], for threads outside of the runtime. Blocks.
    pub fn publish_blocking(&self, message: Message, at: Timestamp) -> Result<u64, LogError> {
        self.publish_once_blocking(message, at, None)
    }

    /// Like [`Self::publish_once`], for threads outside of the runtime. Blocks.
    pub fn publish_once_blocking(
        &self,
        message: Message,
        at: Timestamp,
        id: Option<SendId>,
    ) -> Result<u64, LogError> {
        let (done, answer) = oneshot::channel();
        let draft = Box::new(MessageDraft::new(message, at).with_id(id));
        self.jobs.blocking_send(WriterJob::Publish { draft, done }).map_err(|_| LogError::Closed)?;
        answer.blocking_recv().map_err(|_| LogError::Closed)?
    }

    /// The messages in an inbox after `since`, oldest first. Which of them a moved agent has read elsewhere is in the log.
    pub async fn inbox(
        &self,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
        is_moved: bool,
    ) -> Result<Vec<Arc<CachedMessage>>, LogError> {
        if let CacheLookup::Hit(page) = read(&self.cache).inbox(agent, since, limit)
            && (page.is_empty() || !is_moved)
        {
            return Ok(page);
        }
        let (log, session, agent) = (Arc::clone(&self.log), self.session.clone(), agent.clone());
        read_log(move || log.inbox(&session, &agent, since, limit)).await
    }

    /// Remembers that an agent was shown its messages up to `seq`, without waiting for the log.
    pub fn note_read(&self, agent: &AgentId, seq: u64) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.get(agent).is_some_and(|known| *known >= seq) {
            return;
        }
        shown.insert(agent.clone(), seq);
        let (log, session, agent) = (Arc::clone(&self.log), self.session.clone(), agent.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = log.note_read(&session, &agent, seq) {
                tracing::debug!(%error, "cannot save what an agent has read");
            }
        });
    }

    /// All messages after `since`, oldest first.
    pub async fn history(&self, since: u64, limit: PageLimit) -> Result<Vec<Arc<CachedMessage>>, LogError> {
        if let CacheLookup::Hit(page) = read(&self.cache).history(since, limit) {
            return Ok(page);
        }
        let (log, session) = (Arc::clone(&self.log), self.session.clone());
        read_log(move || log.history(&session, since, limit)).await
    }

    /// Whether the inbox of `agent` has no messages after `since`. Reads no log, so it may return false for an empty
    /// inbox.
    pub fn is_empty_after(&self, agent: &AgentId, since: u64) -> bool {
        read(&self.cache).is_empty_after(agent, since)
    }

    /// Whether the sender of a message is known, or there is room for another agent.
    pub fn has_room_for(&self, message: &Message) -> bool {
        message.sender().is_none_or(|sender| read(&self.cache).records().has_room_for(sender))
    }

    /// The record of every agent.
    pub fn records(&self) -> AgentRecords {
        read(&self.cache).records().clone()
    }

    /// The records, and the sequence number of the newest message in them.
    pub fn records_with_head(&self) -> (AgentRecords, u64) {
        let cache = read(&self.cache);
        (cache.records().clone(), cache.head())
    }

    /// Loads the messages that make up the current state, oldest first. A reader that starts late needs no others.
    pub fn load_state(&self) -> Result<Vec<StoredMessage>, LogError> {
        let one = PageLimit { messages: 1, bytes: 0 };
        let numbers = read(&self.cache).records().state_messages();
        let mut found = Vec::with_capacity(numbers.len());
        for seq in numbers {
            let page = self.log.history(&self.session, seq - 1, one)?;
            found.extend(
                page.iter().filter(|entry| entry.seq == seq).filter_map(|entry| entry.parse(&self.session)),
            );
        }
        Ok(found)
    }

    /// Loads those of the newest `span` messages whose JSON matches `wanted`, oldest first.
    pub fn load_recent(
        &self,
        span: u64,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<StoredMessage>, LogError> {
        let mut since = self.head().saturating_sub(span);
        let mut found = Vec::new();
        loop {
            let page = self.log.history(&self.session, since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(found) };
            since = last.seq;
            let page = page.iter().filter(|entry| wanted(&entry.body));
            found.extend(page.filter_map(|entry| entry.parse(&self.session)));
        }
    }

    /// All messages from now on.
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        self.subscribe_after(self.head())
    }

    /// All messages after `since`, however old.
    pub fn subscribe_after(self: &Arc<Self>, since: u64) -> Subscription {
        let head = self.head.clone();
        let (limit, pause) = (PageLimit::DEFAULT, Duration::ZERO);
        Subscription { bus: Arc::clone(self), since, head, limit, pause, last_page: None }
    }

    /// Changes when a message is stored, and closes with the bus.
    pub fn head_changes(&self) -> watch::Receiver<u64> {
        self.head.clone()
    }

    /// Stores messages of other hosts, and how far their stream was read. They are durable and readable when it returns.
    pub async fn append_replicated(
        &self,
        stream: StreamId,
        progress: StreamProgress,
    ) -> Result<(), LogError> {
        let (done, answer) = oneshot::channel();
        let job = WriterJob::Replicate { stream, progress: Box::new(progress), done };
        self.jobs.send(job).await.map_err(|_| LogError::Closed)?;
        answer.await.map_err(|_| LogError::Closed)?
    }

    /// Reads messages that other processes wrote.
    pub fn refresh(&self) {
        // If the queue is full, the writer is about to notice anyway.
        let _ = self.jobs.try_send(WriterJob::Refresh);
    }

    /// Resolves when no message can be stored any more: the bus was closed, or its writer has crashed.
    pub async fn closed(&self) {
        self.jobs.closed().await;
    }

    /// Stores the queued messages, refuses new ones, and wakes all readers. Blocks; not for threads of the runtime.
    pub fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = self.jobs.blocking_send(WriterJob::Stop);
            let _ = writer.join();
        }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // The writer also ends when the last sender is dropped.
        let _ = self.jobs.try_send(WriterJob::Stop);
    }
}

/// The pause after a failed read.
const READ_RETRY: Duration = Duration::from_secs(1);

/// A position in the stream of messages. It never misses one: messages that left the cache are read from the log.
#[derive(Debug)]
pub struct Subscription {
    bus: Arc<Bus>,
    since: u64,
    head: watch::Receiver<u64>,
    limit: PageLimit,
    /// The least time between two pages.
    pause: Duration,
    last_page: Option<Instant>,
}

impl Subscription {
    /// Waits this long between two pages, so that a reader is not woken for every commit while many messages arrive. A message
    /// after a quiet moment is still read at once.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Changes the pause of [`Self::with_pause`].
    pub fn set_pause(&mut self, pause: Duration) {
        self.pause = pause;
    }

    /// Sets the size of the pages.
    #[must_use]
    pub fn with_limit(self, limit: PageLimit) -> Self {
        Self { limit, ..self }
    }

    pub fn session(&self) -> &SessionId {
        &self.bus.session
    }

    /// The newest sequence number of the bus.
    pub fn newest(&self) -> u64 {
        self.bus.head()
    }

    /// The sequence number of the last message that was returned.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// Waits for the next messages. `None` when the bus is closed and all messages were read.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<CachedMessage>>>, LogError> {
        if let Some(last) = self.last_page.filter(|_| !self.pause.is_zero()) {
            tokio::time::sleep_until(last + self.pause).await;
        }
        loop {
            let head = *self.head.borrow_and_update();
            let page = self.bus.history(self.since, self.limit).await?;
            if let Some(last) = page.last() {
                self.since = last.entry.seq;
                // A reader that is behind does not wait.
                let is_full = page.len() >= self.limit.messages;
                self.last_page = (!self.pause.is_zero() && !is_full).then(Instant::now);
                return Ok(Some(page));
            }
            self.since = self.since.max(head);
            if self.head.changed().await.is_err() && *self.head.borrow() <= self.since {
                return Ok(None);
            }
        }
    }

    /// Like [`Self::next`], and tries again after a failed read: a part of the session that stopped reading would be missed
    /// silently. `None` when the bus is closed.
    pub async fn next_page(&mut self) -> Option<Vec<Arc<CachedMessage>>> {
        loop {
            match self.next().await {
                Ok(page) => return page,
                Err(LogError::Closed | LogError::Purged) => return None,
                Err(error) => {
                    tracing::warn!(target: "paw::broker", "cannot read messages: {error}");
                    tokio::time::sleep(READ_RETRY).await;
                }
            }
        }
    }

    /// Like [`Self::next`], for a thread outside of the runtime. Empty if no message arrives within `limit`.
    pub fn wait(&mut self, runtime: &tokio::runtime::Handle, limit: Duration) -> Vec<Arc<StoredMessage>> {
        let next = runtime.block_on(async { tokio::time::timeout(limit, self.next()).await });
        match next {
            Ok(Ok(Some(page))) => page.iter().filter_map(|kept| kept.parse(&self.bus.session)).collect(),
            _ => Vec::new(),
        }
    }
}

fn read(cache: &RwLock<SessionCache>) -> std::sync::RwLockReadGuard<'_, SessionCache> {
    cache.read().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the log on a blocking thread: disks can be slow.
async fn read_log(
    read: impl FnOnce() -> Result<Vec<LogEntry>, LogError> + Send + 'static,
) -> Result<Vec<Arc<CachedMessage>>, LogError> {
    let page = tokio::task::spawn_blocking(read).await.map_err(|_| LogError::Closed)??;
    Ok(page.into_iter().map(|entry| Arc::new(CachedMessage::new(entry))).collect())
}

/// The cache at a start: the saved records, and all messages since.
fn load_cache(log: &dyn MessageLog, session: &SessionId) -> Result<SessionCache, LogError> {
    let saved = log.load_snapshot(session)?;
    let saved = saved.and_then(|(seq, body)| Some((seq, serde_json::from_str(&body).ok()?)));
    let (mut since, records) = saved.unwrap_or((0, AgentRecords::default()));
    let head = log.head()?;
    let mut cache = SessionCache::new(since, &log.newest(session)?, records);
    loop {
        let page = log.history(session, since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { break };
        since = last.seq;
        for entry in page {
            let stored = entry.parse(session);
            cache.add(entry, stored);
        }
    }
    cache.advance(head);
    Ok(cache)
}
