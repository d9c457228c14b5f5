//! The durable log of messages: what is in it, and what any log must be able to do.
//!
//! - [`open`]: the log of a repository; the storage engine is chosen here and nowhere else
//! - [`MessageLog`]: what every engine can do; `sqlite` is the log of one machine
//! - [`StoredMessage`]: a message with its place, session, time and sender
//! - `writer`: many publishers, one commit

mod database;
mod error;
mod sqlite;
mod tokens;
pub(crate) mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use paw_core::AgentId;
use paw_core::config::Synchronous;
use serde::{Deserialize, Serialize};

pub use error::LogError;
use sqlite::SqliteLog;

use crate::identity::TokenHash;
use crate::message::Message;
use crate::route::{self, Audience};

/// Opens the log at `path`, and creates it if there is none. What is written survives the end of the process.
pub fn open(path: &Path) -> Result<Arc<dyn MessageLog>, LogError> {
    open_with(path, Synchronous::Normal)
}

/// [`open`], where the configuration decides whether a power failure may lose the newest messages.
pub fn open_with(path: &Path, synchronous: Synchronous) -> Result<Arc<dyn MessageLog>, LogError> {
    Ok(Arc::new(SqliteLog::open(path, synchronous)?))
}

/// Opens the log at `path`, if there is one.
pub fn find(path: &Path) -> Result<Option<Arc<dyn MessageLog>>, LogError> {
    path.exists().then(|| open(path)).transpose()
}

/// Which session a message belongs to. Cheap to copy, because every message carries one.
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

/// A message as the log holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its place in the log. Never given twice, not even after a restart or a purge.
    pub seq: u64,
    pub session: SessionId,
    /// When it was taken in, by the clock of whoever wrote it down.
    pub at: Timestamp,
    pub sender: AgentId,
    pub message: Message,
}

/// A message that is not in the log yet.
#[derive(Debug, Clone)]
pub struct MessageDraft {
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
            // As exact as the log keeps it, so that memory and log agree.
            at: Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at),
            sender: route::sender(&message).clone(),
            audience: message.audience(),
            body: message.to_text().into(),
            message,
        }
    }
}

/// A row of the log, its message still in JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub seq: u64,
    pub at: Timestamp,
    pub sender: AgentId,
    pub audience: Audience,
    pub body: Box<str>,
}

impl LogEntry {
    /// The message in full. Nothing if it was written by a version that knows types this one does not.
    pub fn stored(&self, session: &SessionId) -> Option<StoredMessage> {
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

/// How much one answer may hold. At least one message fits, however large it is.
#[derive(Debug, Clone, Copy)]
pub struct PageLimit {
    pub messages: usize,
    pub bytes: usize,
}

impl PageLimit {
    pub const DEFAULT: Self = Self { messages: 1000, bytes: 1 << 20 };

    /// Whether another message of `bytes` may follow `taken` ones with `size` bytes together.
    pub fn admits(self, taken: usize, size: usize, bytes: usize) -> bool {
        taken == 0 || (taken < self.messages && size.saturating_add(bytes) <= self.bytes)
    }
}

/// The newest message of one audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestSeq {
    pub audience: Audience,
    pub seq: u64,
}

/// A log that several processes may write to. Nothing here assumes one process or one clock: the log gives the
/// numbers, and a number that was seen once stands for everything before it.
pub trait MessageLog: Send + Sync + fmt::Debug {
    /// Makes `session` the current one, before its first message is there.
    fn begin(&self, session: &SessionId, now: Timestamp) -> Result<(), LogError>;

    /// The session that was written to or begun last.
    fn current_session(&self) -> Result<Option<SessionId>, LogError>;

    /// Adds messages in their order, all or none. They are durable when it returns, under consecutive numbers of
    /// which it returns the first.
    fn append(&self, session: &SessionId, drafts: &[MessageDraft]) -> Result<u64, LogError>;

    /// What is in an agent's inbox after `since`, oldest first.
    fn inbox(
        &self,
        session: &SessionId,
        agent: &AgentId,
        since: u64,
        limit: PageLimit,
    ) -> Result<Vec<LogEntry>, LogError>;

    /// Everything of a session after `since`, oldest first.
    fn history(&self, session: &SessionId, since: u64, limit: PageLimit) -> Result<Vec<LogEntry>, LogError>;

    /// The newest number given to anybody.
    fn head(&self) -> Result<u64, LogError>;

    /// Per audience of a session, its newest message.
    fn newest(&self, session: &SessionId) -> Result<Vec<NewestSeq>, LogError>;

    /// What was kept beside the log about the messages up to a number.
    fn load_snapshot(&self, session: &SessionId) -> Result<Option<(u64, String)>, LogError>;

    fn save_snapshot(&self, session: &SessionId, seq: u64, body: &str) -> Result<(), LogError>;

    /// Keeps the hash of an agent's token in place of an older one. Without a session it is valid in all of them.
    fn save_token(
        &self,
        session: Option<&SessionId>,
        agent: &AgentId,
        hash: TokenHash,
    ) -> Result<(), LogError>;

    fn delete_token(&self, session: &SessionId, agent: &AgentId) -> Result<(), LogError>;

    /// The tokens that are valid in a session.
    fn load_tokens(&self, session: &SessionId) -> Result<Vec<(AgentId, TokenHash)>, LogError>;

    /// Forgets a session and its tokens. Its numbers are not given again.
    fn purge(&self, session: &SessionId) -> Result<(), LogError>;
}
