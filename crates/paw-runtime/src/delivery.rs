//! Delivers the first prompts of a session's agents, on its own thread.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use paw_host::clock::Stopwatch;
use paw_session::delivery::{Deliveries, DeliverySettings};

/// How often to look for a new prompt in the receipt.
const IDLE: Duration = Duration::from_secs(1);

pub(super) enum DeliveryWake {
    /// The screen of an agent has changed.
    ScreenChanged,
    Stop,
}

/// Running deliveries. They stop when this is dropped; another process continues them.
#[derive(Debug)]
pub(super) struct DeliveryThread {
    wake: Sender<DeliveryWake>,
    thread: Option<JoinHandle<()>>,
}

impl DeliveryThread {
    pub(super) fn start(settings: DeliverySettings) -> io::Result<Self> {
        let (wake, woken) = mpsc::channel();
        let thread = thread::Builder::new().name("paw-delivery".to_owned());
        let thread = thread.spawn(move || run(settings, &woken))?;
        Ok(Self { wake, thread: Some(thread) })
    }

    pub(super) fn wake(&self) -> Sender<DeliveryWake> {
        self.wake.clone()
    }
}

impl Drop for DeliveryThread {
    fn drop(&mut self) {
        let _ = self.wake.send(DeliveryWake::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(settings: DeliverySettings, woken: &Receiver<DeliveryWake>) {
    let receipt = settings.receipts.dir().receipt(&settings.session);
    let changed = || std::fs::metadata(&receipt).and_then(|file| file.modified()).ok();
    let mut deliveries = Deliveries::new(settings);
    let (mut seen, mut wait, mut since) = (None::<SystemTime>, Some(Duration::ZERO), Stopwatch::start());
    loop {
        match woken.recv_timeout(wait.map_or(IDLE, |wait| since.remaining(wait).min(IDLE))) {
            Ok(DeliveryWake::ScreenChanged) => {
                (wait, since) = (deliveries.note_change(), Stopwatch::start());
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(DeliveryWake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = changed();
        if wait.is_none_or(|wait| !since.remaining(wait).is_zero()) && now == seen {
            continue;
        }
        seen = now;
        wait = deliveries.step().unwrap_or_else(|error| {
            tracing::warn!(target: "paw::session", "cannot deliver prompts: {error}");
            Some(IDLE)
        });
        since = Stopwatch::start();
    }
}
