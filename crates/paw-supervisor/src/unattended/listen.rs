//! Everything that is said in a session, as it is said: the broker's stream of events, or the log while none runs.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::endpoint::{Endpoint, PawDir};
use paw_broker::identity::{Keyring, Token};
use paw_broker::log::{LogError, MessageLog as _, PageLimit, SqliteLog};
use paw_broker::{Message, SessionId, Stored};
use paw_core::{AgentId, PawError};
use paw_host::sqlite::Durability;
use serde::Deserialize;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(3);
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

/// One who hears everything in a session.
#[derive(Debug)]
pub struct Listener {
    dir: PawDir,
    log: SqliteLog,
    session: SessionId,
    token: Token,
}

impl Listener {
    pub fn new(common_dir: &Path, session: SessionId) -> Result<Self, PawError> {
        let dir = PawDir::of(common_dir);
        let log = SqliteLog::open(&dir.log(), Durability::Process).map_err(failed)?;
        let token = Keyring::new(&log, dir.path()).operator().map_err(failed)?;
        Ok(Self { dir, log, session, token })
    }

    /// Everything after `since`, whoever it is for, until `each` has had enough.
    pub fn listen(
        &self,
        mut since: u64,
        mut each: impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        loop {
            let address = Endpoint::load(&self.dir).ok().flatten().and_then(|endpoint| endpoint.address());
            // One that cannot be reached is about to listen, or has just ended.
            let streamed = address.and_then(|address| self.stream(address, &mut since, &mut each).ok());
            let ended = match streamed {
                Some(ended) => ended,
                None => self.read_log(&mut since, &mut each)?,
            };
            if ended.is_break() || each(Heard::Nothing).is_break() {
                return Ok(());
            }
            thread::sleep(GLANCE);
        }
    }

    /// Until the broker ends.
    fn stream(
        &self,
        address: SocketAddr,
        since: &mut u64,
        each: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(SILENCE))?;
        // HTTP/1.0, so that the body is sent as it is.
        let mut request = format!("GET /events?since={since} HTTP/1.0\r\nHost: {address}\r\n");
        // A token with a line break in it would be a header of its own.
        if self.token.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
            let _ = write!(request, "Authorization: Bearer {}\r\n", self.token.reveal());
        }
        stream.write_all(format!("{request}\r\n").as_bytes())?;
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? {
            let heard = match line.strip_prefix(b"data:").map(row) {
                Some(Some(stored)) if stored.session == self.session => {
                    *since = (*since).max(stored.seq);
                    each(Heard::Said(&stored))
                }
                // A comment is a sign of life; everything else is passed over.
                None if line.starts_with(b":") => each(Heard::Nothing),
                _ => ControlFlow::Continue(()),
            };
            if heard.is_break() {
                return Ok(heard);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn read_log(
        &self,
        since: &mut u64,
        each: &mut impl FnMut(Heard<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LogError> {
        loop {
            let page = self.log.history(&self.session, *since, PageLimit::DEFAULT)?;
            let Some(last) = page.last() else { return Ok(ControlFlow::Continue(())) };
            *since = last.seq;
            for stored in page.iter().filter_map(|entry| entry.stored(&self.session)) {
                if each(Heard::Said(&stored)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
    }
}

fn failed(error: impl std::fmt::Display) -> PawError {
    PawError::SessionError(error.to_string())
}

fn read_line(reader: &mut BufReader<TcpStream>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.take(LONGEST_LINE).read_until(b'\n', line)? > 0)
}

/// One message as a broker sends it.
#[derive(Deserialize)]
struct Row {
    seq: u64,
    at: Timestamp,
    sender: AgentId,
    session: SessionId,
    message: Value,
}

/// Nothing for what cannot be read, or is of a type that this version does not know.
fn row(data: &[u8]) -> Option<Stored> {
    let Row { seq, at, sender, session, message } = serde_json::from_slice(data).ok()?;
    Some(Stored { seq, session, at, sender, message: Message::from_json(message).ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn data_is_a_message_and_what_is_not_understood_is_none() {
        let text = br#" {"seq":7,"at":"2026-11-15T09:00:00Z","session":"s","sender":"a","message":{"type":"agent.question","agent_id":"a","payload":{"question":"why?"}}}
"#;
        assert_eq!(row(text).map(|stored| stored.seq), Some(7));
        for text in ["", "{", "{}", r#"{"seq":7,"message":{"type":"new"}}"#] {
            assert!(row(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_passed_over(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            row(&bytes);
        }
    }
}
