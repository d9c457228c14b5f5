//! Every message there is. Pure: JSON in, a checked [`Message`] out, and back without losing a field.
//!
//! - one file per type: its fields, who it is for, and its words for people. A new type is such a file and an entry in
//!   the list below
//! - [`Message::parse`] reads and checks one; what it does not know it keeps in [`Extra`]
//! - [`Message::to_json`] writes it
//! - its `Display` is one line for people, safe to put on a terminal
//! - `wire`: how all types are read and written; `fields`: the checks of single fields

mod display;
mod error;
mod fields;
mod region;
mod wire;

use std::fmt;

use paw_core::AgentId;
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use error::MessageError;
use fields::{Fields, shown};
pub use fields::{agent_id, is_placeholder};
pub use region::{IntentFile, Region};
use wire::WireFormat;

use crate::route::Audience;

/// Fields that this version does not know, at both levels. They are given back as they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extra {
    /// Beside `type`, `agent_id` and `payload`.
    pub envelope: Map<String, Value>,
    /// Inside `payload`.
    pub payload: Map<String, Value>,
}

/// What a type of message means.
trait MessageType: WireFormat {
    /// Whether only the supervisor and the operator may send it.
    const PRIVILEGED: bool = false;

    /// Who sent it. Nothing for a request that has no sender of its own.
    fn sender(&self) -> Option<&AgentId> {
        Some(self.subject())
    }

    /// The word a person reads in a list: the status an agent gave, or the type of message.
    fn label(&self) -> &str {
        Self::TYPE.split_once('.').map_or(Self::TYPE, |(_, name)| name)
    }

    fn audience(&self) -> Audience;

    /// The line for people, after the subject.
    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "{}: {}", self.label(), self.summary())
    }

    /// The content without type and sender, for a view that shows those beside it.
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

        /// One message, as an agent, the person at the keyboard or one of our own loops sends it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Message {
            $($variant($name),)+
        }

        impl Message {
            /// The wire names of all types, in the order they are listed to people.
            pub const TYPES: [&str; [$($name::TYPE),+].len()] = [$($name::TYPE),+];

            fn read(name: &str, envelope: Fields) -> Result<Self, MessageError> {
                match name {
                    $($name::TYPE => wire::read::<$name>(envelope).map(Self::from),)+
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

            /// Who sent it. Which field says so depends on the type; nothing for a nudge, which has no sender.
            pub fn sender(&self) -> Option<&AgentId> {
                match self { $(Self::$variant(message) => message.sender(),)+ }
            }

            /// The agent it is about: whose work, question or branch.
            pub fn subject(&self) -> &AgentId {
                match self { $(Self::$variant(message) => message.subject(),)+ }
            }

            /// The word a person reads in a list: the status an agent gave, or the type of message.
            pub fn label(&self) -> &str {
                match self { $(Self::$variant(message) => message.label(),)+ }
            }

            /// Who it is for.
            pub fn audience(&self) -> Audience {
                match self { $(Self::$variant(message) => message.audience(),)+ }
            }

            /// The content without type and sender, for a view that shows those beside it. Not sanitized.
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
