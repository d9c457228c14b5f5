//! One HTTP request to our own broker: small, blocking, bounded in time and size.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::ClientError;
use crate::identity::Token;

const CONNECT: Duration = Duration::from_millis(500);
/// How long an answer may take, beyond what was asked to be waited for.
const ANSWER: Duration = Duration::from_secs(2);
/// More than any page that a broker sends.
const LARGEST_ANSWER: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Request<'a> {
    method: &'static str,
    path: &'a str,
    body: &'a str,
    wait: Duration,
}

#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    /// The number a message was stored under.
    pub(super) seq: Option<u64>,
    pub(super) body: Vec<u8>,
}

impl<'a> Request<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, body: "", wait: Duration::ZERO }
    }

    pub(super) fn post(path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", path, body, wait: Duration::ZERO }
    }

    pub(super) fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    pub(super) fn send(&self, address: SocketAddr, token: Option<&Token>) -> io::Result<Answer> {
        let stream = self.ask(address, token, "HTTP/1.1", ANSWER.saturating_add(self.wait))?;
        let mut answer = Vec::new();
        stream.take(LARGEST_ANSWER).read_to_end(&mut answer)?;
        Answer::parse(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The answer as it comes, in HTTP/1.0, so that its body is sent as it is. Silence for so long is an error.
    pub(super) fn open(
        &self,
        address: SocketAddr,
        token: Option<&Token>,
        silence: Duration,
    ) -> io::Result<TcpStream> {
        self.ask(address, token, "HTTP/1.0", silence)
    }

    fn ask(
        &self,
        address: SocketAddr,
        token: Option<&Token>,
        version: &str,
        silence: Duration,
    ) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_write_timeout(Some(ANSWER))?;
        stream.set_read_timeout(Some(silence))?;
        let mut head =
            format!("{} {} {version}\r\nHost: {address}\r\nConnection: close\r\n", self.method, self.path);
        // A token with a line break in it would be a header of its own.
        if let Some(token) = token.filter(|token| token.reveal().bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let _ = write!(head, "Authorization: Bearer {}\r\n", token.reveal());
        }
        if self.method == "POST" {
            let length = self.body.len();
            let _ = write!(head, "Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        head.push_str("\r\n");
        head.push_str(self.body);
        stream.write_all(head.as_bytes())?;
        Ok(stream)
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let header = |name: &str| {
            let found = lines.clone().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then_some(value.trim())
            });
            found.and_then(|value| value.parse::<u64>().ok())
        };
        let body = bytes[end + 4..].to_vec();
        if header("content-length").is_some_and(|length| length != body.len() as u64) {
            return None;
        }
        Some(Self { status, seq: header("x-git-paw-seq"), body })
    }

    /// The answer, if it is a good one.
    pub(super) fn ok(self) -> Result<Self, ClientError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let parsed: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let text = parsed["error"].as_str().unwrap_or("no reason given").to_owned();
        let hints = ["detail", "hint"].iter().filter_map(|part| parsed[part].as_str());
        Err(ClientError::Http { status: self.status, text, hints: hints.map(Into::into).collect() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_is_read_with_its_number() {
        let answer =
            Answer::parse(b"HTTP/1.1 202 Accepted\r\nX-Git-Paw-Seq: 7\r\ncontent-length: 0\r\n\r\n").unwrap();
        assert_eq!((answer.status, answer.seq), (202, Some(7)));
        assert!(Answer::parse(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Answer::parse(&bytes);
            let mut bytes = bytes;
            bytes.splice(0..0, *b"HTTP/1.1 200 OK\r\n\r\n");
            prop_assert!(Answer::parse(&bytes).is_some());
        }
    }
}
