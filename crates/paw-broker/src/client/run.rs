//! Has the session's process run something and follows its output.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::request::{HttpRequest, HttpResponse};
use super::{ATTEMPTS, BrokerClient, ClientError, RETRY_DELAY};
use crate::endpoint;
use crate::http::RunEvent;

/// A process that is silent for longer is gone: it sends a heartbeat every second.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(40);
/// The longest line of a run's output, quoted.
const LONGEST_LINE: u64 = 64 << 20;

impl BrokerClient {
    /// Runs what `body` describes and calls `on_event` with its output. Returns its exit code. Closing this process ends the
    /// run.
    pub fn run(&self, body: &str, mut on_event: impl FnMut(&RunEvent)) -> Result<u8, ClientError> {
        let mut reader = self.request_run(body)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
            if !line.ends_with(b"\n") || read.is_err() {
                return Err(ClientError::RunLost);
            }
            match serde_json::from_slice(&line) {
                Ok(RunEvent::Exit(code)) => return Ok(code),
                Ok(event) => on_event(&event),
                // A heartbeat, or an event of a newer version.
                Err(_) => {}
            }
        }
    }

    fn request_run(&self, body: &str) -> Result<BufReader<TcpStream>, ClientError> {
        for _ in 0..ATTEMPTS {
            let url = self.find_broker()?.ok_or(ClientError::NoProcess)?;
            let address = endpoint::parse_address(&url).ok_or(ClientError::NoProcess)?;
            let lost = |source| ClientError::Connection { url, source };
            let request = HttpRequest::post("/run", body);
            match request.open(address, self.token.as_ref()) {
                Ok((head, reader)) if head.status == 200 => {
                    reader.get_ref().set_read_timeout(Some(HEARTBEAT_TIMEOUT)).map_err(lost)?;
                    return Ok(reader);
                }
                Ok((head, mut reader)) => {
                    let body = head.read_body(&mut reader).map_err(lost)?;
                    self.accepted(HttpResponse { head, body })?;
                    return Err(ClientError::RunLost);
                }
                // It is starting.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => thread::sleep(RETRY_DELAY),
                Err(error) => return Err(lost(error)),
            }
        }
        Err(ClientError::NoProcess)
    }
}
