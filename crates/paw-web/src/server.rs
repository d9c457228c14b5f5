//! Listens for browsers, and keeps the feed current.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use paw_broker::Bus;
use paw_broker::http::RunRequest;
use paw_broker::log::PageLimit;
use paw_core::PawError;
use paw_core::paths::PawDir;
use paw_host::clock::{self, Stopwatch};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_session::lifecycle::Session;
use paw_session::{Receipts, messages};
use paw_supervisor::proof;
use paw_view::{SessionView, ViewEvent};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::access::OwnNames;
use crate::app::{App, AppParts};
use crate::error::WebError;
use crate::feed::{self, Feed};
use crate::login::{LoginFile, Scope};
use crate::{pane_marks, route};

/// Connections that may be open at once.
const MOST_CONNECTIONS: usize = 256;
/// Two seconds.
const LISTEN_ATTEMPTS: usize = 40;
/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Changes within this time are told together.
const TOGETHER: Duration = Duration::from_millis(50);
/// How often receipt, tmux and worktrees are read while a page is open; messages are told as they happen.
const BETWEEN_SNAPSHOTS: Duration = Duration::from_secs(3);
/// The shortest time between two looks at the tips of branches because of messages.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// More messages than this at once are a flood: no person follows them one by one, so pages get fewer, larger changes, and the
/// agents that publish keep the processor.
const FLOOD: usize = 100;
/// How long pages wait for changes in a flood, and how long after its last large page it is over.
const BETWEEN_CHANGES_IN_FLOOD: Duration = Duration::from_millis(500);
/// How often messages are read in a flood: before they leave the broker's memory, even if this task is late.
const BETWEEN_READS_IN_FLOOD: Duration = Duration::from_millis(25);
/// Messages that are read at once.
const PAGE: PageLimit = PageLimit { messages: 4000, bytes: 4 << 20 };

/// What a server needs to start.
pub(crate) struct WebSettings {
    pub(crate) repo: Repo,
    pub(crate) dirs: Dirs,
    pub(crate) receipts: Receipts,
    pub(crate) bus: Arc<Bus>,
    pub(crate) runs: mpsc::Sender<RunRequest>,
    pub(crate) bind: IpAddr,
    /// The first free one is taken.
    pub(crate) ports: Vec<u16>,
    pub(crate) hosts: Vec<String>,
    pub(crate) view_only: bool,
    pub(crate) terminal_timeout_seconds: u64,
    pub(crate) tls: Option<TlsAcceptor>,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct WebServer {
    app: Arc<App>,
    address: SocketAddr,
    hosts: Vec<String>,
    encrypted: bool,
    tasks: Vec<JoinHandle<()>>,
}

impl WebServer {
    /// Listens, and loads the session.
    pub(crate) async fn start(settings: WebSettings) -> Result<Self, WebError> {
        let WebSettings {
            repo,
            dirs,
            receipts,
            bus,
            runs,
            bind,
            ports,
            hosts,
            view_only,
            terminal_timeout_seconds,
            tls,
        } = settings;
        let (listener, address) = listen(bind, &ports).await?;
        let feed = Feed::new(load_view(&repo, &receipts, &bus, &dirs)?);
        let logins = LoginFile::load(PawDir::of(&repo.common_dir).web_logins())?;
        let encrypted = tls.is_some();
        let names = OwnNames::new(address, encrypted, &hosts);
        let app = App::new(AppParts {
            repo,
            dirs,
            receipts,
            bus,
            runs,
            feed,
            names,
            view_only,
            terminal_timeout_seconds,
            logins,
        });
        let tasks = vec![
            tokio::spawn(accept(listener, tls, Arc::clone(&app))),
            tokio::spawn(follow_messages(Arc::clone(&app))),
            tokio::spawn(follow_session(Arc::clone(&app))),
            tokio::spawn(pane_marks::follow(Arc::clone(&app))),
        ];
        Ok(Self { app, address, hosts, encrypted, tasks })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for browsers on this machine, or for all if it is not a loopback address.
    pub(crate) fn url(&self) -> String {
        match self.remote_url().filter(|_| self.encrypted) {
            Some(remote) => remote,
            None => format!("http://{}", self.address),
        }
    }

    /// The address for browsers on other machines, if there is one. A proxy that forwards to loopback encrypts by itself.
    pub(crate) fn remote_url(&self) -> Option<String> {
        match self.hosts.first() {
            Some(host) if self.encrypted && !host.contains(':') => {
                Some(format!("https://{host}:{}", self.address.port()))
            }
            Some(host) => Some(format!("https://{host}")),
            None => self.encrypted.then(|| format!("https://{}", self.address)),
        }
    }

    /// A code for one login, and what that login may do.
    pub(crate) fn create_code(&self, scope: Scope) -> Result<(String, Scope), WebError> {
        Ok(self.app.create_code(scope)?)
    }

    /// Ends every login. Returns how many there were.
    pub(crate) fn revoke(&self) -> usize {
        self.app.revoke()
    }

    /// Ends every connection.
    pub(crate) async fn close(self) {
        self.app.close();
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        pane_marks::clear(self.app).await;
    }
}

/// Takes the first free port. The first one is waited for: a child that was started a moment ago may still hold the socket of
/// a server that was closed.
async fn listen(bind: IpAddr, ports: &[u16]) -> Result<(TcpListener, SocketAddr), WebError> {
    let mut failed = None;
    for (place, port) in ports.iter().enumerate() {
        let address = SocketAddr::new(bind, *port);
        let attempts = if place == 0 { LISTEN_ATTEMPTS } else { 1 };
        for attempt in 0..attempts {
            if attempt > 0 {
                tokio::time::sleep(TOGETHER).await;
            }
            let listener = TcpListener::bind(address).await;
            match listener.and_then(|listener| listener.local_addr().map(|address| (listener, address))) {
                Ok(listening) => return Ok(listening),
                Err(source) => failed = Some(WebError::Listen { address, source }),
            }
        }
    }
    Err(failed.unwrap_or_else(|| PawError::internal("no port to listen on").into()))
}

fn load_view(repo: &Repo, receipts: &Receipts, bus: &Bus, dirs: &Dirs) -> Result<SessionView, PawError> {
    let mut view = SessionView::new(feed::RECENT);
    if let Some(session) = Session::find(repo, receipts)? {
        view.apply(ViewEvent::Snapshot(Box::new(session.snapshot()?)));
    }
    messages::load(&repo.common_dir, Some(bus.session()), &mut view)?;
    proof::add_tips(&mut view, repo, dirs);
    Ok(view)
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, app: Arc<App>) {
    let open = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    // Ends every connection when this task is aborted.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(target: "paw::web", %error, "cannot accept a connection");
                tokio::time::sleep(TOGETHER).await;
                continue;
            }
        };
        // Above the limit the connection is closed at once.
        let Ok(permit) = Arc::clone(&open).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let (tls, app) = (tls.clone(), Arc::clone(&app));
        connections.spawn(async move {
            match tls {
                None => serve(stream, app, permit).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
                        serve(stream, app, permit).await;
                    }
                }
            }
        });
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Arc<App>,
    permit: OwnedSemaphorePermit,
) {
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(route::handle(&app, request).await) }
    });
    // Errors of a connection concern only its browser.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    drop(permit);
}

/// Applies messages as they are stored. They are read often even if pages are told seldom: a reader that is late finds them only
/// in the log, which costs more than everything else.
async fn follow_messages(app: Arc<App>) {
    let since = app.feed.read(|view| view.last_seq);
    let mut stream = app.bus.subscribe_after(since).with_limit(PAGE).with_pause(TOGETHER);
    let (mut looked, mut told) = (Stopwatch::start(), Stopwatch::start());
    let mut last_large_page: Option<Stopwatch> = None;
    let (mut has_news, mut is_untold) = (false, false);
    loop {
        let is_flood = last_large_page.as_ref().is_some_and(|page| page.elapsed() < BETWEEN_CHANGES_IN_FLOOD);
        let left = if is_flood { told.remaining(BETWEEN_CHANGES_IN_FLOOD) } else { Duration::ZERO };
        tokio::select! {
            biased;
            () = tokio::time::sleep(left), if is_untold => {
                // A tip that moved or was proven is told with its message. In a flood, the next snapshot shows it: git is
                // asked for it.
                if has_news && !is_flood && app.feed.has_readers() && looked.elapsed() > BETWEEN_LOOKS {
                    (looked, has_news) = (Stopwatch::start(), false);
                    let asked = Arc::clone(&app);
                    let _ = tokio::task::spawn_blocking(move || asked.load_tips()).await;
                }
                app.feed.flush(clock::now());
                (told, is_untold) = (Stopwatch::start(), false);
            }
            page = stream.next_page() => {
                let Some(page) = page else { return };
                let stored: Vec<_> = page.iter().filter_map(|kept| kept.parse(app.bus.session())).collect();
                has_news |= stored.iter().any(|stored| proof::is_about_tips(&stored.message));
                let is_large = stored.len() > FLOOD;
                if is_large {
                    last_large_page = Some(Stopwatch::start());
                    // The broker has these already; reading each message into them again would be most of the work.
                    let (records, seq) = app.bus.records_with_head();
                    app.feed.apply([ViewEvent::Records { records, seq }]);
                }
                app.feed.apply_messages(&stored);
                stream.set_pause(if is_large { BETWEEN_READS_IN_FLOOD } else { TOGETHER });
                is_untold = true;
            }
        }
    }
}

/// Reads what is not in the messages, while someone looks.
async fn follow_session(app: Arc<App>) {
    loop {
        app.feed.wait_for_readers().await;
        let asked = Arc::clone(&app);
        let taken = tokio::task::spawn_blocking(move || {
            let snapshot = asked.session()?.snapshot()?;
            asked.feed.apply([ViewEvent::Snapshot(Box::new(snapshot))]);
            asked.load_tips();
            Ok::<_, PawError>(())
        });
        if let Ok(Err(error)) = taken.await {
            tracing::debug!(target: "paw::web", "cannot read the session: {error}");
        }
        app.show_taken();
        tokio::time::sleep(BETWEEN_SNAPSHOTS).await;
    }
}
