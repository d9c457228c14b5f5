//! A broker's stream of server-sent events, as messages.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use jiff::Timestamp;
use paw_core::AgentId;
use serde::Deserialize;
use serde_json::Value;

use crate::log::{SessionId, StoredMessage};
use crate::message::Message;

/// The longest line a broker sends: one message.
const MAX_LINE: u64 = 8 << 20;

/// An event of a broker.
#[derive(Debug)]
pub enum BrokerEvent {
    Message(Box<StoredMessage>),
    /// A heartbeat while there is no message.
    Heartbeat,
}

/// Events until the broker shuts down. Ends with an error if the broker is silent for too long.
#[derive(Debug)]
pub struct EventStream {
    reader: BufReader<TcpStream>,
    line: Vec<u8>,
    decoder: EventDecoder,
}

impl EventStream {
    pub(super) fn new(reader: BufReader<TcpStream>) -> Self {
        Self { reader, line: Vec::new(), decoder: EventDecoder::default() }
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        Ok((&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut self.line)? > 0)
    }
}

impl Iterator for EventStream {
    type Item = io::Result<BrokerEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read_line() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            if let Some(event) = self.decoder.on_line(&self.line) {
                return Some(Ok(event));
            }
        }
    }
}

/// A message in a response of the broker.
#[derive(Debug, Deserialize)]
pub(super) struct WireEntry {
    seq: u64,
    at: Timestamp,
    sender: AgentId,
    session: SessionId,
    message: Value,
}

impl WireEntry {
    /// The parsed message. `None` if this version does not know its type.
    pub(super) fn parse(self) -> Option<StoredMessage> {
        let message = Message::from_json(self.message).ok()?;
        Some(StoredMessage {
            seq: self.seq,
            session: self.session,
            at: self.at,
            sender: self.sender,
            message,
        })
    }
}

/// The data of the event that is being read.
#[derive(Debug, Default)]
struct EventDecoder {
    data: Vec<u8>,
}

impl EventDecoder {
    /// Handles the next line. The empty line after an event returns the event; unreadable events are skipped.
    fn on_line(&mut self, line: &[u8]) -> Option<BrokerEvent> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            let row: Option<WireEntry> = serde_json::from_slice(&std::mem::take(&mut self.data)).ok();
            return row.and_then(WireEntry::parse).map(|stored| BrokerEvent::Message(Box::new(stored)));
        }
        if line.starts_with(b":") {
            return Some(BrokerEvent::Heartbeat);
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
    fn decoder_reads_events_as_messages_and_comments_as_heartbeats() {
        let mut decoder = EventDecoder::default();
        assert!(matches!(decoder.on_line(b": git paw\n"), Some(BrokerEvent::Heartbeat)));
        for line in ["", "id: 7", "event: message"] {
            assert!(decoder.on_line(line.as_bytes()).is_none());
        }
        let data = r#"data: {"seq":7,"at":"2026-11-15T09:00:00Z","session":"s","sender":"a",
            "message":{"type":"agent.question","agent_id":"a","payload":{"question":"why?"}}}"#;
        assert!(decoder.on_line(data.replace('\n', "").as_bytes()).is_none());
        let Some(BrokerEvent::Message(stored)) = decoder.on_line(b"\r\n") else { panic!("no message") };
        assert_eq!((stored.seq, stored.message.label()), (7, "question"));
        assert!(decoder.on_line(b"").is_none());
    }

    #[test]
    fn decoder_skips_events_of_unknown_types() {
        let mut decoder = EventDecoder::default();
        for data in ["", "{", "{}", r#"{"seq":7,"message":{"type":"new"}}"#] {
            decoder.on_line(format!("data: {data}").as_bytes());
            assert!(decoder.on_line(b"\n").is_none(), "{data}");
        }
    }

    proptest! {
        #[test]
        fn decoder_accepts_any_bytes(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut decoder = EventDecoder::default();
            for line in lines {
                let mut data = b"data: ".to_vec();
                data.extend_from_slice(&line);
                decoder.on_line(&line);
                decoder.on_line(&data);
                decoder.on_line(b"");
            }
        }
    }
}
