//! One HTTP request to a broker: blocking, limited in time and size. HTTP/1.0, so that the body is not chunked.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use paw_host::clock::Stopwatch;
use serde_json::Value;

use super::ClientError;
use crate::identity::Token;
use crate::log::SendId;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a response may take, in addition to the requested wait.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// More than the head of any response of a broker.
const LARGEST_HEAD: u64 = 16 << 10;
/// More than any page that a broker sends.
const LARGEST_BODY: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct HttpRequest<'a> {
    method: &'static str,
    path: &'a str,
    body: &'a str,
    wait: Duration,
    /// Sent as `Idempotency-Key`.
    id: Option<&'a SendId>,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) head: ResponseHead,
    pub(super) body: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    /// The sequence number of a stored message.
    pub(super) seq: Option<u64>,
    length: Option<u64>,
}

impl<'a> HttpRequest<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, body: "", wait: Duration::ZERO, id: None }
    }

    pub(super) fn post(path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", path, body, wait: Duration::ZERO, id: None }
    }

    pub(super) fn with_id(self, id: &'a SendId) -> Self {
        Self { id: Some(id), ..self }
    }

    pub(super) fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Sends the request and reads the complete response.
    pub(super) fn send(&self, address: SocketAddr, token: Option<&Token>) -> io::Result<HttpResponse> {
        let (head, mut reader) = self.open(address, token)?;
        let body = head.read_body(&mut reader)?;
        Ok(HttpResponse { head, body })
    }

    /// Sends the request and reads the head of the response.
    pub(super) fn open(
        &self,
        address: SocketAddr,
        token: Option<&Token>,
    ) -> io::Result<(ResponseHead, BufReader<TcpStream>)> {
        let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
        stream.set_read_timeout(Some(RESPONSE_TIMEOUT.saturating_add(self.wait)))?;
        self.write(&stream, address, token)?;
        let mut reader = BufReader::new(stream);
        Ok((ResponseHead::read(&mut reader)?, reader))
    }

    /// Sends the request to an unknown program, within `limit`. `None` if no program listens.
    pub(super) fn probe(&self, address: SocketAddr, limit: Duration) -> Option<io::Result<HttpResponse>> {
        let deadline = (Stopwatch::start(), limit);
        let stream = TcpStream::connect_timeout(&address, limit).ok()?;
        let ask = || {
            self.write(&stream, address, None)?;
            let mut reader = BufReader::new(DeadlineReader(&stream, deadline));
            let head = ResponseHead::read(&mut reader)?;
            // A body that does not arrive in time is ignored.
            let body = head.read_body(&mut reader).unwrap_or_default();
            Ok(HttpResponse { head, body })
        };
        Some(ask())
    }

    fn write(&self, mut stream: &TcpStream, address: SocketAddr, token: Option<&Token>) -> io::Result<()> {
        stream.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
        let mut text =
            format!("{} {} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n", self.method, self.path);
        // A token with a line break would inject a header.
        if let Some(token) = token.filter(|token| token.reveal().bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let _ = write!(text, "Authorization: Bearer {}\r\n", token.reveal());
        }
        if let Some(id) = self.id {
            let _ = write!(text, "Idempotency-Key: {}\r\n", id.as_str());
        }
        if self.method == "POST" {
            let length = self.body.len();
            let _ = write!(text, "Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        text.push_str("\r\n");
        text.push_str(self.body);
        // In one write: if a program responds to the first part and closes, a second write would fail.
        stream.write_all(text.as_bytes())
    }
}

/// A stream with a deadline for reading.
struct DeadlineReader<'a>(&'a TcpStream, (Stopwatch, Duration));

impl Read for DeadlineReader<'_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let (watch, limit) = self.1;
        let left = watch.remaining(limit);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.set_read_timeout(Some(left))?;
        self.0.read(part)
    }
}

impl ResponseHead {
    /// Fails with `InvalidData` if the response is not HTTP, and with `UnexpectedEof` if there is none.
    fn read(reader: &mut impl BufRead) -> io::Result<Self> {
        let mut reader = reader.take(LARGEST_HEAD);
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let status = status(&line).ok_or(io::ErrorKind::InvalidData)?;
        let mut head = Self { status, seq: None, length: None };
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if line.trim_ascii().is_empty() {
                return Ok(head);
            }
            head.take_header(&line);
        }
    }

    fn take_header(&mut self, line: &[u8]) {
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':')) else {
            return;
        };
        let number = value.trim().parse().ok();
        if name.eq_ignore_ascii_case("content-length") {
            self.length = number;
        } else if name.eq_ignore_ascii_case("x-git-paw-seq") {
            self.seq = number;
        }
    }

    pub(super) fn read_body(&self, reader: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        reader.take(self.length.unwrap_or(LARGEST_BODY).min(LARGEST_BODY)).read_to_end(&mut body)?;
        if self.length.is_some_and(|length| length != body.len() as u64) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(body)
    }
}

fn status(line: &[u8]) -> Option<u16> {
    std::str::from_utf8(line).ok()?.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

impl HttpResponse {
    /// The response if its status is a success.
    pub(super) fn ok(self) -> Result<Self, ClientError> {
        let status = self.head.status;
        if (200..300).contains(&status) {
            return Ok(self);
        }
        let parsed: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let text = parsed["error"].as_str().unwrap_or("no reason given").to_owned();
        let hints = ["detail", "hint"].iter().filter_map(|part| parsed[part].as_str());
        Err(ClientError::Http { status, text, hints: hints.map(Into::into).collect() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(mut bytes: &[u8]) -> io::Result<HttpResponse> {
        let head = ResponseHead::read(&mut bytes)?;
        let body = head.read_body(&mut bytes)?;
        Ok(HttpResponse { head, body })
    }

    #[test]
    fn response_is_read_with_its_sequence_number() {
        let text = b"HTTP/1.1 202 Accepted\r\nX-Git-Paw-Seq: 7\r\ncontent-length: 2\r\n\r\nokay";
        let answer = parse(text).unwrap();
        assert_eq!((answer.head.status, answer.head.seq, &*answer.body), (202, Some(7), &b"ok"[..]));
        assert_eq!(parse(b"HTTP/1.0 401 Unauthorized\r\n\r\n").unwrap().head.status, 401);
    }

    #[test]
    fn incomplete_responses_are_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
            "HTTP/1.1 200 OK\r\nhalf a head",
            "HTTP/1.1",
            "HTTP/1.1 \u{e9}\u{e9}\r\n\r\n",
            "220 mail\r\n",
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text}");
        }
        assert_eq!(parse(b"").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_response_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let mut bytes = bytes;
            bytes.splice(0..0, *b"HTTP/1.1 200 OK\r\n\r\n");
            prop_assert!(parse(&bytes).is_ok());
        }
    }
}
