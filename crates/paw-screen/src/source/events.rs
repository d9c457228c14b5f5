//! Server-sent events, line by line. Pure.

use jiff::Timestamp;
use paw_broker::message::Message;
use paw_broker::{SessionId, Stored};
use paw_core::AgentId;
use serde::Deserialize;
use serde_json::Value;

/// One message as a broker sends it.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    seq: u64,
    at: Timestamp,
    sender: AgentId,
    session: SessionId,
    message: Value,
}

impl Row {
    /// Nothing for a message of a type that this version does not know.
    pub(super) fn stored(self) -> Option<Stored> {
        let message = Message::from_json(self.message).ok()?;
        Some(Stored { seq: self.seq, session: self.session, at: self.at, sender: self.sender, message })
    }
}

/// The data of the event that is being read.
#[derive(Debug, Default)]
pub(super) struct Events {
    data: Vec<u8>,
}

impl Events {
    /// Takes the next line; the empty one after an event gives the event. What cannot be read is passed over.
    pub(super) fn on_line(&mut self, line: &[u8]) -> Option<Row> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return serde_json::from_slice(&std::mem::take(&mut self.data)).ok();
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_event_is_a_message_and_a_comment_is_none() {
        let mut events = Events::default();
        for line in [": git paw", "", "id: 7", "event: message"] {
            assert!(events.on_line(line.as_bytes()).is_none());
        }
        let data = r#"data: {"seq":7,"at":"2026-11-15T09:00:00Z","session":"s","sender":"a",
            "message":{"type":"agent.question","agent_id":"a","payload":{"question":"why?"}}}"#;
        assert!(events.on_line(data.replace('\n', "").as_bytes()).is_none());
        let stored = events.on_line(b"\r\n").unwrap().stored().unwrap();
        assert_eq!((stored.seq, stored.message.label()), (7, "question"));
        assert!(events.on_line(b"").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_passed_over(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut events = Events::default();
            for line in lines {
                let mut data = b"data: ".to_vec();
                data.extend_from_slice(&line);
                events.on_line(&line);
                events.on_line(&data);
                events.on_line(b"");
            }
        }
    }
}
