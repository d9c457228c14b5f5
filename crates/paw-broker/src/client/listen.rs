//! Everything that is said in a session, as it is said: the broker's stream of events, or the log while none runs.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use super::request::Request;
use super::{Client, ClientError, Row};
use crate::endpoint;
use crate::log::{MessageLog, PageLimit, SessionId, Stored};

/// A broker that is silent for longer is gone: it says every 15 seconds that it is there.
const SILENCE: Duration = Duration::from_secs(40);
/// How often a broker that is not there is looked for.
const GLANCE: Duration = Duration::from_millis(250);
/// The longest line a broker sends: one message.
const LONGEST_LINE: u64 = 8 << 20;

/// What whoever listens is told.
#[derive(Debug)]
pub enum Heard<'a> {
    Said(&'a Stored),
    /// Nothing new. Told now and then, so that whoever listens can end.
    Nothing,
}

/// How it came that nothing more is heard.
enum End {
    Enough,
    /// The broker has ended, or cannot be reached.
    Gone,
    /// It says nothing to us.
    Refused,
}

/// Whoever listens, and how far it has heard.
struct Ear<F> {
    session: SessionId,
    since: u64,
    each: F,
}

impl<F: FnMut(Heard<'_>) -> ControlFlow<()>> Ear<F> {
    fn hear(&mut self, stored: &Stored) -> ControlFlow<()> {
        self.since = self.since.max(stored.seq);
        if stored.session == self.session {
            (self.each)(Heard::Said(stored))
        } else {
            ControlFlow::Continue(())
        }
    }

    fn hear_nothing(&mut self) -> ControlFlow<()> {
        (self.each)(Heard::Nothing)
    }
}

impl Client {
    /// Everything after `since`, whoever it is for, states of agents among it, with or without a broker, until `each` has
    /// had enough. An inbox, which [`Client::follow`] reads, holds no states.
    pub fn listen(
        &self,
        since: u64,
        each: impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClientError> {
        let (log, session, _) = self.open_log()?;
        let mut ear = Ear { session, since, each };
        loop {
            let address = self.find_broker()?.and_then(|url| endpoint::address(&url));
            // One that cannot be reached is about to listen, or has just ended.
            let end = match address {
                Some(address) => self.stream(address, &mut ear).unwrap_or(End::Gone),
                None => End::Gone,
            };
            let end = match end {
                End::Gone => read_log(&*log, &mut ear)?,
                end => end,
            };
            match end {
                End::Enough => return Ok(()),
                End::Refused => return Err(self.stranger()),
                End::Gone if ear.hear_nothing().is_break() => return Ok(()),
                End::Gone => thread::sleep(GLANCE),
            }
        }
    }

    /// Until the broker ends.
    fn stream<F>(&self, address: SocketAddr, ear: &mut Ear<F>) -> io::Result<End>
    where
        F: FnMut(Heard<'_>) -> ControlFlow<()>,
    {
        let path = format!("/events?since={}", ear.since);
        let mut reader = BufReader::new(Request::get(&path).open(address, self.token.as_ref(), SILENCE)?);
        let mut line = Vec::new();
        if read_line(&mut reader, &mut line)? && status(&line) == Some(401) {
            return Ok(End::Refused);
        }
        while read_line(&mut reader, &mut line)? {
            let heard = match line.strip_prefix(b"data:").map(message) {
                Some(Some(stored)) => ear.hear(&stored),
                // A comment is a sign of life; everything else is passed over.
                None if line.starts_with(b":") => ear.hear_nothing(),
                _ => ControlFlow::Continue(()),
            };
            if heard.is_break() {
                return Ok(End::Enough);
            }
        }
        Ok(End::Gone)
    }
}

fn read_log<F>(log: &dyn MessageLog, ear: &mut Ear<F>) -> Result<End, ClientError>
where
    F: FnMut(Heard<'_>) -> ControlFlow<()>,
{
    loop {
        let page = log.history(&ear.session, ear.since, PageLimit::DEFAULT)?;
        let Some(last) = page.last() else { return Ok(End::Gone) };
        let last = last.seq;
        let session = ear.session.clone();
        for stored in page.iter().filter_map(|entry| entry.stored(&session)) {
            if ear.hear(&stored).is_break() {
                return Ok(End::Enough);
            }
        }
        ear.since = ear.since.max(last);
    }
}

fn read_line(reader: &mut BufReader<TcpStream>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.take(LONGEST_LINE).read_until(b'\n', line)? > 0)
}

fn status(line: &[u8]) -> Option<u16> {
    std::str::from_utf8(line).ok()?.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

/// Nothing for what cannot be read, or is of a type that this version does not know.
fn message(data: &[u8]) -> Option<Stored> {
    serde_json::from_slice::<Row>(data).ok()?.stored()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn data_is_a_message_and_what_is_not_understood_is_none() {
        let text = br#" {"seq":7,"at":"2026-11-15T09:00:00Z","session":"s","sender":"a","message":{"type":"agent.question","agent_id":"a","payload":{"question":"why?"}}}
"#;
        assert_eq!(message(text).map(|stored| stored.seq), Some(7));
        for text in ["", "{", "{}", r#"{"seq":7,"message":{"type":"new"}}"#] {
            assert!(message(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn the_status_is_read_from_the_first_line() {
        assert_eq!(status(b"HTTP/1.0 401 Unauthorized\r\n"), Some(401));
        for line in ["", "HTTP/1.1", "HTTP/1.1 \u{e9}\u{e9}", "data: 401"] {
            assert_eq!(status(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_passed_over(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            message(&bytes);
            status(&bytes);
        }
    }
}
