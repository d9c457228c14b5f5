//! The address of a repository's broker: `endpoint.json`, and the choice of a port.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jiff::Timestamp;
use paw_core::error::BrokerError;
use paw_core::paths::PawDir;
use paw_host::files::{self, Access, FileError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::log::SessionId;

/// Connections that may wait to be accepted.
const QUEUE: i32 = 1024;
/// Ports tried after the preferred one.
const PORTS: u16 = 200;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub url: String,
    pub pid: u32,
    pub session: SessionId,
    pub version: String,
    /// When it started. Missing in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

impl Endpoint {
    pub fn save(&self, dir: &PawDir) -> Result<(), FileError> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        files::write_atomic(&dir.endpoint(), &text, Access::Private)
    }

    /// The endpoint of the last broker, whether it still runs or not. `None` if the file is missing or unreadable.
    pub fn load(dir: &PawDir) -> Result<Option<Self>, FileError> {
        match std::fs::read(dir.endpoint()) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::when("read", &dir.endpoint())(error)),
        }
    }

    /// Removes the file if it still describes this endpoint.
    pub fn remove(&self, dir: &PawDir) {
        if matches!(Self::load(dir), Ok(Some(found)) if found == *self) {
            let _ = std::fs::remove_file(dir.endpoint());
        }
    }

    /// The address in the URL. `None` if a broker cannot have written it.
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

/// Identifies a repository to those who know its path, and to no others.
pub fn repository_hash(root: &Path) -> String {
    let hash: [u8; 32] = Sha256::digest(root.as_os_str().as_bytes()).into();
    hash.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"))
}

/// Listens on the preferred port, or on the next free one. The port is taken before the endpoint is published.
pub fn reserve(bind: IpAddr, preferred: u16) -> Result<TcpListener, BrokerError> {
    let mut taken = None;
    for port in candidates(preferred) {
        match TcpListener::bind((bind, port)) {
            Ok(listener) => {
                listener.set_nonblocking(true).map_err(BrokerError::BindFailed)?;
                // With the default queue, a burst of agents would wait for a second each.
                rustix::net::listen(&listener, QUEUE)
                    .map_err(|error| BrokerError::BindFailed(error.into()))?;
                return Ok(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = taken.or(Some(error)),
            Err(error) => return Err(BrokerError::BindFailed(error)),
        }
    }
    let source = taken.unwrap_or_else(|| io::ErrorKind::AddrInUse.into());
    Err(BrokerError::PortInUse { port: preferred, source })
}

fn candidates(preferred: u16) -> impl Iterator<Item = u16> {
    let last = if preferred == 0 { 0 } else { preferred.saturating_add(PORTS) };
    preferred..=last
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn reserve_takes_the_next_free_port_if_the_preferred_one_is_in_use() {
        let taken = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let preferred = taken.local_addr().unwrap().port();
        let found = reserve(LOOPBACK, preferred).unwrap().local_addr().unwrap().port();
        assert!(found > preferred || preferred > u16::MAX - PORTS, "{found} {preferred}");
    }

    #[test]
    fn reserve_fails_on_an_address_of_another_machine() {
        let foreign = "192.0.2.1".parse().unwrap();
        assert!(matches!(reserve(foreign, 0), Err(BrokerError::BindFailed(_))));
    }

    #[test]
    fn endpoint_file_is_private_and_only_its_own_broker_removes_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let dir = PawDir::of(dir.path());
        let endpoint = |pid| Endpoint {
            url: "http://127.0.0.1:9119".into(),
            pid,
            session: SessionId::new("s"),
            version: "1".into(),
            started_at: None,
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
    fn parse_address_accepts_only_urls_with_an_ip_address_or_localhost() {
        assert_eq!(parse_address("http://127.0.0.1:9119"), Some("127.0.0.1:9119".parse().unwrap()));
        assert_eq!(parse_address("http://localhost:1/"), Some("127.0.0.1:1".parse().unwrap()));
        assert_eq!(parse_address("http://[::1]:7"), Some("[::1]:7".parse().unwrap()));
        for url in ["", "https://127.0.0.1:1", "http://example.org:80", "127.0.0.1:1"] {
            assert_eq!(parse_address(url), None, "{url}");
        }
    }
}
