//! What the log keeps about replication: where messages came from, and how far the stream was read.
//!
//! A message is identified by its host, the epoch of that host's log and its sequence number there. The log starts a new epoch
//! whenever it joins a stream, so that a log that lost its newest messages never gives an id away twice.

use std::fmt;
use std::sync::Arc;

use paw_core::HostName;
use serde::{Deserialize, Serialize};

use super::MessageDraft;

macro_rules! hexadecimal_id {
    ($name:ident) => {
        impl $name {
            pub fn random() -> Self {
                Self(uuid::Uuid::now_v7().simple().to_string().into())
            }

            /// `None` unless the text has 32 hexadecimal digits.
            pub fn parse(text: &str) -> Option<Self> {
                let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                (text.len() == 32 && text.bytes().all(is_digit)).then(|| Self(text.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                Self::parse(&text).ok_or_else(|| format!("'{text}' does not have 32 hexadecimal digits"))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }
    };
}

/// The stream that replicates a session. Names of sessions are used again, so it has an id of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StreamId(Arc<str>);

hexadecimal_id!(StreamId);

/// A part of the history of a log: all messages from its first sequence number up to the next epoch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LogEpoch(Arc<str>);

hexadecimal_id!(LogEpoch);

/// The log that a replicated message was published to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    pub host: HostName,
    pub epoch: LogEpoch,
}

/// The last entry of the stream that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamCursor {
    /// Differs in a stream that was deleted and created again.
    pub incarnation: String,
    pub seq: u64,
    /// Identifies the entry. Another one at the same number means that the stream was restored from a backup.
    pub digest: String,
}

/// How far a stream was read, and what of this log is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamPosition {
    pub cursor: Option<StreamCursor>,
    /// The sequence number in the stream of this host's last entry.
    pub own_seq: u64,
    /// All local messages up to this sequence number are in the stream.
    pub sent: u64,
}

/// What the log knows about the stream of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaState {
    /// The epochs of this log with their first sequence numbers, oldest first.
    pub epochs: Vec<(u64, LogEpoch)>,
    /// The newest stored message of each origin.
    pub origins: Vec<(Origin, u64)>,
    pub position: StreamPosition,
    /// The hosts of the session, as the replicator saved them.
    pub roster: Option<String>,
}

/// A message of another host.
#[derive(Debug, Clone)]
pub struct ReplicatedMessage {
    pub origin: Origin,
    /// Its sequence number there.
    pub seq: u64,
    pub draft: MessageDraft,
}

/// What was read from a stream since the last commit.
#[derive(Debug, Clone, Default)]
pub struct StreamProgress {
    pub messages: Vec<ReplicatedMessage>,
    /// The newest message of each origin, also if it was not stored.
    pub origins: Vec<(Origin, u64)>,
    pub position: StreamPosition,
    /// Set if it changed.
    pub roster: Option<String>,
}
