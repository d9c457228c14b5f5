//! A broker at an address: its status, its events, and whether a port belongs to a broker at all.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use paw_core::error::BrokerError;
use serde::Deserialize;

use super::events::EventStream;
use super::request::HttpRequest;
use crate::endpoint::repository_hash;
use crate::identity::Token;
use crate::log::SessionId;

/// A broker that is silent for longer is gone: it sends a heartbeat every 15 seconds.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(40);
/// How long an unknown program on a port may take to respond.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The response of `/status`. Parts are missing without a valid token, or if another program responds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BrokerStatus {
    git_paw: bool,
    repository_hash: Option<String>,
    /// Without a token only reported by older brokers.
    pub repository: Option<PathBuf>,
    pub session: Option<SessionId>,
    pub auth: String,
    pub last_seq: u64,
}

/// A broker cannot be reached, or does not respond as expected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("no response")]
    Silent,
    #[error("refused ({0})")]
    Refused(u16),
    #[error("not the response of a broker")]
    Unreadable,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Silent,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Self::Unreadable,
            _ => Self::Io(error),
        }
    }
}

/// The address of a broker, and the token to use.
#[derive(Debug, Clone, Copy)]
pub struct BrokerConnection<'a> {
    pub address: SocketAddr,
    pub token: Option<&'a Token>,
}

impl BrokerConnection<'_> {
    pub fn status(&self) -> Result<BrokerStatus, ConnectionError> {
        let answer = HttpRequest::get("/status").send(self.address, self.token)?;
        if answer.head.status != 200 {
            return Err(ConnectionError::Refused(answer.head.status));
        }
        let status: Option<BrokerStatus> = serde_json::from_slice(&answer.body).ok();
        status.filter(|status| status.git_paw).ok_or(ConnectionError::Unreadable)
    }

    /// All messages after `since`, as they are stored.
    pub fn events(&self, since: u64) -> Result<EventStream, ConnectionError> {
        let (head, reader) =
            HttpRequest::get(&format!("/events?since={since}")).open(self.address, self.token)?;
        if head.status != 200 {
            return Err(ConnectionError::Refused(head.status));
        }
        reader.get_ref().set_read_timeout(Some(HEARTBEAT_TIMEOUT))?;
        Ok(EventStream::new(reader))
    }
}

/// What listens on an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortOwner {
    Nothing,
    /// A broker, and the hash of its repository if it reports one.
    Broker {
        repository_hash: Option<String>,
    },
    OtherProgram,
}

/// Finds out what listens on `address`.
pub fn probe(address: SocketAddr) -> Result<PortOwner, BrokerError> {
    let Some(asked) = HttpRequest::get("/status").probe(address, PROBE_TIMEOUT) else {
        return Ok(PortOwner::Nothing);
    };
    match asked {
        Ok(answer) => {
            let status: BrokerStatus = serde_json::from_slice(&answer.body).unwrap_or_default();
            let path = status.repository.as_deref();
            Ok(if status.git_paw {
                let repository_hash = status.repository_hash.or_else(|| path.map(repository_hash));
                PortOwner::Broker { repository_hash }
            } else {
                PortOwner::OtherProgram
            })
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(PortOwner::OtherProgram),
        Err(_) => Err(BrokerError::ProbeTimeout { port: address.port() }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener};
    use std::path::Path;
    use std::thread;

    use super::*;

    /// Responds to one connection with `bytes` and closes it. Never responds if there are none.
    fn listener(bytes: Option<&'static [u8]>) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            match bytes {
                Some(bytes) => {
                    let _ = stream.read(&mut [0; 1024]);
                    stream.write_all(bytes).unwrap();
                }
                None => drop(stream.read_to_end(&mut Vec::new())),
            }
        });
        address
    }

    #[test]
    fn probe_distinguishes_free_ports_brokers_other_programs_and_silent_programs() {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        assert_eq!(probe(free).unwrap(), PortOwner::Nothing);
        let web = listener(Some(b"HTTP/1.1 404 Not Found\r\n\r\nno"));
        assert_eq!(probe(web).unwrap(), PortOwner::OtherProgram);
        let json = listener(Some(b"HTTP/1.1 200 OK\r\n\r\n{\"git_paw\":1,\"repository\":\"/r\"}"));
        assert_eq!(probe(json).unwrap(), PortOwner::OtherProgram);
        let mail = listener(Some(b"220 mail\r\n"));
        assert_eq!(probe(mail).unwrap(), PortOwner::OtherProgram);
        let broker = listener(Some(b"HTTP/1.1 200 OK\r\n\r\n{\"git_paw\":true,\"repository\":\"/r\"}"));
        let expected = PortOwner::Broker { repository_hash: Some(repository_hash(Path::new("/r"))) };
        assert_eq!(probe(broker).unwrap(), expected);
        assert!(matches!(probe(listener(None)), Err(BrokerError::ProbeTimeout { .. })));
    }
}
