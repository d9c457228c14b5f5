//! The tower of a session: what its agents are doing, told on the session's own bus.

use std::sync::Arc;

use paw_broker::Bus;
use paw_core::Receipt;
use paw_core::config::PawConfig;
use paw_host::clock;
use paw_host::git::Repo;
use paw_supervisor::tower::run::{Settings, Tower};

use crate::context::Context;

/// Watches the agents of a session. Without a session there are no panes to watch.
pub(super) fn start(
    context: &Context,
    repo: &Repo,
    config: &PawConfig,
    receipt: Option<&Receipt>,
    bus: &Arc<Bus>,
) -> Option<Tower> {
    let receipt = receipt?;
    let settings = Settings {
        repo: repo.clone(),
        dirs: context.dirs.clone(),
        receipts: context.receipts(),
        session: receipt.session_name.clone(),
        config: config.supervisor.clone().unwrap_or_default(),
    };
    let bus = Arc::clone(bus);
    let publish = move |message| {
        if let Err(error) = bus.publish_blocking(message, clock::now()) {
            tracing::warn!(target: "paw::tower", "a message was not stored: {error}");
        }
    };
    let started = Tower::start(settings, publish);
    started
        .inspect_err(|error| tracing::warn!(target: "paw::tower", "nobody watches the agents: {error}"))
        .ok()
}
