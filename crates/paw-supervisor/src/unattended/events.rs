//! The events of a followed session, in one queue.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use paw_broker::client::{BrokerClient, ClientIdentity, ListenEvent};
use paw_broker::{SessionId, StoredMessage};
use paw_core::config::BrokerConfig;
use paw_core::{AgentId, PawError};
use paw_host::clock::Stopwatch;
use paw_host::signals::ShutdownSignals;
use paw_session::lifecycle::Session;

use super::refs;
use crate::gates::{GateError, GateReport, StopRequest};

/// How long to wait for running gates after the time limit.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// An event of a followed session.
#[derive(Debug)]
pub(super) enum UnattendedEvent {
    Said(Box<StoredMessage>),
    /// No message arrived for a while.
    Quiet,
    /// A branch may have moved.
    Moved,
    /// Gates have run; `None` if the branch had no commits.
    Checked {
        agent: AgentId,
        outcome: Box<Result<Option<GateReport>, GateError>>,
    },
    Interrupted,
    TimeOver,
}

/// The queue and the time limit.
#[derive(Debug)]
pub(super) struct EventQueue {
    sender: Sender<UnattendedEvent>,
    receiver: Receiver<UnattendedEvent>,
    stop: StopRequest,
    watch: Stopwatch,
    limit: Duration,
    moving: Arc<AtomicBool>,
    /// Without it branches are looked at now and then.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl EventQueue {
    /// Listens to a session, and to signals, from now on.
    pub(super) fn listen(
        session: &Session,
        config: &BrokerConfig,
        limit: Duration,
    ) -> Result<Self, PawError> {
        let (sender, receiver) = mpsc::channel();
        let stop = StopRequest::default();
        catch_signals(sender.clone(), stop.clone())?;
        let common_dir = &session.repo.common_dir;
        let (moving, moves) = (Arc::new(AtomicBool::new(false)), sender.clone());
        let is_moving = Arc::clone(&moving);
        // git writes several files per commit; one event is enough until the branches are read.
        let watcher = refs::watch(common_dir, move || {
            if !is_moving.swap(true, Ordering::SeqCst) {
                let _ = moves.send(UnattendedEvent::Moved);
            }
        });
        let id = SessionId::new(&session.receipt.session_id());
        let client = BrokerClient::new(common_dir, config.clone(), ClientIdentity::default(), Some(id))?;
        let messages = sender.clone();
        thread::spawn(move || {
            let each = |heard: ListenEvent<'_>| {
                let event = match heard {
                    ListenEvent::Message(stored) => UnattendedEvent::Said(Box::new(stored.clone())),
                    ListenEvent::Idle => UnattendedEvent::Quiet,
                };
                if messages.send(event).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            if let Err(error) = client.listen(0, each) {
                tracing::warn!(target: "paw::unattended", "lost the connection to the broker: {error}");
            }
        });
        Ok(Self { sender, receiver, stop, watch: Stopwatch::start(), limit, moving, _watcher: watcher })
    }

    /// A sender for a thread that reports its result.
    pub(super) fn sender(&self) -> Sender<UnattendedEvent> {
        self.sender.clone()
    }

    /// The next event, or `None` after `pause`.
    pub(super) fn wait(&self, pause: Option<Duration>) -> Option<UnattendedEvent> {
        let left = self.watch.remaining(self.limit);
        if left.is_zero() {
            return Some(UnattendedEvent::TimeOver);
        }
        let event = self.receiver.recv_timeout(pause.map_or(left, |pause| pause.min(left))).ok();
        if matches!(event, Some(UnattendedEvent::Moved)) {
            self.moving.store(false, Ordering::SeqCst);
        }
        event
    }

    /// Waits for running gates to stop, so that none of their processes is left.
    pub(super) fn wait_for_gates(&self) {
        let watch = Stopwatch::start();
        while !watch.remaining(LAST_WAIT).is_zero() {
            if let Ok(UnattendedEvent::Checked { .. }) =
                self.receiver.recv_timeout(watch.remaining(LAST_WAIT))
            {
                return;
            }
        }
    }

    /// The time left.
    pub(super) fn remaining(&self) -> Duration {
        self.watch.remaining(self.limit)
    }

    /// Raised when a signal asks this process to stop.
    pub(super) fn stop(&self) -> &StopRequest {
        &self.stop
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }
}

/// From here on Ctrl+C is an event, and kills running gates.
fn catch_signals(events: Sender<UnattendedEvent>, stop: StopRequest) -> Result<(), PawError> {
    let interrupt = move || {
        stop.raise();
        let _ = events.send(UnattendedEvent::Interrupted);
        stop.end_checks();
    };
    ShutdownSignals::on_first(interrupt)
}
