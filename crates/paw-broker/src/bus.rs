//! The bus of one session: publish, read an inbox, follow everything. No network.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use paw_core::AgentId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::cache::{CacheLookup, CachedMessage, SessionCache};
use crate::log::writer::{self, WriterContext, WriterJob};
use crate::log::{LogEntry, LogError, MessageDraft, MessageLog, PageLimit, SessionId, StoredMessage};
use crate::message::Message;
use crate::record::AgentRecords;

/// The messages of one session, from any thread.
#[derive(Debug)]
pub struct Bus {
    session: SessionId,
    log: Arc<dyn MessageLog>,
    memory: Arc<RwLock<SessionCache>>,
    jobs: mpsc::Sender<WriterJob>,
    head: watch::Receiver<u64>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Bus {
    /// Reads what is known already and starts the writer. `nudge`: a commit is followed by a request to verify it.
    pub fn open(log: Arc<dyn MessageLog>, session: SessionId, nudge: bool) -> Result<Arc<Self>, LogError> {
        let memory = Arc::new(RwLock::new(remember(&*log, &session)?));
        let (head_sender, head) = watch::channel(read(&memory).head());
        let desk = WriterContext {
            log: Arc::clone(&log),
            session: session.clone(),
            memory: Arc::clone(&memory),
            head: head_sender,
            nudge,
        };
        let (jobs, writer) = writer::start(desk).map_err(|error| LogError::Failed(error.to_string()))?;
        Ok(Arc::new(Self { session, log, memory, jobs, head, writer: Mutex::new(Some(writer)) }))
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The newest number given.
    pub fn head(&self) -> u64 {
        *self.head.borrow()
    }

    /// Stores a message. When it returns a number, the message is durable under it.
    pub async fn publish(&self, message: Message, at: Timestamp) -> Result<u64, LogError> {
        let (done, answer) = oneshot::channel();
        let draft = Box::new(MessageDraft::new(message, at));
        self.jobs.send(WriterJob::Publish { draft, done }).await.map_err(|_| LogError::Closed)?;
        Ok(answer.await.map_err(|_| LogError::Closed)??.seq)
    }

    /// The same from a thread that may wait. Never call it on a runtime's own thread.
    pub fn publish_blocking(&self, message: Message, at: Timestamp) -> Result<u64, LogError> {
        let (done, answer) = oneshot::channel();
        let draft = Box::new(MessageDraft::new(message, at));
        self.jobs.blocking_send(WriterJob::Publish { draft, done }).map_err(|_| LogError::Closed)?;
        Ok(answer.blocking_recv().map_err(|_| LogError::Closed)??.seq)
    }

    /// What is in an inbox after `since`, oldest first.
    pub async fn inbox(
        &self,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
    ) -> Result<Vec<Arc<CachedMessage>>, LogError> {
        if let CacheLookup::Hit(page) = read(&self.memory).inbox(agent, since, limit) {
            return Ok(page);
        }
        let (log, session, agent) = (Arc::clone(&self.log), self.session.clone(), agent.clone());
        blocking(move || log.inbox(&session, &agent, since, limit)).await
    }

    /// Everything after `since`, oldest first.
    pub async fn history(&self, since: u64, limit: PageLimit) -> Result<Vec<Arc<CachedMessage>>, LogError> {
        if let CacheLookup::Hit(page) = read(&self.memory).history(since, limit) {
            return Ok(page);
        }
        let (log, session) = (Arc::clone(&self.log), self.session.clone());
        blocking(move || log.history(&session, since, limit)).await
    }

    /// Whether there is nothing for `agent` after `since`, as far as can be told without reading.
    pub fn is_empty_after(&self, agent: &AgentId, since: u64) -> bool {
        read(&self.memory).is_empty_after(agent, since)
    }

    /// What is known about every agent.
    pub fn records(&self) -> AgentRecords {
        read(&self.memory).records().clone()
    }

    /// The messages that hold now, oldest first: with them whoever starts late knows what the others know.
    pub fn state(&self) -> Result<Vec<StoredMessage>, LogError> {
        let one = PageLimit { messages: 1, bytes: 0 };
        let numbers = read(&self.memory).records().state();
        let mut found = Vec::with_capacity(numbers.len());
        for seq in numbers {
            let page = self.log.history(&self.session, seq - 1, one)?;
            found.extend(
                page.iter().filter(|entry| entry.seq == seq).filter_map(|entry| entry.stored(&self.session)),
            );
        }
        Ok(found)
    }

    /// Of the newest `span` messages those whose text is wanted, oldest first.
    pub fn recent(&self, span: u64, wanted: impl Fn(&str) -> bool) -> Result<Vec<StoredMessage>, LogError> {
        let mut since = self.head().saturating_sub(span);
        let mut found = Vec::new();
        loop {
            let page = self.log.history(&self.session, since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(found) };
            since = last.seq;
            let page = page.iter().filter(|entry| wanted(&entry.body));
            found.extend(page.filter_map(|entry| entry.stored(&self.session)));
        }
    }

    /// Everything from now on.
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        self.subscribe_after(self.head())
    }

    /// Everything after `since`, however long ago that was.
    pub fn subscribe_after(self: &Arc<Self>, since: u64) -> Subscription {
        let head = self.head.clone();
        Subscription { bus: Arc::clone(self), since, head, limit: PageLimit::DEFAULT }
    }

    /// Wakes whoever waits when there is news, or when the bus is closed.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.head.clone()
    }

    /// Looks for messages that other processes wrote.
    pub fn refresh(&self) {
        // A full queue means that the writer is about to notice by itself.
        let _ = self.jobs.try_send(WriterJob::Refresh);
    }

    /// Stores what waits already, takes nothing more, and wakes everybody. May wait; not for a runtime's own thread.
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
        // The writer ends when the last sender goes; nothing to wait for.
        let _ = self.jobs.try_send(WriterJob::Stop);
    }
}

/// A place in the stream of messages. It never misses one: what memory has let go is read from the log.
#[derive(Debug)]
pub struct Subscription {
    bus: Arc<Bus>,
    since: u64,
    head: watch::Receiver<u64>,
    limit: PageLimit,
}

impl Subscription {
    /// Hands out smaller or larger pages.
    #[must_use]
    pub fn with_limit(self, limit: PageLimit) -> Self {
        Self { limit, ..self }
    }

    pub fn session(&self) -> &SessionId {
        &self.bus.session
    }

    /// The number of the last message that was handed out.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// The next messages, as soon as there are some. Nothing when the bus is closed and all was read.
    pub async fn next(&mut self) -> Result<Option<Vec<Arc<CachedMessage>>>, LogError> {
        loop {
            let head = *self.head.borrow_and_update();
            let page = self.bus.history(self.since, self.limit).await?;
            if let Some(last) = page.last() {
                self.since = last.entry.seq;
                return Ok(Some(page));
            }
            self.since = self.since.max(head);
            if self.head.changed().await.is_err() && *self.head.borrow() <= self.since {
                return Ok(None);
            }
        }
    }

    /// The same for a thread: what is there within `limit`, or nothing.
    pub fn wait(&mut self, runtime: &tokio::runtime::Handle, limit: Duration) -> Vec<Arc<StoredMessage>> {
        let next = runtime.block_on(async { tokio::time::timeout(limit, self.next()).await });
        match next {
            Ok(Ok(Some(page))) => page.iter().filter_map(|kept| kept.stored(&self.bus.session)).collect(),
            _ => Vec::new(),
        }
    }
}

fn read(memory: &RwLock<SessionCache>) -> std::sync::RwLockReadGuard<'_, SessionCache> {
    memory.read().unwrap_or_else(PoisonError::into_inner)
}

/// Disks can be slow; a runtime's own threads must not wait for them.
async fn blocking(
    ask: impl FnOnce() -> Result<Vec<LogEntry>, LogError> + Send + 'static,
) -> Result<Vec<Arc<CachedMessage>>, LogError> {
    let page = tokio::task::spawn_blocking(ask).await.map_err(|_| LogError::Closed)??;
    Ok(page.into_iter().map(|entry| Arc::new(CachedMessage::new(entry))).collect())
}

/// What a start knows: the saved records, and every message since.
fn remember(log: &dyn MessageLog, session: &SessionId) -> Result<SessionCache, LogError> {
    let saved = log.load_snapshot(session)?;
    let saved = saved.and_then(|(seq, body)| Some((seq, serde_json::from_str(&body).ok()?)));
    let (mut since, records) = saved.unwrap_or((0, AgentRecords::default()));
    let head = log.head()?;
    let mut memory = SessionCache::new(since, &log.newest(session)?, records);
    loop {
        let page = log.history(session, since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { break };
        since = last.seq;
        for entry in page {
            let stored = entry.stored(session);
            memory.add(entry, stored.as_ref().map(|stored| &stored.message));
        }
    }
    memory.advance(head);
    Ok(memory)
}
