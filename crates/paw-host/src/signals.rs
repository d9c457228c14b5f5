//! Signals that ask this process to end.

use std::io;
use std::thread;

use paw_core::PawError;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGHUP, SIGINT and SIGTERM, caught from the moment this is made, which needs a tokio runtime.
#[derive(Debug)]
pub struct ShutdownSignals([Signal; 3]);

impl ShutdownSignals {
    /// From here on a signal ends nothing by itself: a thread waits for the first one and calls `then`.
    pub fn on_first(then: impl FnOnce() + Send + 'static) -> Result<(), PawError> {
        let failed = |error: io::Error| PawError::internal(format!("cannot catch signals: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let caught = runtime.enter();
        let mut signals = Self::catch().map_err(failed)?;
        drop(caught);
        thread::spawn(move || {
            runtime.block_on(signals.asked());
            then();
        });
        Ok(())
    }

    pub fn catch() -> io::Result<Self> {
        let [hangup, interrupt, terminate] =
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        Ok(Self([hangup?, interrupt?, terminate?]))
    }

    pub async fn asked(&mut self) {
        let [hangup, interrupt, terminate] = &mut self.0;
        tokio::select! {
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Resolves when the process is asked to end.
pub async fn wait_for_shutdown() -> io::Result<()> {
    ShutdownSignals::catch()?.asked().await;
    Ok(())
}
