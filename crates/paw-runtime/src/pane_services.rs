//! The parts of a session's process that watch its panes: monitor, delivery and attention. They need no broker.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use paw_broker::{Bus, Message, watch};
use paw_core::{AgentId, Receipt};
use paw_host::clock;
use paw_session::Receipts;
use paw_session::delivery::DeliverySettings;
use paw_supervisor::monitor::run::{Monitor, MonitorEvent, MonitorSettings};

use crate::SessionSettings;
use crate::attention::{AttentionEvent, AttentionSettings, AttentionThread};
use crate::delivery::{DeliveryThread, DeliveryWake};

/// The running parts. They stop when this is dropped.
#[derive(Debug)]
pub(super) struct PaneServices {
    /// Before the attention thread, which ends when nothing reports to it any more.
    _monitor: Option<Monitor>,
    _delivery: Option<DeliveryThread>,
    attention: Option<AttentionThread>,
}

impl PaneServices {
    /// Starts them. The session keeps running if one of them cannot start.
    pub(super) fn start(settings: &SessionSettings, receipt: &Receipt, bus: Option<&Arc<Bus>>) -> Self {
        let receipts = Receipts::at(settings.dirs.sessions_dir());
        let delivery = DeliveryThread::start(DeliverySettings {
            repo: settings.repo.clone(),
            receipts: receipts.clone(),
            session: receipt.session_name.clone(),
            clis: settings.config.clis.clone(),
            ready_timeout: settings.ready_timeout,
        });
        let attention = AttentionThread::start(AttentionSettings {
            repo: settings.repo.clone(),
            receipts: receipts.clone(),
            session: receipt.session_name.clone(),
            config: settings.config.notify.clone(),
            supervisor_window: supervisor_window(settings),
        });
        let events = attention.as_ref().ok().and_then(AttentionThread::events);
        let wake = delivery.as_ref().ok().map(DeliveryThread::wake);
        let monitor = start_monitor(settings, receipts, receipt, bus.cloned(), (events, wake));
        let warn = |what: &str, error: &std::io::Error| {
            tracing::warn!(target: "paw::session", "cannot start {what}: {error}");
        };
        Self {
            _monitor: monitor.inspect_err(|error| warn("the monitor", error)).ok(),
            _delivery: delivery.inspect_err(|error| warn("the delivery of prompts", error)).ok(),
            attention: attention.inspect_err(|error| warn("notifications", error)).ok(),
        }
    }

    /// Where to report messages.
    pub(super) fn events(&self) -> Option<Sender<AttentionEvent>> {
        self.attention.as_ref().and_then(AttentionThread::events)
    }
}

/// How long the supervisor has for what its agents need, before the user is called.
fn supervisor_window(settings: &SessionSettings) -> Duration {
    let supervisor = settings.config.supervisor.clone().unwrap_or_default();
    Duration::from_secs(supervisor.blocked_on_supervisor_window_seconds)
}

fn start_monitor(
    settings: &SessionSettings,
    receipts: Receipts,
    receipt: &Receipt,
    bus: Option<Arc<Bus>>,
    (events, wake): (Option<Sender<AttentionEvent>>, Option<Sender<DeliveryWake>>),
) -> std::io::Result<Monitor> {
    let monitored = MonitorSettings {
        repo: settings.repo.clone(),
        dirs: settings.dirs.clone(),
        receipts,
        session: receipt.session_name.clone(),
        config: settings.config.supervisor.clone().unwrap_or_default(),
    };
    let (known, session) = (monitored.receipts.clone(), receipt.session_name.clone());
    let has_left = move |agent: &AgentId| {
        let receipt = known.load(&session).ok().flatten();
        receipt.is_some_and(|receipt| *agent != AgentId::supervisor() && !receipt.agent_ids().contains(agent))
    };
    let store = move |message| {
        if let Some(Err(error)) = bus.as_ref().map(|bus| bus.publish_blocking(message, clock::now())) {
            tracing::warn!(target: "paw::monitor", "cannot store a message: {error}");
        }
    };
    let publish = move |message: Message| {
        let about = message.subject().clone();
        let is_status = matches!(message, Message::Status(_));
        store(message);
        // Its last message said that it left. If it was removed while it was looked at, this one came after that.
        if is_status && has_left(&about) {
            store(watch::gone_message(&about));
        }
    };
    Monitor::start(monitored, move |event| {
        let event = match event {
            MonitorEvent::Publish(message) => return publish(*message),
            MonitorEvent::ScreenChanged => {
                let _ = wake.as_ref().map(|wake| wake.send(DeliveryWake::ScreenChanged));
                return;
            }
            MonitorEvent::Observed { agent, seen } => AttentionEvent::Observed { agent, seen },
            MonitorEvent::Stalled { agent, reason } => AttentionEvent::Stalled { agent, reason },
        };
        if let Some(events) = &events {
            let _ = events.send(event);
        }
    })
}
