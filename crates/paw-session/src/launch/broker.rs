//! Prepares the broker of a new session: reserves a port and creates the agents' tokens.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::SessionId;
use paw_broker::broker::bind_address;
use paw_broker::client::{self, PortOwner};
use paw_broker::endpoint::{self, Endpoint, repository_hash};
use paw_broker::identity::Keyring;
use paw_broker::log;
use paw_core::config::BrokerConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, Receipt, SessionMode};
use paw_host::clock::Stopwatch;
use paw_host::files;
use paw_host::git::Repo;

use super::LaunchError;

/// How long an old broker may take to exit, and how often it is probed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The tokens of a session's panes. They exist only in the panes' environment.
#[derive(Default)]
pub struct PaneTokens(BTreeMap<AgentId, String>);

impl std::fmt::Debug for PaneTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl PaneTokens {
    pub fn of(&self, agent: &AgentId) -> Option<String> {
        self.0.get(agent).cloned()
    }
}

/// A bound port, held until the session's process is about to bind it.
#[derive(Debug)]
pub struct BrokerReservation {
    dir: PawDir,
    port: u16,
    _listener: TcpListener,
}

impl BrokerReservation {
    /// Binds the configured port or the next free one. Writes nothing to disk.
    pub fn reserve(repo: &Repo, config: &BrokerConfig) -> Result<Self, LaunchError> {
        let dir = PawDir::of(&repo.common_dir);
        require_no_broker(&dir, repo)?;
        let listener = endpoint::reserve(bind_address(config)?, config.port)?;
        let port = listener.local_addr().map_or(config.port, |address| address.port());
        Ok(Self { dir, port, _listener: listener })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes this the current session of the repository's log and creates a token for each agent.
    pub fn mint(&self, receipt: &Receipt, now: Timestamp) -> Result<PaneTokens, LaunchError> {
        files::create_private_dir(self.dir.path())?;
        let log = log::open(&self.dir.log())?;
        let session = SessionId::new(&receipt.session_id());
        log.begin(&session, now)?;
        let keyring = Keyring::new(&log, self.dir.path());
        keyring.operator()?;
        let mut tokens = BTreeMap::new();
        for agent in token_owners(receipt) {
            let token = keyring.mint(&session, &agent)?.reveal().to_owned();
            tokens.insert(agent, token);
        }
        Ok(PaneTokens(tokens))
    }
}

/// Revokes the tokens of a session.
pub(super) fn revoke(repo: &Repo, receipt: &Receipt) -> Result<(), LaunchError> {
    let dir = PawDir::of(&repo.common_dir);
    let Some(log) = log::find(&dir.log())? else { return Ok(()) };
    let keyring = Keyring::new(&log, dir.path());
    let session = SessionId::new(&receipt.session_id());
    for agent in token_owners(receipt) {
        keyring.revoke(&session, &agent)?;
    }
    Ok(())
}

fn token_owners(receipt: &Receipt) -> Vec<AgentId> {
    let supervisor = (receipt.mode == SessionMode::Supervisor).then(AgentId::supervisor);
    receipt.agent_ids().into_iter().chain(supervisor).collect()
}

/// Two brokers of one repository would each store half of its messages. A broker that was just ended may still be saving
/// its messages, so it gets some time to exit.
fn require_no_broker(dir: &PawDir, repo: &Repo) -> Result<(), LaunchError> {
    let watch = Stopwatch::start();
    loop {
        let Some(found) = Endpoint::load(dir)? else { return Ok(()) };
        let Some(address) = found.address() else { return Ok(()) };
        match client::probe(address) {
            Ok(PortOwner::Broker { repository_hash: Some(of) }) if of == repository_hash(&repo.root) => {
                if watch.remaining(SHUTDOWN_TIMEOUT).is_zero() {
                    return Err(LaunchError::BrokerRuns { url: found.url, pid: found.pid });
                }
                thread::sleep(POLL_INTERVAL);
            }
            _ => return Ok(()),
        }
    }
}
