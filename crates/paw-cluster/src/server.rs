//! A `nats-server` of the session's own, on the loopback of the hub.
//!
//! It syncs every message before it acknowledges it, has one user per host that may only send as that host, and starts again on
//! the same port when it dies.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paw_broker::log::StreamId;
use paw_core::paths::PawDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport, HostName, text};
use paw_host::clock::Stopwatch;
use paw_host::files::{self, Access, FileError};
use paw_host::process::{self, Command, ProcessError, Stopper, end_marked, find_program};
use serde::{Deserialize, Serialize};

use crate::nats::NatsLogin;

pub const PROGRAM: &str = "nats-server";
/// Older ones cannot sync every message.
const MINIMUM: (u32, u32) = (2, 10);
const START_LIMIT: Duration = Duration::from_secs(15);
/// The same for a server that is still running: it reads its files first.
const LOAD_LIMIT: Duration = Duration::from_mins(2);
/// A server that has ended so often does not start.
const ATTEMPTS: u32 = 5;
const POLL: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The session's own server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("{PROGRAM} is not installed")]
    Missing,
    #[error("{found} is too old; {}.{} or newer is needed", MINIMUM.0, MINIMUM.1)]
    TooOld { found: String },
    #[error("{PROGRAM} did not start: {0}")]
    NotStarted(String),
    #[error("cannot create a password: {0}")]
    NoRandomness(String),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Diagnostic for ServerError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        let use_another = "or set [cluster] servers to NATS servers that all hosts reach";
        match self {
            Self::Missing => report(ErrorCode::FailedPrecondition).hint(format!(
                "install {PROGRAM} {}.{} or newer on this machine, {use_another}",
                MINIMUM.0, MINIMUM.1
            )),
            Self::TooOld { .. } => report(ErrorCode::FailedPrecondition).hint(format!(
                "it does not know 'sync_interval: always', so a power failure would lose messages that it has confirmed; update it, {use_another}"
            )),
            Self::NotStarted(_) => {
                report(ErrorCode::Internal).hint("see its log, paw/nats/server.log in the git directory")
            }
            Self::NoRandomness(_) => report(ErrorCode::Internal),
            Self::Process(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// Finds the program and checks its version.
pub fn require_program(search_path: &OsString) -> Result<String, ServerError> {
    find_program(PROGRAM, search_path).ok_or(ServerError::Missing)?;
    let output = Command::new(PROGRAM).arg("--version").time_limit(START_LIMIT).capture()?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_new_enough(&found) { Ok(found) } else { Err(ServerError::TooOld { found }) }
}

/// Reads `nats-server: v2.15.1`.
fn is_new_enough(version: &str) -> bool {
    let number = version.rsplit(['v', ' ']).next().unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= MINIMUM)
}

/// How the server is reached, kept for the next start.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ServerAccess {
    /// Missing until the server has chosen one.
    port: Option<u16>,
    passwords: BTreeMap<HostName, String>,
}

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct OwnServer {
    dir: PawDir,
    stream: StreamId,
    hub: HostName,
    access: ServerAccess,
    pid: Arc<AtomicU32>,
    stopping: Arc<AtomicBool>,
    stopper: Arc<Mutex<Option<Stopper>>>,
    /// The last line that it printed, and how often it has ended.
    said: Arc<Mutex<String>>,
    ends: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl OwnServer {
    /// Starts the server of a session. One that an earlier process left behind is ended first.
    pub fn start(
        dir: &PawDir,
        stream: &StreamId,
        hub: &HostName,
        hosts: &[HostName],
    ) -> Result<Self, ServerError> {
        end_marked(&mark(stream));
        files::create_private_dir(&dir.nats())?;
        let saved = files::load_text(&dir.nats_access())?;
        let saved: Option<ServerAccess> = saved.and_then(|text| serde_json::from_str(&text).ok());
        let passwords = saved.unwrap_or_default().passwords;
        let mut server = Self {
            dir: dir.clone(),
            stream: stream.clone(),
            hub: hub.clone(),
            access: ServerAccess { port: None, passwords },
            pid: Arc::default(),
            stopping: Arc::default(),
            stopper: Arc::default(),
            said: Arc::default(),
            ends: Arc::default(),
            thread: None,
        };
        server.configure(hosts)?;
        server.thread = Some(server.supervise());
        server.access.port = Some(server.wait_for_port()?);
        // When it dies, its successor listens on the same port.
        server.configure(hosts)?;
        Ok(server)
    }

    pub fn port(&self) -> u16 {
        self.access.port.unwrap_or_default()
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port())
    }

    /// The user of a host.
    pub fn login(&self, host: &HostName) -> Option<NatsLogin> {
        let password = self.access.passwords.get(host)?.clone();
        Some(NatsLogin::Password { user: host.to_string(), password })
    }

    /// Admits these hosts, too. Connections of the others are not affected.
    pub fn set_hosts(&mut self, hosts: &[HostName]) -> Result<(), ServerError> {
        if hosts.iter().all(|host| self.access.passwords.contains_key(host)) {
            return Ok(());
        }
        self.configure(hosts)?;
        let pid = self.pid();
        Command::new(PROGRAM)
            .args(["--signal", &format!("reload={pid}")])
            .time_limit(START_LIMIT)
            .capture()?;
        Ok(())
    }

    fn configure(&mut self, hosts: &[HostName]) -> Result<(), ServerError> {
        for host in hosts.iter().chain([&self.hub]) {
            if !self.access.passwords.contains_key(host) {
                self.access.passwords.insert(host.clone(), random_password()?);
            }
        }
        let text = config(&self.access, &self.dir, &self.stream, &self.hub);
        files::write_atomic(&self.dir.nats_config(), text.as_bytes(), Access::Private)?;
        let access = serde_json::to_vec(&self.access).unwrap_or_default();
        Ok(files::write_atomic(&self.dir.nats_access(), &access, Access::Private)?)
    }

    /// The process of the server.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::SeqCst)
    }

    /// Runs the server until it is dropped, again whenever it dies.
    fn supervise(&self) -> JoinHandle<()> {
        let command = Command::new(PROGRAM).arg("-c").arg(self.dir.nats_config()).dir(self.dir.nats());
        let mark = mark(&self.stream);
        let (pid, stopping, stopper) =
            (Arc::clone(&self.pid), Arc::clone(&self.stopping), Arc::clone(&self.stopper));
        let (said, ends) = (Arc::clone(&self.said), Arc::clone(&self.ends));
        let keep = move |line: String| *said.lock().unwrap_or_else(PoisonError::into_inner) = line;
        thread::spawn(move || {
            let mut pause = POLL;
            while !stopping.load(Ordering::SeqCst) {
                let started = Stopwatch::start();
                match command.start(&mark) {
                    Ok(running) => {
                        pid.store(running.pid(), Ordering::SeqCst);
                        let own = running.stopper();
                        *stopper.lock().unwrap_or_else(PoisonError::into_inner) = Some(own.clone());
                        if stopping.load(Ordering::SeqCst) {
                            own.stop();
                        }
                        let _ = running.follow(|_, line| {
                            keep(text::output_line(&String::from_utf8_lossy(line)));
                            ControlFlow::Continue(())
                        });
                    }
                    Err(error) => {
                        tracing::warn!(target: "paw::cluster", "cannot start {PROGRAM}: {error}");
                        keep(error.to_string());
                    }
                }
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                ends.fetch_add(1, Ordering::SeqCst);
                tracing::warn!(target: "paw::cluster", "{PROGRAM} ended and is started again");
                pause = if started.elapsed() > LONGEST_PAUSE { POLL } else { (pause * 2).min(LONGEST_PAUSE) };
                thread::sleep(pause);
            }
        })
    }

    /// The port of the server, once it listens.
    fn wait_for_port(&self) -> Result<u16, ServerError> {
        let watch = Stopwatch::start();
        loop {
            let ports = self.dir.nats_ports(self.pid());
            let ports =
                files::load_text(&ports)?.and_then(|text| serde_json::from_str::<ServerPorts>(&text).ok());
            if let Some(port) = ports.and_then(|ports| port_of(ports.nats.first()?)) {
                return Ok(port);
            }
            let limit = if process::is_alive(self.pid()) { LOAD_LIMIT } else { START_LIMIT };
            if watch.elapsed() > limit || self.ends.load(Ordering::SeqCst) >= ATTEMPTS {
                let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let silent = || format!("no answer within {} s", limit.as_secs());
                return Err(ServerError::NotStarted(if said.is_empty() { silent() } else { said }));
            }
            thread::sleep(POLL);
        }
    }
}

/// What the server writes when it listens.
#[derive(Debug, Deserialize)]
struct ServerPorts {
    nats: Vec<String>,
}

fn port_of(url: &str) -> Option<u16> {
    url.rsplit(':').next()?.parse().ok()
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(stopper) = &*self.stopper.lock().unwrap_or_else(PoisonError::into_inner) {
            stopper.stop();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn mark(stream: &StreamId) -> String {
    format!("paw-nats-{stream}")
}

fn random_password() -> Result<String, ServerError> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| ServerError::NoRandomness(error.to_string()))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The hub may do everything; a host may send as itself and read.
fn config(access: &ServerAccess, dir: &PawDir, stream: &StreamId, hub: &HostName) -> String {
    let quoted = |path: PathBuf| format!("{:?}", path.display().to_string());
    let mut text = format!(
        "listen: \"127.0.0.1:{}\"\nports_file_dir: {}\nserver_name: \"paw-{stream}\"\nlog_file: {}\nlogfile_size_limit: 1MB\nmax_payload: 2MB\n\
         jetstream {{ store_dir: {}, sync_interval: always }}\nauthorization {{\n  timeout: 5\n  users: [\n",
        access.port.map_or(-1, i32::from),
        quoted(dir.nats()),
        quoted(dir.nats_log()),
        quoted(dir.nats_store()),
    );
    for (host, password) in &access.passwords {
        let _ = write!(text, "    {{ user: \"{host}\", password: \"{password}\"");
        if host != hub {
            let consumer = |verb: &str| format!("\"$JS.API.CONSUMER.{verb}.PAW_{stream}.{host}\"");
            let _ = write!(
                text,
                ", permissions: {{ publish: [\"paw.{stream}.{host}\", \"$JS.API.STREAM.INFO.PAW_{stream}\", {}, {}, {}], \
                 subscribe: [\"_INBOX_{host}.>\"] }}",
                consumer("CREATE"),
                consumer("DELETE"),
                consumer("MSG.NEXT"),
            );
        }
        text.push_str(" }\n");
    }
    text.push_str("  ]\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_unknown_versions_of_the_server_are_refused() {
        for good in ["nats-server: v2.10.0", "nats-server: v2.15.1", "nats-server: v3.0.0-beta"] {
            assert!(is_new_enough(good), "{good}");
        }
        for bad in ["nats-server: v2.9.10", "nats-server", "", "nats-server: v1.4.0"] {
            assert!(!is_new_enough(bad), "{bad}");
        }
    }

    #[test]
    fn a_host_may_only_send_as_itself() {
        let host = |name: &str| HostName::new(name).unwrap();
        let passwords = BTreeMap::from([(host("hub"), "h".to_owned()), (host("big"), "b".to_owned())]);
        let access = ServerAccess { port: Some(4222), passwords };
        let stream = StreamId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let text = config(&access, &PawDir::at("/x"), &stream, &host("hub"));
        assert!(
            text.contains("sync_interval: always") && text.contains("listen: \"127.0.0.1:4222\""),
            "{text}"
        );
        let line = |user: &str| text.lines().find(|line| line.contains(user)).unwrap();
        assert!(!line("\"hub\"").contains("permissions"), "{text}");
        assert!(line("\"big\"").contains("publish: [\"paw.0123456789abcdef0123456789abcdef.big\""), "{text}");
    }
}
