//! The broker of one session: log, bus, HTTP server, tokens and audit trail.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use paw_core::config::{BrokerAuth, BrokerConfig};
use paw_core::error::BrokerError;
use paw_core::paths::CheckoutDir;
use paw_core::paths::PawDir;
use paw_core::{Diagnostic, ErrorCode, ErrorReport};
use paw_host::clock::{self, Stopwatch};
use paw_host::files::{self, FileError, Lock};
use tokio::runtime::{self, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::audit::AuditTrail;
use crate::bus::{Bus, Subscription};
use crate::endpoint::{self, Endpoint};
use crate::http::{
    self, RunRequest, ServerAddress, ServerContext, ServerLimits, TokenCache, WaitingRequests, WatchRequest,
};
use crate::identity::{IdentityError, Keyring};
use crate::log::{self, LogError, SessionId};
use crate::message::Message;

/// How often messages and tokens of other processes are looked for.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
const UNCONDITIONAL_REFRESH: u32 = 16;
/// How long a broker that is shutting down may hold its lock.
const HANDOVER: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Queued requests to watch a worktree.
const WATCHES: usize = 64;
/// Queued requests to run something.
const RUNS: usize = 16;
const LARGE_BODIES: usize = 64;
/// How long the audit trail may take to write its last lines.
const AUDIT_TIMEOUT: Duration = Duration::from_secs(2);

/// What a broker needs to start.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The main checkout, which `/status` reports as the repository.
    pub repository: PathBuf,
    pub session: SessionId,
    pub config: BrokerConfig,
    /// Whether a request to verify follows each commit message.
    pub nudge: bool,
    /// The file of the audit trail, if any.
    pub audit: Option<PathBuf>,
    pub limits: ServerLimits,
}

impl BrokerSettings {
    pub fn new(common_dir: PathBuf, repository: PathBuf, session: SessionId, config: BrokerConfig) -> Self {
        let audit = Some(CheckoutDir::of(&repository).audit_trail());
        Self { common_dir, repository, session, config, nudge: true, audit, limits: ServerLimits::default() }
    }
}

/// A broker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BrokerStartError {
    #[error("a broker is already running for this repository{}", at(.0.as_ref()))]
    AlreadyRunning(Option<Endpoint>),
    #[error("[broker] bind = \"{0}\" is not an IP address")]
    NotAnAddress(String),
    #[error("[broker] bind = \"{0}\" with auth = \"none\" lets other machines send any message")]
    Exposed(IpAddr),
    #[error(transparent)]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    File(#[from] FileError),
}

fn at(endpoint: Option<&Endpoint>) -> String {
    endpoint.map(|endpoint| format!(" at {} (process {})", endpoint.url, endpoint.pid)).unwrap_or_default()
}

impl Diagnostic for BrokerStartError {
    fn report(&self) -> ErrorReport {
        let report = |code| ErrorReport::new(code, self);
        match self {
            Self::AlreadyRunning(_) => report(ErrorCode::FailedPrecondition),
            Self::NotAnAddress(_) => report(ErrorCode::InvalidArgument).hint("use 127.0.0.1"),
            Self::Exposed(_) => {
                report(ErrorCode::InvalidArgument).hint("set auth = \"token\", or bind = \"127.0.0.1\"")
            }
            Self::Broker(error) => error.report(),
            Self::Log(error) => error.report(),
            Self::Identity(error) => error.report(),
            Self::File(error) => error.report(),
        }
    }
}

/// A running broker. Dropping it stops it at once; [`Broker::shutdown`] finishes open requests first.
#[derive(Debug)]
pub struct Broker {
    /// Serves requests.
    serving: Runtime,
    /// Runs everything else, so that a reader never delays a request.
    runtime: Runtime,
    bus: Arc<Bus>,
    keyring: Keyring,
    endpoint: Endpoint,
    dir: PawDir,
    auth: BrokerAuth,
    ending: watch::Sender<bool>,
    server: JoinHandle<()>,
    audit: Option<JoinHandle<()>>,
    watches: Option<mpsc::Receiver<WatchRequest>>,
    runs: Option<mpsc::Receiver<RunRequest>>,
    _lock: Lock,
}

impl Broker {
    /// Starts on the configured port or the next free one.
    pub fn start(settings: BrokerSettings) -> Result<Self, BrokerStartError> {
        let bind = bind_address(&settings.config)?;
        let listener = endpoint::reserve(bind, settings.config.port)?;
        Self::start_on(settings, listener)
    }

    /// Starts on a port that was reserved before.
    pub fn start_on(settings: BrokerSettings, listener: TcpListener) -> Result<Self, BrokerStartError> {
        bind_address(&settings.config)?;
        let dir = PawDir::of(&settings.common_dir);
        files::create_private_dir(dir.path())?;
        let lock = take_lock(&dir)?;
        // The address of a broker that was killed; this one has none yet.
        let _ = std::fs::remove_file(dir.endpoint());
        let log = log::open_with(&dir.log(), settings.config.synchronous)?;
        log.begin(&settings.session, clock::now())?;
        let keyring = Keyring::new(&log, dir.path());
        keyring.operator()?;
        let bus = Bus::open(log, settings.session.clone(), settings.nudge)?;
        let (serving, runtime) = (new_runtime("paw-broker")?, new_runtime("paw-readers")?);
        let address = listener.local_addr().map_err(BrokerError::BindFailed)?;
        let endpoint = Endpoint {
            url: url(address),
            pid: std::process::id(),
            session: settings.session.clone(),
            version: endpoint::VERSION.to_owned(),
            started_at: Some(clock::now()),
        };
        let (ending, ended) = watch::channel(false);
        let (watch_sender, watches) = mpsc::channel(WATCHES);
        let (run_sender, runs) = mpsc::channel(RUNS);
        let app = Arc::new(ServerContext {
            bus: Arc::clone(&bus),
            tokens: TokenCache::load(keyring.clone(), settings.session.clone())?,
            auth: settings.config.auth,
            address: ServerAddress(address),
            repository: settings.repository.clone(),
            watches: watch_sender,
            runs: run_sender,
            ending: ended.clone(),
            started: Stopwatch::start(),
            large_bodies: Semaphore::new(LARGE_BODIES),
            waiting: WaitingRequests::new(settings.limits.connections),
        });
        let server = {
            let _inside = serving.enter();
            let listener = listening(listener)?;
            runtime.spawn(refresh_regularly(Arc::clone(&app), dir.log(), ended.clone()));
            serving.spawn(http::serve(listener, app, settings.limits, ended))
        };
        let audit = settings.audit.map(|path| {
            let audit = AuditTrail::new(&settings.repository, &path);
            // The trail may be behind: messages are also stored while no broker runs.
            let since = audit.last_seq().unwrap_or(0).min(bus.head());
            runtime.spawn(audit.follow(bus.subscribe_after(since)))
        });
        endpoint.save(&dir)?;
        Ok(Self {
            serving,
            runtime,
            bus,
            keyring,
            endpoint,
            dir,
            auth: settings.config.auth,
            ending,
            server,
            audit,
            watches: Some(watches),
            runs: Some(runs),
            _lock: lock,
        })
    }

    pub fn url(&self) -> &str {
        &self.endpoint.url
    }

    pub fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }

    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    pub fn auth(&self) -> BrokerAuth {
        self.auth
    }

    /// The runtime for tasks that belong to the broker. Requests are served elsewhere.
    pub fn runtime(&self) -> &runtime::Handle {
        self.runtime.handle()
    }

    /// Stores a message from inside the process; it needs no token.
    pub fn publish(&self, message: Message) -> Result<u64, LogError> {
        self.bus.publish_blocking(message, clock::now())
    }

    /// All messages from now on.
    pub fn subscribe(&self) -> Subscription {
        self.bus.subscribe()
    }

    /// The requests to watch a worktree. Can be taken once.
    pub fn take_watches(&mut self) -> Option<mpsc::Receiver<WatchRequest>> {
        self.watches.take()
    }

    /// The requests to run something in this process. Can be taken once; without a taker they are refused.
    pub fn take_runs(&mut self) -> Option<mpsc::Receiver<RunRequest>> {
        self.runs.take()
    }

    /// Shuts down: finishes open requests, wakes long polls, and stores every accepted message.
    pub fn shutdown(self) {
        self.ending.send_replace(true);
        let _ = self.serving.block_on(self.server);
        self.bus.close();
        if let Some(audit) = self.audit {
            let _ = self.runtime.block_on(async { tokio::time::timeout(AUDIT_TIMEOUT, audit).await });
        }
        self.endpoint.remove(&self.dir);
        self.serving.shutdown_timeout(POLL_INTERVAL);
        self.runtime.shutdown_timeout(POLL_INTERVAL);
    }
}

/// A runtime with one worker: two that share the connections wake each other for every few requests, which costs a third of
/// the publish rate.
fn new_runtime(name: &str) -> Result<Runtime, BrokerError> {
    runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(8)
        .thread_name(name)
        .enable_all()
        .build()
        .map_err(BrokerError::RuntimeFailed)
}

/// The URL for local clients. A broker that listens on all addresses is reached through loopback.
fn url(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => format!("http://[::1]:{}", address.port()),
        _ => format!("http://{address}"),
    }
}

fn listening(listener: TcpListener) -> Result<tokio::net::TcpListener, BrokerError> {
    let convert = |listener: TcpListener| -> io::Result<_> {
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    };
    convert(listener).map_err(BrokerError::BindFailed)
}

/// Reads messages and tokens that other processes wrote, whenever the log has changed.
async fn refresh_regularly(app: Arc<ServerContext>, log: PathBuf, mut ended: watch::Receiver<bool>) {
    let (mut seen, mut rounds) = (None, 0_u32);
    while tokio::time::timeout(REFRESH_INTERVAL, ended.wait_for(|ended| *ended)).await.is_err() {
        let now = log::find_changes(&log);
        rounds += 1;
        // Now and then without a reason: times of change are coarse.
        if now.is_none() || now != seen || rounds.is_multiple_of(UNCONDITIONAL_REFRESH) {
            seen = now;
            app.bus.refresh();
            app.tokens.refresh().await;
        }
    }
}

/// The configured address, if the configuration is safe.
pub fn bind_address(config: &BrokerConfig) -> Result<IpAddr, BrokerStartError> {
    let bind = match config.bind.as_str() {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        text => text.parse().map_err(|_| BrokerStartError::NotAnAddress(text.to_owned()))?,
    };
    match config.auth {
        BrokerAuth::None if !bind.is_loopback() => Err(BrokerStartError::Exposed(bind)),
        _ => Ok(bind),
    }
}

fn take_lock(dir: &PawDir) -> Result<Lock, BrokerStartError> {
    let watch = Stopwatch::start();
    loop {
        if let Some(lock) = Lock::try_take(&dir.broker_lock())? {
            return Ok(lock);
        }
        if watch.elapsed() > HANDOVER {
            return Err(BrokerStartError::AlreadyRunning(Endpoint::load(dir)?));
        }
        thread::sleep(POLL_INTERVAL);
    }
}
