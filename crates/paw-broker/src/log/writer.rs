//! Many publishers, one commit: whoever comes while a commit is under way goes into the next one together.

use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::{io, mem};

use tokio::sync::{mpsc, oneshot, watch};

use super::{LogEntry, LogError, MessageDraft, MessageLog, PageLimit, SessionId};
use crate::cache::SessionCache;
use crate::message::Message;
use crate::open_questions::OpenQuestions;
use crate::route;

/// Publishers that may wait at once; more of them wait to be let in.
const QUEUE: usize = 1024;
const BATCH: usize = 512;
/// Messages after which the records are saved, which bounds what a start has to read again.
const SNAPSHOT_EVERY: u64 = 2048;

/// How a publisher learns what became of its message.
type PublishReply = oneshot::Sender<Result<PublishReceipt, LogError>>;

/// A message that was stored. It goes back to its publisher, whose thread made it and can best do away with it.
#[derive(Debug)]
pub(crate) struct PublishReceipt {
    pub(crate) seq: u64,
    _message: Option<Message>,
}

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum WriterJob {
    Publish {
        draft: Box<MessageDraft>,
        done: PublishReply,
    },
    /// Other processes may have written.
    Refresh,
    Stop,
}

/// What the writer works on.
#[derive(Debug)]
pub(crate) struct WriterContext {
    pub(crate) log: Arc<dyn MessageLog>,
    pub(crate) session: SessionId,
    pub(crate) memory: Arc<RwLock<SessionCache>>,
    pub(crate) head: watch::Sender<u64>,
    /// Whether commits are followed by a nudge to verify them.
    pub(crate) nudge: bool,
}

pub(crate) fn start(desk: WriterContext) -> io::Result<(mpsc::Sender<WriterJob>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let mut writer = Writer { desk, questions: OpenQuestions::default(), saved: 0, waiting: None, receiver };
    let thread = thread::Builder::new().name("paw-log".into()).spawn(move || writer.run())?;
    Ok((sender, thread))
}

struct Writer {
    desk: WriterContext,
    questions: OpenQuestions,
    /// The number up to which the records were saved.
    saved: u64,
    /// A job that did not fit into the batch before it.
    waiting: Option<WriterJob>,
    receiver: mpsc::Receiver<WriterJob>,
}

#[derive(Default)]
struct Batch {
    drafts: Vec<MessageDraft>,
    /// Who waits for which of the drafts.
    publishers: Vec<(usize, PublishReply)>,
}

impl Writer {
    fn run(&mut self) {
        self.saved = self.desk.memory().head();
        while let Some(job) = self.waiting.take().or_else(|| self.receiver.blocking_recv()) {
            let mut batch = Batch::default();
            let goes_on = self.fill(&mut batch, job);
            self.commit(batch);
            if !goes_on {
                break;
            }
        }
        // Whoever asks from now on is told that nobody is here; whoever waits already is served.
        self.receiver.close();
        let mut batch = Batch::default();
        while let Some(job) = self.waiting.take().or_else(|| self.receiver.blocking_recv()) {
            self.fill(&mut batch, job);
            self.commit(mem::take(&mut batch));
        }
        self.save_records();
    }

    /// Takes `job` and whatever else waits already. Whether to go on afterwards.
    fn fill(&mut self, batch: &mut Batch, job: WriterJob) -> bool {
        let mut next = Some(job);
        while let Some(job) = next.take() {
            match job {
                WriterJob::Stop => return false,
                WriterJob::Refresh => self.read_what_others_wrote(),
                WriterJob::Publish { draft, done } => {
                    if batch.asks_the_same(&draft.message) {
                        self.waiting = Some(WriterJob::Publish { draft, done });
                        return true;
                    }
                    match self.questions.repeats(&draft.message, draft.at) {
                        Some(seq) => _ = done.send(Ok(PublishReceipt { seq, _message: Some(draft.message) })),
                        None => batch.push(*draft, done, self.desk.nudge),
                    }
                }
            }
            if batch.drafts.len() < BATCH {
                next = self.receiver.try_recv().ok();
            }
        }
        true
    }

    fn commit(&mut self, batch: Batch) {
        if batch.drafts.is_empty() {
            return;
        }
        let desk = &self.desk;
        let first = match desk.log.append(&desk.session, &batch.drafts) {
            Ok(first) => first,
            Err(error) => {
                tracing::warn!(%error, "messages were not stored");
                for (_, done) in batch.publishers {
                    // The publisher may have gone.
                    let _ = done.send(Err(error.repeat()));
                }
                return;
            }
        };
        if first > desk.memory().head() + 1 {
            self.read_what_others_wrote_before(first);
        }
        let desk = &self.desk;
        let (mut head, mut messages) = (first, Vec::with_capacity(batch.drafts.len()));
        let mut memory = desk.memory_mut();
        for (seq, MessageDraft { at, sender, audience, message, body }) in (first..).zip(batch.drafts) {
            self.questions.note(&message, at, seq);
            memory.add(LogEntry { seq, at, sender, audience, body }, Some(&message));
            messages.push(Some(message));
            head = seq;
        }
        drop(memory);
        // First, so that a publisher that subscribes after its answer does not get its own message.
        desk.head.send_replace(head);
        for (index, done) in batch.publishers {
            let receipt = PublishReceipt { seq: first + index as u64, _message: messages[index].take() };
            let _ = done.send(Ok(receipt));
        }
        if head >= self.saved + SNAPSHOT_EVERY {
            self.save_records();
        }
    }

    fn read_what_others_wrote(&mut self) {
        match self.desk.log.head() {
            Ok(head) if head > self.desk.memory().head() => {
                self.read_what_others_wrote_before(head + 1);
                self.desk.memory_mut().advance(head);
                self.desk.head.send_replace(head);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot look for messages of other processes"),
        }
    }

    fn read_what_others_wrote_before(&mut self, end: u64) {
        let desk = &self.desk;
        let mut since = desk.memory().head();
        loop {
            let page = match desk.log.history(&desk.session, since, PageLimit::DEFAULT) {
                Ok(page) => page,
                Err(error) => return tracing::warn!(%error, "cannot read messages of other processes"),
            };
            let mut memory = desk.memory_mut();
            let Some(last) = page.last().map(|entry| entry.seq) else { return };
            for entry in page.into_iter().filter(|entry| entry.seq < end) {
                let stored = entry.stored(&desk.session);
                if let Some(stored) = &stored {
                    self.questions.note(&stored.message, stored.at, stored.seq);
                }
                memory.add(entry, stored.as_ref().map(|stored| &stored.message));
            }
            if last + 1 >= end {
                return;
            }
            since = last;
        }
    }

    fn save_records(&mut self) {
        let desk = &self.desk;
        let (head, records) = {
            let memory = desk.memory();
            (memory.head(), serde_json::to_string(memory.records()))
        };
        let Ok(records) = records else { return };
        // A start reads more again then, that is all.
        if let Err(error) = desk.log.save_snapshot(&desk.session, head, &records) {
            tracing::debug!(%error, "records were not saved");
        }
        self.saved = head;
    }
}

impl WriterContext {
    fn memory(&self) -> std::sync::RwLockReadGuard<'_, SessionCache> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory_mut(&self) -> std::sync::RwLockWriteGuard<'_, SessionCache> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    fn push(&mut self, draft: MessageDraft, done: PublishReply, nudge: bool) {
        self.publishers.push((self.drafts.len(), done));
        let reply = if nudge { route::reply(&draft.message) } else { None };
        let at = draft.at;
        self.drafts.push(draft);
        self.drafts.extend(reply.map(|reply| MessageDraft::new(reply, at)));
    }

    /// Whether the same question is in it already, so that its number is not known yet.
    fn asks_the_same(&self, message: &Message) -> bool {
        matches!(message, Message::Question(_)) && self.drafts.iter().any(|draft| draft.message == *message)
    }
}
