//! Where the broker of a repository is reached: `endpoint.json`, and the choice of a port.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use paw_core::error::BrokerError;
use paw_core::paths::PawDir;
use paw_host::files::{self, Access, FileError};
use serde::{Deserialize, Serialize};

use crate::log::SessionId;

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
        parse_address(&self.url)
    }
}

/// The address in `http://127.0.0.1:9119`.
pub fn parse_address(url: &str) -> Option<SocketAddr> {
    let rest = url.trim_end_matches('/').strip_prefix("http://")?;
    let rest =
        rest.strip_prefix("localhost:").map_or_else(|| rest.to_owned(), |port| format!("127.0.0.1:{port}"));
    rest.parse().ok()
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
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

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
        assert_eq!(parse_address("http://127.0.0.1:9119"), Some("127.0.0.1:9119".parse().unwrap()));
        assert_eq!(parse_address("http://localhost:1/"), Some("127.0.0.1:1".parse().unwrap()));
        assert_eq!(parse_address("http://[::1]:7"), Some("[::1]:7".parse().unwrap()));
        for url in ["", "https://127.0.0.1:1", "http://example.org:80", "127.0.0.1:1"] {
            assert_eq!(parse_address(url), None, "{url}");
        }
    }
}
