//! All message types. Pure: parses JSON into a validated [`Message`] and back, without losing a field.
//!
//! - one file per type: its fields, its audience and its text. A new type is a new file and an entry in the list below
//! - [`Message::parse`] reads and validates a message; unknown fields are kept in [`Extra`]
//! - [`Message::to_json`] writes it
//! - `Display` is one line of text, safe to print on a terminal
//! - `wire`: reading and writing, for all types; `fields`: validation of single fields

mod display;
mod error;
mod fields;
mod object;
mod region;
mod wire;

use std::fmt;

use paw_core::AgentId;
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use error::MessageError;
use fields::{Fields, shown};
pub use fields::{agent_id, is_placeholder};
use object::Payload;
pub use region::{IntentFile, Region};
pub use status::StatusSource;
use wire::WireFormat;

use crate::route::Audience;

/// Fields that this version does not know, at both levels. They are written back unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extra {
    /// Next to `type`, `agent_id` and `payload`.
    pub envelope: Map<String, Value>,
    /// Inside `payload`.
    pub payload: Map<String, Value>,
}

/// The behaviour of a message type.
trait MessageType: WireFormat {
    /// Whether only the supervisor and the operator may send it.
    const PRIVILEGED: bool = false;

    /// The sender. `None` for a type without one.
    fn sender(&self) -> Option<&AgentId> {
        Some(self.subject())
    }

    /// The word to show in a list: the agent's status, or the message type.
    fn label(&self) -> &str {
        Self::TYPE.split_once('.').map_or(Self::TYPE, |(_, name)| name)
    }

    fn audience(&self) -> Audience;

    /// The text after the subject.
    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "{}: {}", self.label(), self.summary())
    }

    /// The content without type and sender, for a view that shows those separately.
    fn summary(&self) -> String;
}

macro_rules! messages {
    ($($variant:ident($name:ident) in $file:ident,)+) => {
        $(mod $file;
        pub use $file::$name;

        impl From<$name> for Message {
            fn from(message: $name) -> Self {
                Self::$variant(message)
            }
        })+

        /// A message from an agent, the operator or git paw itself.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Message {
            $($variant($name),)+
        }

        impl Message {
            /// The wire names of all types, in the order of error messages.
            pub const TYPES: [&str; [$($name::TYPE),+].len()] = [$($name::TYPE),+];

            fn read(name: &str, envelope: Fields<'_>, payload: Option<Payload<'_>>) -> Result<Self, MessageError> {
                match name {
                    $($name::TYPE => wire::read::<$name>(envelope, payload).map(Self::from),)+
                    _ => Err(MessageError::UnknownType(shown(name))),
                }
            }

            /// The wire name of its type.
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name::TYPE,)+ }
            }

            /// Whether only the supervisor and the operator may send it.
            pub fn is_privileged(&self) -> bool {
                match self { $(Self::$variant(_) => $name::PRIVILEGED,)+ }
            }

            /// Which part of the session's process sent it; `None` for messages of agents and people.
            pub fn source(&self) -> Option<StatusSource> {
                if let Self::Status(status) = self { status.source() } else { None }
            }

            /// The sender. The field depends on the type; `None` for a type without a sender.
            pub fn sender(&self) -> Option<&AgentId> {
                match self { $(Self::$variant(message) => message.sender(),)+ }
            }

            /// The agent the message is about.
            pub fn subject(&self) -> &AgentId {
                match self { $(Self::$variant(message) => message.subject(),)+ }
            }

            /// The word to show in a list: the agent's status, or the message type.
            pub fn label(&self) -> &str {
                match self { $(Self::$variant(message) => message.label(),)+ }
            }

            /// The inboxes the message appears in.
            pub fn audience(&self) -> Audience {
                match self { $(Self::$variant(message) => message.audience(),)+ }
            }

            /// The content without type and sender, for a view that shows those separately. Not sanitized.
            pub fn summary(&self) -> String {
                match self { $(Self::$variant(message) => message.summary(),)+ }
            }

            pub fn extra(&self) -> &Extra {
                match self { $(Self::$variant(message) => &message.extra,)+ }
            }

            pub fn extra_mut(&mut self) -> &mut Extra {
                match self { $(Self::$variant(message) => &mut message.extra,)+ }
            }

            fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
                match self { $(Self::$variant(message) => message.describe(f),)+ }
            }
        }

        impl Serialize for Message {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(message) => wire::write(message, serializer),)+ }
            }
        }
    };
}

messages! {
    Status(StatusMessage) in status,
    Artifact(ArtifactMessage) in artifact,
    Blocked(BlockedMessage) in blocked,
    Verified(VerifiedMessage) in verified,
    Feedback(FeedbackMessage) in feedback,
    Question(QuestionMessage) in question,
    Intent(IntentMessage) in intent,
    AdvancedMain(AdvancedMainMessage) in advanced_main,
    Learning(LearningMessage) in learning,
    VerifyNow(VerifyNowMessage) in verify_now,
    Answer(AnswerMessage) in answer,
}

fn short_commit(commit: &str) -> String {
    commit.chars().take(9).collect()
}
