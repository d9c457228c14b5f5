//! Where the broker of a repository is reached: `endpoint.json`, the choice of a port, and the question who listens
//! on one.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use paw_core::error::BrokerError;
use paw_core::paths::PawDir;
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access, FileError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::log::SessionId;

/// How long somebody on a port may take to answer.
const PROBE: Duration = Duration::from_millis(500);
/// More than any answer to the probe is read of nobody.
const PROBE_BYTES: usize = 64 << 10;
/// Connections that may wait to be taken.
const QUEUE: i32 = 1024;
/// Ports tried after the one that was wished for.
const PORTS: u16 = 200;

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub url: String,
    pub pid: u32,
    pub session: SessionId,
    pub version: String,
}

impl Endpoint {
    pub fn save(&self, dir: &PawDir) -> Result<(), FileError> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        files::write_atomic(&dir.endpoint(), &text, Access::Private)
    }

    /// What the last broker wrote, whether it still runs or not. Something unreadable is nothing.
    pub fn load(dir: &PawDir) -> Result<Option<Self>, FileError> {
        let text = files::load_text(&dir.endpoint())?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Takes the file away, if it is still this endpoint's.
    pub fn remove(&self, dir: &PawDir) {
        if matches!(Self::load(dir), Ok(Some(found)) if found == *self) {
            let _ = std::fs::remove_file(dir.endpoint());
        }
    }

    /// The address behind the url. Nothing if it is none of ours.
    pub fn address(&self) -> Option<SocketAddr> {
        address(&self.url)
    }
}

/// The address in `http://127.0.0.1:9119`.
pub fn address(url: &str) -> Option<SocketAddr> {
    let rest = url.trim_end_matches('/').strip_prefix("http://")?;
    let rest =
        rest.strip_prefix("localhost:").map_or_else(|| rest.to_owned(), |port| format!("127.0.0.1:{port}"));
    rest.parse().ok()
}

/// Who listens on an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    Nobody,
    /// A broker, for this repository if it says so.
    Broker {
        repository: Option<PathBuf>,
        session: Option<SessionId>,
    },
    /// Some other HTTP server.
    Stranger,
}

/// Asks whoever listens on `address` who they are.
pub fn probe(address: SocketAddr) -> Result<Listener, BrokerError> {
    let timeout = || BrokerError::ProbeTimeout { port: address.port() };
    let Ok(mut stream) = TcpStream::connect_timeout(&address, PROBE) else { return Ok(Listener::Nobody) };
    let answer = ask_status(&mut stream, address).map_err(|_| timeout())?;
    if !answer.starts_with(b"HTTP/") {
        return if answer.is_empty() { Err(timeout()) } else { Ok(Listener::Stranger) };
    }
    let text = String::from_utf8_lossy(&answer);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let status: Value = serde_json::from_str(body).unwrap_or_default();
    if status["git_paw"] != Value::Bool(true) {
        return Ok(Listener::Stranger);
    }
    Ok(Listener::Broker {
        repository: status["repository"].as_str().map(PathBuf::from),
        session: status["session"].as_str().map(SessionId::new),
    })
}

fn ask_status(stream: &mut TcpStream, address: SocketAddr) -> io::Result<Vec<u8>> {
    let watch = Stopwatch::start();
    stream.set_write_timeout(Some(PROBE))?;
    // In one piece: whoever answers after the first part and closes would make the rest an error.
    let request = format!("GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), [0_u8; 4096]);
    while answer.len() < PROBE_BYTES {
        let left = watch.remaining(PROBE);
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            // What came until then is judged; a silent one is not.
            Err(_) if !answer.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

/// Listens on the wished port, or on the next one that is free. The port is ours from then on, before anybody is
/// told of it.
pub fn reserve(bind: IpAddr, wish: u16) -> Result<TcpListener, BrokerError> {
    let mut taken = None;
    for port in candidates(wish) {
        match TcpListener::bind((bind, port)) {
            Ok(listener) => {
                listener.set_nonblocking(true).map_err(BrokerError::BindFailed)?;
                // The usual queue is so short that a burst of agents would wait for a second each.
                rustix::net::listen(&listener, QUEUE)
                    .map_err(|error| BrokerError::BindFailed(error.into()))?;
                return Ok(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = taken.or(Some(error)),
            Err(error) => return Err(BrokerError::BindFailed(error)),
        }
    }
    let source = taken.unwrap_or_else(|| io::ErrorKind::AddrInUse.into());
    Err(BrokerError::PortInUse { port: wish, source })
}

fn candidates(wish: u16) -> impl Iterator<Item = u16> {
    let last = if wish == 0 { 0 } else { wish.saturating_add(PORTS) };
    wish..=last
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Answers one connection with `bytes`, then closes it; never, when there are none.
    fn listener(bytes: Option<&'static [u8]>) -> SocketAddr {
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
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
    fn a_taken_port_gives_the_next_free_one() {
        let taken = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let wish = taken.local_addr().unwrap().port();
        let found = reserve(LOOPBACK, wish).unwrap().local_addr().unwrap().port();
        assert!(found > wish || wish > u16::MAX - PORTS, "{found} {wish}");
    }

    #[test]
    fn an_address_that_is_not_ours_cannot_be_listened_on() {
        let foreign = "192.0.2.1".parse().unwrap();
        assert!(matches!(reserve(foreign, 0), Err(BrokerError::BindFailed(_))));
    }

    #[test]
    fn the_probe_tells_nobody_brokers_strangers_and_the_silent_apart() {
        let free = TcpListener::bind((LOOPBACK, 0)).unwrap().local_addr().unwrap();
        assert_eq!(probe(free).unwrap(), Listener::Nobody);
        let web = listener(Some(b"HTTP/1.1 404 Not Found\r\n\r\nno"));
        assert_eq!(probe(web).unwrap(), Listener::Stranger);
        let mail = listener(Some(b"220 mail\r\n"));
        assert_eq!(probe(mail).unwrap(), Listener::Stranger);
        let broker = listener(Some(b"HTTP/1.1 200 OK\r\n\r\n{\"git_paw\":true,\"repository\":\"/r\"}"));
        let expected = Listener::Broker { repository: Some("/r".into()), session: None };
        assert_eq!(probe(broker).unwrap(), expected);
        assert!(matches!(probe(listener(None)), Err(BrokerError::ProbeTimeout { .. })));
    }

    #[test]
    fn the_endpoint_is_private_and_only_its_own_broker_removes_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let dir = PawDir::of(dir.path());
        let endpoint = |pid| Endpoint {
            url: "http://127.0.0.1:9119".into(),
            pid,
            session: SessionId::new("s"),
            version: "1".into(),
        };
        assert_eq!(Endpoint::load(&dir).unwrap(), None);
        endpoint(1).save(&dir).unwrap();
        assert_eq!(std::fs::metadata(dir.endpoint()).unwrap().permissions().mode() & 0o777, 0o600);
        endpoint(2).remove(&dir);
        assert_eq!(Endpoint::load(&dir).unwrap(), Some(endpoint(1)));
        endpoint(1).remove(&dir);
        assert_eq!(Endpoint::load(&dir).unwrap(), None);
    }

    #[test]
    fn only_addresses_of_this_kind_are_understood() {
        assert_eq!(address("http://127.0.0.1:9119"), Some("127.0.0.1:9119".parse().unwrap()));
        assert_eq!(address("http://localhost:1/"), Some("127.0.0.1:1".parse().unwrap()));
        assert_eq!(address("http://[::1]:7"), Some("[::1]:7".parse().unwrap()));
        for url in ["", "https://127.0.0.1:1", "http://example.org:80", "127.0.0.1:1"] {
            assert_eq!(address(url), None, "{url}");
        }
    }
}
