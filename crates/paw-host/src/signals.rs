//! Shutdown signals: SIGHUP, SIGINT and SIGTERM.

use std::io;
use std::thread;

use paw_core::PawError;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Catches SIGHUP, SIGINT and SIGTERM from its creation on. Needs a tokio runtime.
#[derive(Debug)]
pub struct ShutdownSignals([Signal; 3]);

impl ShutdownSignals {
    /// Catches signals from now on: a thread waits for the first one and calls `then`.
    pub fn on_first(then: impl FnOnce() + Send + 'static) -> Result<(), PawError> {
        let failed = |error: io::Error| PawError::internal(format!("cannot catch signals: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let guard = runtime.enter();
        let mut signals = Self::catch().map_err(failed)?;
        drop(guard);
        thread::spawn(move || {
            runtime.block_on(signals.received());
            then();
        });
        Ok(())
    }

    pub fn catch() -> io::Result<Self> {
        let [hangup, interrupt, terminate] =
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        Ok(Self([hangup?, interrupt?, terminate?]))
    }

    pub async fn received(&mut self) {
        let [hangup, interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Resolves on the first shutdown signal.
pub async fn wait_for_shutdown() -> io::Result<()> {
    ShutdownSignals::catch()?.received().await;
    Ok(())
}
