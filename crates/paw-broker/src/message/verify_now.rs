//! `supervisor.verify-now`: fields, audience and text.

use std::fmt;

use paw_core::AgentId;

use super::wire::message_type;
use super::{Audience, Extra, MessageType};

message_type! {
    /// `supervisor.verify-now`: a commit waits to be verified.
    pub struct VerifyNowMessage = "supervisor.verify-now", Flat about branch_id {
        pub branch_id: AgentId = require_agent,
    }
}

impl VerifyNowMessage {
    pub fn new(branch_id: AgentId) -> Self {
        Self { branch_id, extra: Extra::default() }
    }
}

impl MessageType for VerifyNowMessage {
    const PRIVILEGED: bool = true;

    fn sender(&self) -> Option<&AgentId> {
        None
    }

    fn audience(&self) -> Audience {
        Audience::Supervisor
    }

    fn describe(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        f.write_str("verify-now")
    }

    fn summary(&self) -> String {
        "a commit waits to be verified".to_owned()
    }
}
