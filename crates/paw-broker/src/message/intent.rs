//! `agent.intent`: fields, audience and text.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_core::text::plural;

use super::fields::Fields;
use super::wire::message_type;
use super::{Audience, Extra, IntentFile, MessageError, MessageType};

message_type! {
    /// `agent.intent`: what an agent is about to change.
    pub struct IntentMessage = "agent.intent", Agent {
        pub files: Vec<IntentFile> = intent_files,
        pub summary: String = require_text,
        pub valid_for_seconds: u64 = lifetime,
        /// Drops what the agent announced before. Otherwise the files are added to it.
        pub clear: Option<bool> = find_flag,
    }
}

impl IntentMessage {
    /// The default lifetime of an intent.
    pub const DEFAULT_SECONDS: u64 = 3600;

    pub fn new(agent_id: AgentId, files: Vec<IntentFile>, summary: impl Into<String>) -> Self {
        let summary = summary.into();
        let valid_for_seconds = Self::DEFAULT_SECONDS;
        Self { agent_id, files, summary, valid_for_seconds, clear: None, extra: Extra::default() }
    }

    /// Whether earlier announcements of the agent are dropped.
    pub fn clears(&self) -> bool {
        self.clear == Some(true)
    }

    /// When an intent that was received at `at` expires.
    pub fn expires(&self, at: Timestamp) -> Timestamp {
        let seconds = i64::try_from(self.valid_for_seconds).unwrap_or(i64::MAX);
        at.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
    }
}

impl Fields<'_> {
    fn intent_files(&mut self, name: &str) -> Result<Vec<IntentFile>, MessageError> {
        let files = self.find_list(name)?;
        if files.is_empty() && !self.is_set("clear") {
            return Err(MessageError::field(self.path(name), "must not be empty"));
        }
        files.into_iter().enumerate().map(|(index, file)| IntentFile::parse(index, file)).collect()
    }

    fn lifetime(&mut self, name: &str) -> Result<u64, MessageError> {
        match self.find_number(name)? {
            None => Ok(IntentMessage::DEFAULT_SECONDS),
            Some(0) => Err(MessageError::field(self.path(name), "must be more than 0")),
            Some(seconds) => Ok(seconds),
        }
    }
}

impl MessageType for IntentMessage {
    fn audience(&self) -> Audience {
        Audience::Others
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let Self { files, summary, valid_for_seconds, .. } = self;
        if files.is_empty() {
            return write!(f, "intent cleared — {summary}");
        }
        write!(f, "intent: {} files for {valid_for_seconds}s — {summary}", files.len())
    }

    fn summary(&self) -> String {
        format!("{}: {}", plural(self.files.len(), "file"), self.summary)
    }
}
