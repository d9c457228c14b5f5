//! The durable message log.
//!
//! - [`open`]: opens the log of a repository; the storage engine is chosen here and nowhere else
//! - [`MessageLog`]: the trait of all engines; `sqlite` is the log of one machine
//! - [`StoredMessage`]: a message with its sequence number, session, time and sender
//! - [`repair`]: rebuilds a damaged log
//! - `inbox`: whose inbox a message belongs to
//! - `read_marks`: what an agent has read, also on other hosts
//! - `replica`: what is kept about messages of other hosts
//! - `writer`: collects concurrent messages into one commit

mod database;
mod error;
mod inbox;
mod read_marks;
pub mod repair;
mod replica;
mod replica_tables;
mod sent;
mod sqlite;
mod tokens;
pub(crate) mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use paw_core::config::Synchronous;
use paw_core::{AgentId, HostName};
use serde::{Deserialize, Serialize};

pub use error::LogError;
pub use read_marks::ReadMark;
pub use replica::{
    LogEpoch, Origin, ReplicaState, ReplicatedMessage, StreamCursor, StreamId, StreamPosition, StreamProgress,
};
use sqlite::SqliteLog;

use crate::identity::TokenHash;
use crate::message::Message;
use crate::route::{self, Audience};

/// Opens the log at `path`, and creates it if it is missing. Messages survive the end of the process.
pub fn open(path: &Path) -> Result<Arc<dyn MessageLog>, LogError> {
    open_with(path, Synchronous::Normal)
}

/// Like [`open`]; `synchronous` decides whether a power failure may lose the newest messages.
pub fn open_with(path: &Path, synchronous: Synchronous) -> Result<Arc<dyn MessageLog>, LogError> {
    Ok(Arc::new(SqliteLog::open(path, synchronous)?))
}

/// Opens the log at `path` if it exists.
pub fn find(path: &Path) -> Result<Option<Arc<dyn MessageLog>>, LogError> {
    path.exists().then(|| open(path)).transpose()
}

/// The state of the log's files, which differs after every write. `None` if it is not known.
pub fn find_changes(path: &Path) -> Option<LogChanges> {
    database::find_changes(path).map(LogChanges)
}

/// Compares two states of the log's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChanges(database::FileStates);

/// The session of a message. Cheap to clone, because every message holds one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct SessionId(Arc<str>);

impl SessionId {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for SessionId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0.as_ref().to_owned()
    }
}

/// A message in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// The sequence number. Never used twice, not even after a restart or a purge.
    pub seq: u64,
    pub session: SessionId,
    /// When it was received, by the clock of the process that stored it.
    pub at: Timestamp,
    pub sender: AgentId,
    pub message: Message,
}

/// An id that the sender of a message chose, so that it can send the message again without storing it twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SendId(Box<str>);

impl SendId {
    const MAX_LENGTH: usize = 64;

    /// A new id. It contains the time, so that ids are stored next to each other.
    pub fn random() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string().into())
    }

    /// `None` unless the text is a short word of letters, digits, `-`, `_` and `.`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_valid = (1..=Self::MAX_LENGTH).contains(&text.len()) && text.bytes().all(is_plain);
        is_valid.then(|| Self(text.into()))
    }

    /// The id of the report of a commit. The hook and the watcher both report it, and it is stored once.
    pub fn of_commit(commit: &str) -> Option<Self> {
        Self::parse(&format!("commit-{commit}"))
    }

    /// The id of the feedback about a commit on another branch than the agent's own.
    pub fn of_stray_commit(commit: &str) -> Option<Self> {
        Self::parse(&format!("stray-{commit}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the automatic reply to the message.
    fn of_reply(&self) -> Self {
        Self(format!("{}/reply", self.0).into())
    }
}

/// A message that is not in the log yet.
#[derive(Debug, Clone)]
pub struct MessageDraft {
    pub id: Option<SendId>,
    pub at: Timestamp,
    pub sender: AgentId,
    pub audience: Audience,
    pub message: Message,
    /// The message as JSON.
    pub body: Box<str>,
}

impl MessageDraft {
    pub fn new(message: Message, at: Timestamp) -> Self {
        Self {
            id: None,
            // The precision of the log, so that the cache and the log agree.
            at: Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at),
            sender: route::sender(&message).clone(),
            audience: message.audience(),
            body: message.to_text().into(),
            message,
        }
    }

    /// Sets the id that the sender chose.
    #[must_use]
    pub fn with_id(self, id: Option<SendId>) -> Self {
        Self { id, ..self }
    }

    /// The automatic reply that follows the message, with an id of its own. `nudge`: also a request to verify.
    pub fn reply(&self, nudge: bool) -> Option<Self> {
        let reply = route::automatic_reply(&self.message, nudge)?;
        Some(Self::new(reply, self.at).with_id(self.id.as_ref().map(SendId::of_reply)))
    }
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The sequence number of the first new message. The others follow it in order.
    pub first: u64,
    /// Drafts that were stored before under the same id: their index and sequence number.
    pub known: Vec<(usize, u64)>,
}

impl Appended {
    /// The sequence number of every draft, and whether it is new.
    pub fn numbers(&self, drafts: usize) -> impl Iterator<Item = (u64, bool)> {
        let mut known = self.known.iter().peekable();
        let mut next = self.first;
        (0..drafts).map(move |index| {
            if let Some((_, seq)) = known.next_if(|(at, _)| *at == index) {
                return (*seq, false);
            }
            next += 1;
            (next - 1, true)
        })
    }
}

/// A row of the log; the message is not parsed yet.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub seq: u64,
    pub at: Timestamp,
    pub sender: AgentId,
    pub audience: Audience,
    pub body: Box<str>,
    /// It came from another host, where automatic replies were added and questions are tracked.
    pub is_replicated: bool,
}

impl LogEntry {
    /// Whether its message is a question that another host tracks. Its answer counts here as well.
    pub fn is_tracked_elsewhere(&self, message: &Message) -> bool {
        self.is_replicated && matches!(message, Message::Question(_))
    }

    /// The parsed message. `None` if a newer version wrote a type that this version does not know.
    pub fn parse(&self, session: &SessionId) -> Option<StoredMessage> {
        let message = Message::parse(self.body.as_bytes()).ok()?;
        Some(StoredMessage {
            seq: self.seq,
            session: session.clone(),
            at: self.at,
            sender: self.sender.clone(),
            message,
        })
    }
}

/// The size of a page. A page holds at least one message, however large it is.
#[derive(Debug, Clone, Copy)]
pub struct PageLimit {
    pub messages: usize,
    pub bytes: usize,
}

impl PageLimit {
    pub const DEFAULT: Self = Self { messages: 1000, bytes: 1 << 20 };

    /// Whether a page of `taken` messages with `size` bytes in total has room for another message of `bytes`.
    pub fn admits(self, taken: usize, size: usize, bytes: usize) -> bool {
        taken == 0 || (taken < self.messages && size.saturating_add(bytes) <= self.bytes)
    }
}

/// The sequence number of the newest message for one audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestSeq {
    pub audience: Audience,
    pub seq: u64,
}

/// A log that several processes may write to at once. The log assigns the sequence numbers; a reader that has seen a
/// number has seen everything before it.
pub trait MessageLog: Send + Sync + fmt::Debug {
    /// Makes `session` the current session, before its first message.
    fn begin(&self, session: &SessionId, now: Timestamp) -> Result<(), LogError>;

    /// The session that was started or written to last.
    fn current_session(&self) -> Result<Option<SessionId>, LogError>;

    /// Appends messages in order, all or none, except those whose sender and id are known. When it returns they are
    /// durable, with consecutive sequence numbers.
    fn append(&self, session: &SessionId, drafts: &[MessageDraft]) -> Result<Appended, LogError>;

    /// The messages in an agent's inbox after `since`, oldest first, without those that it has read on another host.
    fn inbox(
        &self,
        session: &SessionId,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
    ) -> Result<Vec<LogEntry>, LogError>;

    /// Remembers that an agent was shown its messages up to `seq`.
    fn note_read(&self, session: &SessionId, agent: &AgentId, seq: u64) -> Result<(), LogError>;

    /// What an agent has read, for a host that it moves to. `own` is the name of this host.
    fn load_read_marks(
        &self,
        session: &SessionId,
        agent: &AgentId,
        own: &HostName,
    ) -> Result<Vec<ReadMark>, LogError>;

    /// An agent that comes to this host, `own`, has read these messages.
    fn save_read_marks(&self, agent: &AgentId, own: &HostName, marks: &[ReadMark]) -> Result<(), LogError>;

    /// The agents that have read messages on another host.
    fn load_moved_agents(&self) -> Result<Vec<AgentId>, LogError>;

    /// All messages of a session after `since`, oldest first.
    fn history(&self, session: &SessionId, since: u64, limit: PageLimit) -> Result<Vec<LogEntry>, LogError>;

    /// The newest sequence number of all sessions.
    fn head(&self) -> Result<u64, LogError>;

    /// The newest sequence number for each audience of a session.
    fn newest(&self, session: &SessionId) -> Result<Vec<NewestSeq>, LogError>;

    /// The saved snapshot of a session's records, and the sequence number it covers.
    fn load_snapshot(&self, session: &SessionId) -> Result<Option<(u64, String)>, LogError>;

    fn save_snapshot(&self, session: &SessionId, seq: u64, body: &str) -> Result<(), LogError>;

    /// Saves the hash of an agent's token, replacing an older one. Without a session it is valid in every session.
    fn save_token(
        &self,
        session: Option<&SessionId>,
        agent: &AgentId,
        hash: TokenHash,
    ) -> Result<(), LogError>;

    /// Deletes an agent's token, and what it has read.
    fn delete_token(&self, session: &SessionId, agent: &AgentId) -> Result<(), LogError>;

    /// The tokens that are valid in a session.
    fn load_tokens(&self, session: &SessionId) -> Result<Vec<(AgentId, TokenHash)>, LogError>;

    /// Fills an empty log with messages that have their numbers, in ascending order. Numbers up to `head` are not used again.
    fn restore(&self, messages: &[(SessionId, LogEntry)], head: u64) -> Result<(), LogError>;

    /// Connects a session with a stream, starts a new epoch, and returns what is known about the stream. Fails if the stream's
    /// session was purged.
    fn join_stream(&self, session: &SessionId, stream: &StreamId) -> Result<ReplicaState, LogError>;

    /// Stores messages of other hosts and the position in the stream behind them, all or nothing. Returns the sequence number of
    /// the first message. The others follow it in order.
    fn append_replicated(
        &self,
        session: &SessionId,
        stream: &StreamId,
        progress: &StreamProgress,
    ) -> Result<u64, LogError>;

    /// Lets a stream be joined again whose session was purged here: its hub has invited this machine once more. Everything in the
    /// stream is read from the beginning.
    fn readmit_stream(&self, stream: &StreamId) -> Result<(), LogError>;

    /// Deletes a session and its tokens. Its sequence numbers are not reused, and nothing of it is replicated again.
    fn purge(&self, session: &SessionId) -> Result<(), LogError>;
}
