//! Delivers the first prompts of a session's agents, on its own thread.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use paw_session::delivery::{Deliveries, DeliverySettings};

/// How often to look for a new prompt in the receipt.
const IDLE: Duration = Duration::from_secs(1);

/// Running deliveries. They stop when this is dropped; another process continues them.
#[derive(Debug)]
pub(super) struct DeliveryThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DeliveryThread {
    pub(super) fn start(settings: DeliverySettings) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("paw-delivery".to_owned());
        let thread = thread.spawn(move || run(settings, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for DeliveryThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(settings: DeliverySettings, stopped: &Receiver<()>) {
    let receipt = settings.receipts.dir().receipt(&settings.session);
    let changed = || std::fs::metadata(&receipt).and_then(|file| file.modified()).ok();
    let mut deliveries = Deliveries::new(settings);
    let (mut seen, mut wait) = (None::<SystemTime>, Some(Duration::ZERO));
    loop {
        match stopped.recv_timeout(wait.unwrap_or(IDLE)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = changed();
        if wait.is_none() && now == seen {
            continue;
        }
        seen = now;
        wait = deliveries.step().unwrap_or_else(|error| {
            tracing::warn!(target: "paw::session", "cannot deliver prompts: {error}");
            Some(IDLE)
        });
    }
}
