//! The lifecycle of the daemon: take the lock, clean up after a crash, listen, serve, shut down.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use paw_core::paths::DataDir;
use paw_core::text::plural_irregular;
use paw_host::clock::{self, Stopwatch};
use paw_host::process;
use paw_host::trust::TrustStore;
use paw_worktree::{ConversationStatus, Worktrees};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Server;

use crate::conversation_service::ConversationHandler;
use crate::daemon_service::DaemonHandler;
use crate::error::DaemonError;
use crate::instance_lock::{DaemonInfo, InstanceLock};
use crate::options::DaemonOptions;
use crate::peer;
use crate::proto::FILE_DESCRIPTOR_SET;
use crate::proto::conversation_service_server::ConversationServiceServer;
use crate::proto::daemon_service_server::DaemonServiceServer;
use crate::proto::worktree_service_server::WorktreeServiceServer;
use crate::shared::Shared;
use crate::socket::{self, Socket};
use crate::turn::Turns;
use crate::worktree_service::WorktreeHandler;

/// How long cancelled turns and running jobs may take to finish.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
/// The delay after a failed accept, for example for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until SIGTERM, SIGINT, SIGHUP or a client stops it. For a dedicated process: ends everything that the process
/// has started. Calls `on_ready` with the socket once clients can connect.
pub fn run(options: DaemonOptions, on_ready: impl FnOnce(&Path)) -> Result<(), DaemonError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(DaemonError::Start)?;
    let outcome = runtime.block_on(async {
        let shutdown = Shutdown::on_signals().map_err(DaemonError::Start)?;
        let socket = options.socket.clone();
        let daemon = Daemon::bind(options).await?;
        on_ready(&socket);
        daemon.serve(shutdown).await
    });
    // Interrupts a running setup; its worktree is kept with a failed setup status.
    runtime.shutdown_background();
    process::end_children();
    outcome
}

/// Stops a daemon.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Running calls may finish within the grace period.
    pub graceful: CancellationToken,
    /// Does not wait for running calls.
    pub immediate: CancellationToken,
}

impl Shutdown {
    /// The first signal starts a graceful shutdown, the second an immediate one.
    fn on_signals() -> std::io::Result<Self> {
        let shutdown = Self::default();
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        for kind in kinds {
            let (mut signals, shutdown) = (signal(kind)?, shutdown.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if shutdown.graceful.is_cancelled() {
                        shutdown.immediate.cancel();
                    }
                    shutdown.graceful.cancel();
                }
            });
        }
        Ok(shutdown)
    }
}

/// A daemon with a listening socket. Connections wait until [`Daemon::serve`] is called.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    listener: UnixListener,
    // Dropped in this order: the socket is removed before another daemon can take the lock.
    _socket: Socket,
    _instance_lock: InstanceLock,
}

impl Daemon {
    pub async fn bind(options: DaemonOptions) -> Result<Self, DaemonError> {
        let (instance_lock, shared) = spawn_blocking(move || prepare(options)).await??;
        let (listener, socket) = socket::listen(&shared.options.socket).await?;
        Ok(Self { shared: Arc::new(shared), listener, _socket: socket, _instance_lock: instance_lock })
    }

    pub async fn serve(self, shutdown: Shutdown) -> Result<(), DaemonError> {
        let Self { shared, listener, _socket, _instance_lock } = self;
        tracing::info!("listening on {} as {}", shared.options.socket.display(), std::process::id());
        let (connections, incoming) = mpsc::channel(16);
        tokio::spawn(accept(listener, connections, shared.stopping.clone()));
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<WorktreeServiceServer<WorktreeHandler>>().await;
        health.set_serving::<ConversationServiceServer<ConversationHandler>>().await;
        health.set_serving::<DaemonServiceServer<DaemonHandler>>().await;
        let describe = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let unknown = |error: tonic_reflection::server::Error| DaemonError::Describe(error.to_string());
        let router = Server::builder()
            .add_service(WorktreeServiceServer::new(WorktreeHandler(Arc::clone(&shared))))
            .add_service(ConversationServiceServer::new(ConversationHandler(Arc::clone(&shared))))
            .add_service(DaemonServiceServer::new(DaemonHandler(Arc::clone(&shared))))
            .add_service(health_service)
            .add_service(describe().build_v1().map_err(unknown)?)
            .add_service(describe().build_v1alpha().map_err(unknown)?);
        let stopping = shared.stopping.clone().cancelled_owned();
        let mut server =
            tokio::spawn(router.serve_with_incoming_shutdown(ReceiverStream::new(incoming), stopping));

        tokio::select! {
            ended = &mut server => return ended?.map_err(|error| DaemonError::Serve(error.to_string())),
            () = shutdown.graceful.cancelled() => shared.stopping.cancel(),
            () = shared.stopping.cancelled() => {}
        }
        tracing::info!("stopping");
        health.set_not_serving::<WorktreeServiceServer<WorktreeHandler>>().await;
        finish(&shared, &shutdown, server).await;
        tracing::info!("stopped");
        Ok(())
    }
}

/// Waits for running calls, then ends turns, then aborts.
async fn finish<T>(shared: &Shared, shutdown: &Shutdown, mut server: JoinHandle<T>) {
    let finished = within(shared.options.grace, shutdown, &mut server).await;
    shared.turns.stop();
    if !finished && tokio::time::timeout(SETTLE_TIMEOUT, &mut server).await.is_err() {
        tracing::warn!("some calls did not finish");
        server.abort();
    }
    shared.jobs.close();
    if !within(SETTLE_TIMEOUT, shutdown, shared.jobs.wait()).await {
        tracing::warn!("some jobs did not finish");
    }
}

async fn within(limit: Duration, shutdown: &Shutdown, work: impl Future) -> bool {
    tokio::select! {
        _ = work => true,
        () = tokio::time::sleep(limit) => false,
        () = shutdown.immediate.cancelled() => false,
    }
}

/// Takes the lock, opens the registry and cleans up after a crash.
fn prepare(options: DaemonOptions) -> Result<(InstanceLock, Shared), DaemonError> {
    let started_at = clock::now();
    let info = DaemonInfo {
        pid: std::process::id(),
        socket: options.socket.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
    };
    let instance_lock = InstanceLock::take(&options.data_dir, &info)?;
    let worktrees = Worktrees::open(&options.data_dir)?;
    end_orphaned_turns(&worktrees)?;
    // A repository that git cannot read must not affect the others.
    if let Err(error) = worktrees.reconcile() {
        tracing::warn!("cannot reconcile all worktrees: {error}");
    }
    let shared = Shared {
        trust: TrustStore::at(DataDir::of(&options.data_dir).trust()),
        turns: Arc::new(Turns::default()),
        stopping: CancellationToken::new(),
        jobs: TaskTracker::new(),
        uptime: Stopwatch::start(),
        started_at,
        worktrees,
        options,
    };
    Ok((instance_lock, shared))
}

/// Ends turns that a killed daemon left running.
fn end_orphaned_turns(worktrees: &Worktrees) -> Result<(), DaemonError> {
    let registry = worktrees.registry();
    let conversations = registry.conversations(None)?.into_iter();
    for conversation in conversations.filter(|conversation| conversation.status == ConversationStatus::Active)
    {
        let ended = process::end_marked(conversation.id.as_str());
        tracing::warn!(
            "conversation {} was interrupted; {} still running",
            conversation.id,
            plural_irregular(ended, "process was", "processes were")
        );
    }
    registry.interrupt_conversations(clock::now())?;
    Ok(())
}

/// Accepts connections of permitted users. A failed connection does not affect others.
async fn accept(
    listener: UnixListener,
    connections: mpsc::Sender<std::io::Result<UnixStream>>,
    stopping: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted.and_then(|(stream, _)| Ok((peer::find_foreign_uid(&stream)?, stream))) {
            Ok((None, stream)) => {
                if connections.send(Ok(stream)).await.is_err() {
                    return;
                }
            }
            Ok((Some(uid), _)) => tracing::warn!("rejected a connection from user {uid}"),
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}
