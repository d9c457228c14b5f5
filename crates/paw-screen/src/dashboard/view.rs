//! What the dashboard shows, as plain data.

use jiff::Timestamp;
use paw_core::AgentId;

use crate::text::Text;

/// Something new to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feed {
    /// Whose session this is.
    Header(Header),
    /// An agent as it is now; it takes the place of what was known about it.
    Agent(Agent),
    /// An agent that left the session.
    AgentGone(AgentId),
    /// A conflict as it is now, known by its key.
    Conflict(Conflict),
    /// The conflict of this key is over.
    ConflictCleared(String),
    Message(Message),
    /// An answer could not be handed over; the question is still open.
    AnswerFailed {
        question: u64,
        reason: Text,
    },
    /// Nothing comes any more, and why.
    Lost(Text),
    /// News come again.
    Found,
}

/// The line at the top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    pub session: Text,
    pub repository: Text,
    /// Where the broker listens, such as `127.0.0.1:9119`.
    pub address: Text,
    /// Senders do not prove who they are.
    pub open_to_all: bool,
}

/// One row of the table of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub mood: Mood,
    /// The agent's own word for what it does.
    pub state: Text,
    pub branch: Text,
    pub cli: Text,
    pub files: Vec<Text>,
    /// Nothing before its first message.
    pub last_seen: Option<Timestamp>,
    pub last_message: Text,
}

impl Agent {
    pub fn is_supervisor(&self) -> bool {
        self.id.as_str() == AgentId::SUPERVISOR
    }
}

/// What an agent's state means for whoever watches; it decides symbol and colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Working,
    Committed,
    Done,
    Verified,
    Blocked,
    Failed,
    Idle,
}

impl Mood {
    /// What a status word of an agent means.
    pub fn of(status: &str) -> Self {
        match status {
            "working" | "auto_approved" => Self::Working,
            "committed" => Self::Committed,
            "done" | "complete" | "pass" | "passed" => Self::Done,
            "verified" => Self::Verified,
            "blocked" | "waiting" => Self::Blocked,
            "failed" | "fail" | "error" | "stuck" => Self::Failed,
            _ => Self::Idle,
        }
    }
}

/// Two agents in each other's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Tells it apart from the others; the same conflict has the same key for as long as it lasts.
    pub key: String,
    pub kind: ConflictKind,
    pub file: Text,
    /// Lines such as `12-40`, where they are known.
    pub lines: Text,
    pub agents: [Text; 2],
    pub since: Timestamp,
    /// The whole story, for the detail view.
    pub story: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both plan to change it.
    Planned,
    /// Both are changing it, and it is not known whether that clashes.
    Shared,
    /// Both are changing it, and the changes fit together.
    Additive,
    /// Both changed it, and git cannot merge it.
    Clash,
    /// The first changed what the second had claimed.
    Trespass,
}

impl ConflictKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Shared => "shared",
            Self::Additive => "additive",
            Self::Clash => "conflict",
            Self::Trespass => "trespass",
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: Kind,
    pub from: Text,
    /// Empty when it is for everybody or nobody.
    pub to: Text,
    pub text: Text,
    /// Everything in the message, by name, for the detail view.
    pub fields: Vec<(Text, Text)>,
    pub role: Role,
}

/// What a message is in a conversation with the people in front of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    Plain,
    /// `asker` waits for an answer to `question`, kept word for word so that an answer can quote it.
    Question {
        asker: AgentId,
        question: String,
    },
    /// An answer for `asker`, to the question it quotes, or to the oldest one.
    Answer {
        asker: AgentId,
        quoted: Option<String>,
    },
}

/// The types of messages, as they are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Status,
    Artifact,
    Blocked,
    Verified,
    Feedback,
    Question,
    Answer,
    Intent,
    Main,
    Learning,
}

impl Kind {
    /// In the order of the keys `1` to `9` and `0`.
    pub const ALL: [Self; 10] = [
        Self::Status,
        Self::Artifact,
        Self::Blocked,
        Self::Verified,
        Self::Feedback,
        Self::Question,
        Self::Answer,
        Self::Intent,
        Self::Main,
        Self::Learning,
    ];

    pub fn of_key(key: char) -> Option<Self> {
        let place = match key.to_digit(10)? {
            0 => 9,
            digit => digit as usize - 1,
        };
        Self::ALL.get(place).copied()
    }

    pub fn key(self) -> char {
        match Self::ALL.iter().position(|kind| *kind == self) {
            Some(place @ 0..9) => char::from(b'1' + u8::try_from(place).unwrap_or(0)),
            _ => '0',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Artifact => "artifact",
            Self::Blocked => "blocked",
            Self::Verified => "verified",
            Self::Feedback => "feedback",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Intent => "intent",
            Self::Main => "main",
            Self::Learning => "learning",
        }
    }

    /// Four letters, for narrow screens.
    pub fn short(self) -> &'static str {
        match self {
            Self::Status => "stat",
            Self::Artifact => "arti",
            Self::Blocked => "bloc",
            Self::Verified => "veri",
            Self::Feedback => "feed",
            Self::Question => "ques",
            Self::Answer => "answ",
            Self::Intent => "inte",
            Self::Main => "main",
            Self::Learning => "lear",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_message_has_a_key_of_its_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_key(kind.key()), Some(kind));
        }
        assert_eq!(Kind::ALL.map(Kind::key).iter().collect::<String>(), "1234567890");
        assert_eq!(Kind::of_key('a'), None);
    }
}
