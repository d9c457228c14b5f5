//! Starts the monitor of a session, which publishes on the session's bus.

use std::sync::Arc;

use paw_broker::Bus;
use paw_core::Receipt;
use paw_core::config::PawConfig;
use paw_host::clock;
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_session::Receipts;
use paw_supervisor::monitor::run::{Monitor, MonitorSettings};

/// Starts the monitor; without it the session keeps running.
pub(super) fn start(
    repo: &Repo,
    config: &PawConfig,
    dirs: Dirs,
    receipts: Receipts,
    receipt: &Receipt,
    bus: &Arc<Bus>,
) -> Option<Monitor> {
    let settings = MonitorSettings {
        repo: repo.clone(),
        dirs,
        receipts,
        session: receipt.session_name.clone(),
        config: config.supervisor.clone().unwrap_or_default(),
    };
    let bus = Arc::clone(bus);
    let publish = move |message| {
        if let Err(error) = bus.publish_blocking(message, clock::now()) {
            tracing::warn!(target: "paw::monitor", "cannot store a message: {error}");
        }
    };
    let started = Monitor::start(settings, publish);
    started
        .inspect_err(|error| tracing::warn!(target: "paw::monitor", "cannot start the monitor: {error}"))
        .ok()
}
