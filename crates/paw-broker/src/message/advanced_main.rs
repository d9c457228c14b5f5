//! `agent.advanced-main`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, MessageType, short_commit};

message_type! {
    /// `agent.advanced-main`: a branch was merged.
    pub struct AdvancedMainMessage = "agent.advanced-main", Flat about from {
        pub from: AgentId = require_agent,
        pub merged_branch: String = require_text,
        pub new_main_sha: String = require_text,
        pub base: String = require_text,
        /// RFC 3339, unchanged.
        pub merged_at: String = require_time,
        pub summary: Option<String> = find_text,
    }
}

impl MessageType for AdvancedMainMessage {
    const PRIVILEGED: bool = true;

    fn audience(&self) -> Audience {
        Audience::Others
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        write!(f, "advanced-main: {} → {} ({})", self.merged_branch, self.base, self.new_main_sha)
    }

    fn summary(&self) -> String {
        format!("{} merged into {} ({})", self.merged_branch, self.base, short_commit(&self.new_main_sha))
    }
}
