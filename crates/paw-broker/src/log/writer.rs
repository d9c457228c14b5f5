//! The writer thread. Messages that arrive during a commit go into the next commit together.

use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::{io, mem};

use tokio::sync::{mpsc, oneshot, watch};

use super::{
    LogEntry, LogError, MessageDraft, MessageLog, PageLimit, SessionId, StoredMessage, StreamId,
    StreamProgress,
};
use crate::cache::SessionCache;
use crate::message::Message;
use crate::open_questions::OpenQuestions;

/// Messages in the queue. Further publishers wait for room.
const QUEUE: usize = 1024;
const BATCH: usize = 512;
/// How often the writer lets publishers run before it commits less than [`BATCH`]. A commit costs as much for one message as for
/// twenty, and so does waking a sleeping writer.
const YIELDS: usize = 2;
/// Messages between two snapshots of the records. Bounds how many messages a start has to read.
const SNAPSHOT_EVERY: u64 = 2048;

/// Reports the result to the publisher.
type PublishReply = oneshot::Sender<Result<u64, LogError>>;

/// A job for the writer.
#[derive(Debug)]
pub(crate) enum WriterJob {
    Publish {
        draft: Box<MessageDraft>,
        done: PublishReply,
    },
    /// Messages of other hosts.
    Replicate {
        stream: StreamId,
        progress: Box<StreamProgress>,
        done: oneshot::Sender<Result<(), LogError>>,
    },
    /// Other processes may have written.
    Refresh,
    Stop,
}

/// What the writer needs.
#[derive(Debug)]
pub(crate) struct WriterContext {
    pub(crate) log: Arc<dyn MessageLog>,
    pub(crate) session: SessionId,
    pub(crate) cache: Arc<RwLock<SessionCache>>,
    pub(crate) head: watch::Sender<u64>,
    /// Whether a request to verify follows each commit message.
    pub(crate) nudge: bool,
}

pub(crate) fn start(context: WriterContext) -> io::Result<(mpsc::Sender<WriterJob>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let mut writer = Writer {
        context,
        questions: OpenQuestions::default(),
        saved: 0,
        waiting: None,
        receiver,
        is_busy: false,
    };
    let thread = thread::Builder::new().name("paw-log".into()).spawn(move || writer.run())?;
    Ok((sender, thread))
}

struct Writer {
    context: WriterContext,
    questions: OpenQuestions,
    /// The sequence number that the last snapshot covers.
    saved: u64,
    /// A job that did not fit into the batch before it.
    waiting: Option<WriterJob>,
    receiver: mpsc::Receiver<WriterJob>,
    /// Several publishers waited for the last commit.
    is_busy: bool,
}

#[derive(Default)]
struct Batch {
    drafts: Vec<MessageDraft>,
    /// The publishers that wait for a draft, with its index.
    publishers: Vec<(usize, PublishReply)>,
}

impl Writer {
    fn run(&mut self) {
        self.saved = self.context.cache().head();
        while let Some(job) = self.next_job() {
            let mut batch = Batch::default();
            let keep_running = self.fill(&mut batch, job);
            self.is_busy = batch.publishers.len() > 1;
            self.commit(batch);
            if !keep_running {
                break;
            }
        }
        // New jobs are refused; jobs in the queue are still written.
        self.receiver.close();
        let mut batch = Batch::default();
        while let Some(job) = self.waiting.take().or_else(|| self.receiver.blocking_recv()) {
            self.fill(&mut batch, job);
            self.commit(mem::take(&mut batch));
        }
        self.save_records();
    }

    fn next_job(&mut self) -> Option<WriterJob> {
        let waiting = self.waiting.take().or_else(|| self.try_next(YIELDS));
        waiting.or_else(|| self.receiver.blocking_recv())
    }

    /// The next job in the queue. While several publishers are active, they may run so many times to add one.
    fn try_next(&mut self, yields: usize) -> Option<WriterJob> {
        let yields = if self.is_busy { yields } else { 0 };
        let mut next = self.receiver.try_recv().ok();
        for _ in 0..yields {
            if next.is_some() {
                break;
            }
            thread::yield_now();
            next = self.receiver.try_recv().ok();
        }
        next
    }

    /// Adds `job` and the other jobs in the queue to the batch. Returns whether the writer keeps running.
    fn fill(&mut self, batch: &mut Batch, job: WriterJob) -> bool {
        let (mut next, mut yields) = (Some(job), YIELDS);
        while let Some(job) = next.take() {
            match job {
                WriterJob::Stop => return false,
                WriterJob::Refresh => self.read_external_messages(),
                WriterJob::Replicate { stream, progress, done } => {
                    // The replicator may be gone.
                    let _ = done.send(self.append_replicated(&stream, *progress));
                }
                WriterJob::Publish { draft, done } => {
                    if batch.repeats_question(&draft.message) {
                        self.waiting = Some(WriterJob::Publish { draft, done });
                        return true;
                    }
                    match self.questions.find_repeated(&draft.message, draft.at) {
                        Some(seq) => _ = done.send(Ok(seq)),
                        None => batch.push(*draft, done, self.context.nudge),
                    }
                }
            }
            if batch.drafts.len() < BATCH {
                next = self.receiver.try_recv().ok();
                if next.is_none() {
                    next = self.try_next(yields);
                    yields = 0;
                }
            }
        }
        true
    }

    fn commit(&mut self, batch: Batch) {
        if batch.drafts.is_empty() {
            return;
        }
        let context = &self.context;
        let appended = match context.log.append(&context.session, &batch.drafts) {
            Ok(appended) => appended,
            Err(error) => {
                tracing::warn!(%error, "cannot store messages");
                for (_, done) in batch.publishers {
                    // The publisher may have stopped waiting.
                    let _ = done.send(Err(error.duplicate()));
                }
                return;
            }
        };
        self.catch_up(appended.first);
        let context = &self.context;
        let mut head = appended.first - 1;
        let mut numbered = Vec::with_capacity(batch.drafts.len());
        let mut cache = context.cache_mut();
        let numbers = appended.numbers(batch.drafts.len());
        for ((seq, is_new), draft) in numbers.zip(batch.drafts) {
            let MessageDraft { at, sender, audience, message, body, id: _ } = draft;
            if is_new {
                self.questions.apply(&message, at, seq);
                let session = context.session.clone();
                let whole = StoredMessage { seq, session, at, sender: sender.clone(), message };
                let entry = LogEntry { seq, at, sender, audience, body, is_replicated: false };
                cache.add(entry, Some(whole));
                head = seq;
            }
            numbered.push(seq);
        }
        cache.advance(head);
        drop(cache);
        // First, so that a publisher that subscribes after its answer does not get its own message.
        context.head.send_replace(head);
        for (index, done) in batch.publishers {
            let _ = done.send(Ok(numbered[index]));
        }
        if head >= self.saved + SNAPSHOT_EVERY {
            self.save_records();
        }
    }

    /// Stores messages of other hosts. Automatic replies were added and questions are tracked where they were published.
    fn append_replicated(&mut self, stream: &StreamId, progress: StreamProgress) -> Result<(), LogError> {
        let context = &self.context;
        let first = context.log.append_replicated(&context.session, stream, &progress)?;
        if progress.messages.is_empty() {
            return Ok(());
        }
        self.catch_up(first);
        let context = &self.context;
        let mut cache = context.cache_mut();
        for (seq, replicated) in (first..).zip(progress.messages) {
            let MessageDraft { at, sender, audience, message, body, id: _ } = replicated.draft;
            let entry = LogEntry { seq, at, sender: sender.clone(), audience, body, is_replicated: true };
            if !entry.is_tracked_elsewhere(&message) {
                self.questions.apply(&message, at, seq);
            }
            let session = context.session.clone();
            cache.add(entry, Some(StoredMessage { seq, session, at, sender, message }));
        }
        let head = cache.head();
        drop(cache);
        context.head.send_replace(head);
        if head >= self.saved + SNAPSHOT_EVERY {
            self.save_records();
        }
        Ok(())
    }

    /// Reads the messages of other processes that were stored before `first`.
    fn catch_up(&mut self, first: u64) {
        if first > self.context.cache().head() + 1 {
            self.read_external_messages_before(first);
        }
    }

    fn read_external_messages(&mut self) {
        match self.context.log.head() {
            Ok(head) if head > self.context.cache().head() => {
                self.read_external_messages_before(head + 1);
                self.context.cache_mut().advance(head);
                self.context.head.send_replace(head);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot check for messages of other processes"),
        }
    }

    fn read_external_messages_before(&mut self, end: u64) {
        let context = &self.context;
        let mut since = context.cache().head();
        loop {
            let page = match context.log.history(&context.session, since, PageLimit::DEFAULT) {
                Ok(page) => page,
                Err(error) => return tracing::warn!(%error, "cannot read messages of other processes"),
            };
            let mut cache = context.cache_mut();
            let Some(last) = page.last().map(|entry| entry.seq) else { return };
            for entry in page.into_iter().filter(|entry| entry.seq < end) {
                let stored = entry.parse(&context.session);
                if let Some(stored) = &stored
                    && !entry.is_tracked_elsewhere(&stored.message)
                {
                    self.questions.apply(&stored.message, stored.at, stored.seq);
                }
                cache.add(entry, stored);
            }
            if last + 1 >= end {
                return;
            }
            since = last;
        }
    }

    fn save_records(&mut self) {
        let context = &self.context;
        let (head, records) = {
            let cache = context.cache();
            (cache.head(), serde_json::to_string(cache.records()))
        };
        let Ok(records) = records else { return };
        // Not fatal: the next start reads more messages.
        if let Err(error) = context.log.save_snapshot(&context.session, head, &records) {
            tracing::debug!(%error, "cannot save the records");
        }
        self.saved = head;
    }
}

impl WriterContext {
    fn cache(&self) -> std::sync::RwLockReadGuard<'_, SessionCache> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache_mut(&self) -> std::sync::RwLockWriteGuard<'_, SessionCache> {
        self.cache.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    fn push(&mut self, draft: MessageDraft, done: PublishReply, nudge: bool) {
        self.publishers.push((self.drafts.len(), done));
        let reply = draft.reply(nudge);
        self.drafts.push(draft);
        self.drafts.extend(reply);
    }

    /// Whether the batch already holds the same question, whose sequence number is not known yet.
    fn repeats_question(&self, message: &Message) -> bool {
        matches!(message, Message::Question(_)) && self.drafts.iter().any(|draft| draft.message == *message)
    }
}
