//! Replicates the messages of one session, in both directions.
//!
//! Nothing here is on the path of a local publish: it reads the log behind it, and a broken connection only makes it wait.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use paw_broker::bus::Bus;
use paw_broker::log::{LogEntry, LogError, MessageLog, PageLimit};
use paw_core::{Diagnostic, ErrorReport};
use paw_host::signing::SecretKey;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::batch::{Batch, BatchHeader, BatchRow};
use crate::nats::{NatsEntries, NatsEntry, NatsError, NatsSettings, NatsStream, SendOutcome};
use crate::outbox::{LARGEST_MESSAGE, Outbox};
use crate::pace::Pace;
use crate::reader::{ReadAgain, SkippedEntry, StreamReader};
use crate::roster::Roster;

const SHORTEST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Entries that are read before anything else is done, and bytes that are stored with one commit.
const READ_ENTRIES: usize = 500;
const READ_BYTES: usize = 4 << 20;
/// The least time between two commits of a position alone.
const POSITION_PAUSE: Duration = Duration::from_secs(1);

/// What a replicator needs.
#[derive(Debug)]
pub struct ReplicatorSettings {
    pub nats: NatsSettings,
    pub bus: Arc<Bus>,
    pub log: Arc<dyn MessageLog>,
    /// Signs the batches of this host.
    pub key: SecretKey,
    /// The hosts of the session. The hub announces each change in the stream; elsewhere only the first value counts.
    pub roster: watch::Receiver<Roster>,
}

/// How replication is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicationStatus {
    /// Why there is no connection, or why it does not help.
    pub problem: Option<ReplicationProblem>,
    pub is_connected: bool,
    /// The last entry that was read, and the last one that is known to exist.
    pub read: u64,
    pub last: u64,
    /// Local messages up to this one are in the stream.
    pub sent: u64,
    /// The version of the roster that the hub has stored in the stream. Agents that are in it may start.
    pub announced: u64,
    /// Entries and messages that were skipped.
    pub skipped: u64,
}

/// Why messages are not replicated now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicationProblem {
    #[error("another machine is the hub of this session, and runs")]
    OtherHub,
    #[error("{0}")]
    Other(String),
}

/// Replication has ended and will not start again.
#[derive(Debug, thiserror::Error)]
pub enum ReplicationError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Nats(#[from] NatsError),
}

impl Diagnostic for ReplicationError {
    fn report(&self) -> ErrorReport {
        match self {
            Self::Log(error) => error.report(),
            Self::Nats(error) => error.report(),
        }
    }
}

/// Why a connection is not used any longer.
enum Interruption {
    /// The stream has to be read from another place, or over another connection.
    Again,
    /// Another process is the hub of the session.
    OtherHub,
    Nats(NatsError),
    Log(LogError),
}

impl From<NatsError> for Interruption {
    fn from(error: NatsError) -> Self {
        Self::Nats(error)
    }
}

impl From<ReadAgain> for Interruption {
    fn from(_: ReadAgain) -> Self {
        Self::Again
    }
}

type SendFuture = Pin<Box<dyn Future<Output = SendOutcome> + Send>>;

/// Replicates one session until it is dropped.
pub struct Replicator {
    settings: ReplicatorSettings,
    nats: NatsStream,
    reader: StreamReader,
    outbox: Outbox,
    sending: Option<SendFuture>,
    /// The version of the roster in the batch that is on its way.
    announcing: u64,
    send_at: Instant,
    pace: Pace,
    stored_at: Instant,
    store_pause: Duration,
    /// Bytes that were read since then.
    unstored: usize,
    failures: u32,
    nonce: u64,
    /// The stream was read as this host before.
    has_joined: bool,
    incarnation: String,
    /// What was reported, so that a hostile host does not fill the log.
    reported: BTreeSet<(String, String)>,
    status: watch::Sender<ReplicationStatus>,
}

impl std::fmt::Debug for Replicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicator").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Replicator {
    /// Joins the stream. Fails if the session was purged here. Needs no connection yet.
    pub async fn open(
        settings: ReplicatorSettings,
    ) -> Result<(Self, watch::Receiver<ReplicationStatus>), ReplicationError> {
        let nats = NatsStream::connect(settings.nats.clone()).await?;
        let reader = join(&settings).await?;
        let outbox = Outbox::new(reader.epochs().clone());
        let (status, receiver) = watch::channel(ReplicationStatus::default());
        let replicator = Self {
            settings,
            nats,
            reader,
            outbox,
            sending: None,
            announcing: 0,
            send_at: Instant::now(),
            pace: Pace::default(),
            stored_at: Instant::now(),
            store_pause: Duration::ZERO,
            unstored: 0,
            failures: 0,
            nonce: 0,
            has_joined: false,
            incarnation: String::new(),
            reported: BTreeSet::new(),
            status,
        };
        Ok((replicator, receiver))
    }

    /// Replicates until the session is purged or its bus is closed. May be dropped at any moment.
    pub async fn run(mut self) -> ReplicationError {
        let mut retry = SHORTEST_RETRY;
        loop {
            let started = Instant::now();
            let interruption = match self.replicate().await {
                Err(interruption) => interruption,
                Ok(never) => match never {},
            };
            self.sending = None;
            self.outbox.reset();
            let interruption = match interruption {
                Interruption::Log(_) => interruption,
                // What was read is stored before anything waits.
                _ => self.store().await.err().unwrap_or(interruption),
            };
            match interruption {
                Interruption::Log(error) => {
                    if let Err(error) = self.join_again(error).await {
                        return error.into();
                    }
                }
                Interruption::Nats(error) => {
                    tracing::debug!(target: "paw::cluster", "replication waits: {error}");
                    self.set_problem(ReplicationProblem::Other(error.to_string()));
                }
                Interruption::OtherHub => {
                    self.set_problem(ReplicationProblem::OtherHub);
                }
                Interruption::Again => {}
            }
            if started.elapsed() > LONGEST_RETRY {
                retry = SHORTEST_RETRY;
            }
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LONGEST_RETRY);
        }
    }

    /// What was read is not stored, so the log decides where to continue. Fails if it never can.
    async fn join_again(&mut self, mut error: LogError) -> Result<(), LogError> {
        let mut retry = SHORTEST_RETRY;
        loop {
            if matches!(error, LogError::Purged | LogError::Closed) {
                return Err(error);
            }
            tracing::warn!(target: "paw::cluster", "cannot store messages of other hosts: {error}");
            self.set_problem(ReplicationProblem::Other(error.to_string()));
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LONGEST_RETRY);
            match join(&self.settings).await {
                Ok(reader) => {
                    // Joining starts an epoch, so outbox and reader start over.
                    self.outbox = Outbox::new(reader.epochs().clone());
                    self.reader = reader;
                    return Ok(());
                }
                Err(another) => error = another,
            }
        }
    }

    fn set_problem(&self, problem: ReplicationProblem) {
        self.status.send_modify(|status| status.problem = Some(problem));
    }

    /// Uses one connection as long as it lasts.
    async fn replicate(&mut self) -> Result<std::convert::Infallible, Interruption> {
        let mut connections = self.nats.connections();
        self.status.send_modify(|status| status.is_connected = false);
        let mut refusal = self.nats.refusal();
        while !self.nats.is_connected() {
            let reason = refusal.borrow_and_update().clone();
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            self.set_problem(ReplicationProblem::Other(format!("no NATS server answers{reason}")));
            // The senders live in the client.
            let changed = tokio::select! {
                changed = connections.changed() => changed,
                changed = refusal.changed() => changed,
            };
            changed.map_err(|_| Interruption::Again)?;
        }
        connections.borrow_and_update();
        let state = self.nats.open().await?;
        if state.incarnation != self.incarnation {
            self.incarnation.clone_from(&state.incarnation);
            self.status.send_modify(|status| status.announced = 0);
        }
        // Two hubs would overwrite each other's decisions. On another host, its session's lock prevents a second process.
        if self.settings.nats.is_hub && !self.has_joined && self.nats.has_other_reader().await? {
            return Err(Interruption::OtherHub);
        }
        let start = self.reader.start(&state.incarnation, state.last);
        let mut entries = self.nats.read_from(start).await?;
        self.has_joined = true;
        self.outbox.reset();
        self.outbox.ends_at(state.last);
        self.note_end(state.last);
        self.status.send_modify(|status| (status.is_connected, status.problem) = (true, None));
        let mut head = self.settings.bus.head_changes();
        loop {
            // Nothing is read from the log before it can be sent, so that a message does not wake the replicator during a pause.
            let is_due = Instant::now() >= self.send_at;
            let may_send = is_due && self.sending.is_none();
            if may_send {
                self.prepare_to_send().await?;
                let newest = *head.borrow_and_update();
                self.fill_outbox(newest).await?;
                self.send();
            }
            let is_waiting = may_send && self.sending.is_none() && self.outbox.wants_more();
            let (has_progress, store_at) = (self.reader.has_progress(), self.store_at());
            tokio::select! {
                entry = entries.next() => self.read(entry?, &mut entries).await?,
                outcome = wait_for(&mut self.sending) => self.handle_outcome(outcome),
                changed = head.changed(), if is_waiting => changed.map_err(|_| Interruption::Log(LogError::Closed))?,
                () = tokio::time::sleep_until(self.send_at), if !is_due => {}
                () = tokio::time::sleep_until(store_at), if has_progress => self.store().await?,
                changed = self.settings.roster.changed(), if self.settings.nats.is_hub => {
                    changed.map_err(|_| Interruption::Log(LogError::Closed))?;
                }
                _ = connections.changed() => return Err(Interruption::Again),
            }
        }
    }

    fn note_end(&self, last: u64) {
        let read = self.reader.position().cursor.as_ref().map_or(0, |cursor| cursor.seq);
        let sent = self.outbox.sent();
        self.status.send_if_modified(|status| {
            let before = status.clone();
            (status.read, status.last, status.sent) = (read, last.max(read), sent);
            *status != before
        });
    }

    /// After a batch that may not be stored, asks the stream where it ends, and continues from there once it was read.
    async fn prepare_to_send(&mut self) -> Result<(), Interruption> {
        if self.outbox.needs_end() {
            let state = self.nats.open().await?;
            let read = self.reader.position().cursor.as_ref().map_or(0, |cursor| cursor.seq);
            if state.incarnation != self.incarnation || state.last < read {
                return Err(Interruption::Again);
            }
            self.outbox.ends_at(state.last);
            self.note_end(state.last);
        }
        self.outbox.has_read(self.reader.position());
        Ok(())
    }

    /// Reads local messages until there are enough for a batch, or all up to `newest`.
    async fn fill_outbox(&mut self, newest: u64) -> Result<(), Interruption> {
        while self.outbox.wants_more() && self.outbox.read() < newest {
            let page = self.settings.bus.history(self.outbox.read(), PageLimit::DEFAULT).await;
            let page = page.map_err(Interruption::Log)?;
            // Numbers without a message belong to other sessions.
            let read = page.last().map_or(newest, |kept| kept.entry.seq);
            self.outbox.add(page.iter().filter_map(|kept| outgoing(&kept.entry)), read);
        }
        Ok(())
    }

    fn has_news(&self) -> bool {
        self.settings.nats.is_hub && self.settings.roster.borrow().version > self.status.borrow().announced
    }

    /// When the messages that were read are stored: at once after a quiet moment. While many arrive, those of a few milliseconds
    /// share a commit. A position alone is stored rarely, so that nothing is written for messages of this host.
    fn store_at(&self) -> Instant {
        self.stored_at + if self.reader.has_news() { self.store_pause } else { POSITION_PAUSE }
    }

    /// Reads this entry and those that have arrived.
    async fn read(&mut self, first: NatsEntry, entries: &mut NatsEntries) -> Result<(), Interruption> {
        let (mut next, mut count, mut size, now) = (Some(first), 0, 0, Instant::now());
        let (mut result, mut interrupted) = (Ok(()), None);
        while let Some(entry) = next.take() {
            count += 1;
            size += entry.size();
            let entry = entry.as_entry();
            self.pace.note(entry.host, now);
            result = self.reader.read(&entry);
            if result.is_err() || count >= READ_ENTRIES || size >= READ_BYTES {
                break;
            }
            tokio::select! {
                biased;
                entry = entries.next() => match entry {
                    Ok(entry) => next = Some(entry),
                    Err(error) => interrupted = Some(error),
                },
                () = std::future::ready(()) => {}
            }
        }
        self.unstored += size;
        if result.is_err() || self.unstored >= READ_BYTES {
            self.store().await?;
        }
        self.report_skipped();
        if self.reader.take_own_gap() {
            self.outbox.reset();
        }
        if !self.reader.has_news() {
            let last = self.status.borrow().last;
            self.note_end(last);
        }
        result?;
        interrupted.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn store(&mut self) -> Result<(), Interruption> {
        let Some(progress) = self.reader.take_progress() else { return Ok(()) };
        let stream = self.settings.nats.stream.clone();
        self.settings.bus.append_replicated(stream, progress).await.map_err(Interruption::Log)?;
        self.unstored = 0;
        self.stored_at = Instant::now();
        self.store_pause = self.pace.pause(self.stored_at) / 2;
        let last = self.status.borrow().last;
        self.note_end(last);
        Ok(())
    }

    fn report_skipped(&mut self) {
        for SkippedEntry { seq, host, reason } in self.reader.take_skipped() {
            self.status.send_modify(|status| status.skipped += 1);
            let reason = reason.to_string();
            if self.reported.len() < 100 && self.reported.insert((host.clone(), reason.clone())) {
                tracing::warn!(target: "paw::cluster", "skipped entry {seq} of the host '{host}': {reason}");
            }
        }
    }

    fn send(&mut self) {
        let roster = self.has_news().then(|| self.settings.roster.borrow().clone());
        let Some(next) = self.outbox.next(roster.is_some()) else { return };
        let (now, size) = (Instant::now(), next.rows.iter().map(BatchRow::size).sum());
        self.send_at = now + self.pace.pause_after(size, now);
        self.nonce += 1;
        let NatsSettings { stream, host, .. } = &self.settings.nats;
        let nonce = format!("{}-{}", paw_host::clock::now().as_nanosecond(), self.nonce);
        let mut header = BatchHeader::new(stream.clone(), host.clone(), next.epoch, nonce);
        header.after = next.after;
        self.announcing = roster.as_ref().map_or(0, |roster| roster.version);
        header.roster = roster;
        let batch = Batch { header, rows: next.rows }.sign(&self.settings.key);
        let nats = self.nats.clone();
        self.sending = Some(Box::pin(async move { nats.send(batch, next.expected).await }));
    }

    fn handle_outcome(&mut self, outcome: SendOutcome) {
        self.sending = None;
        match outcome {
            SendOutcome::Stored(seq) => {
                self.failures = 0;
                self.outbox.stored(seq);
                let announced = self.announcing;
                self.status.send_modify(|status| {
                    (status.announced, status.problem) = (status.announced.max(announced), None);
                });
                self.note_end(seq);
                return;
            }
            SendOutcome::NotNext => {
                tracing::debug!(target: "paw::cluster", "the stream has another last batch of this host");
            }
            SendOutcome::Unknown(reason) => {
                tracing::debug!(target: "paw::cluster", "a batch may not be stored: {reason}");
                self.set_problem(ReplicationProblem::Other(reason));
            }
        }
        self.outbox.reset();
        self.send_at = Instant::now() + (SHORTEST_RETRY * 2_u32.pow(self.failures.min(6))).min(LONGEST_RETRY);
        self.failures += 1;
    }
}

async fn join(settings: &ReplicatorSettings) -> Result<StreamReader, LogError> {
    let (log, session) = (Arc::clone(&settings.log), settings.bus.session().clone());
    let NatsSettings { stream, host, .. } = settings.nats.clone();
    let joined = stream.clone();
    let state = tokio::task::spawn_blocking(move || log.join_stream(&session, &joined)).await;
    let state = state.map_err(|_| LogError::Closed)??;
    Ok(StreamReader::new(stream, host, state, settings.roster.borrow().clone()))
}

/// The outcome of the batch that is on its way, if there is one.
async fn wait_for(sending: &mut Option<SendFuture>) -> SendOutcome {
    match sending {
        Some(sending) => sending.await,
        None => std::future::pending().await,
    }
}

/// The row of a message that goes to other hosts: a local one that fits.
fn outgoing(entry: &LogEntry) -> Option<BatchRow<'static>> {
    if entry.is_replicated {
        return None;
    }
    if entry.body.len() > LARGEST_MESSAGE {
        tracing::warn!(target: "paw::cluster", "message {} is too large for other hosts", entry.seq);
        return None;
    }
    Some(BatchRow { seq: entry.seq, at: entry.at, body: entry.body.to_string().into() })
}
