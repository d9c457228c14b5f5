//! The watcher and the radar of a session: what they remember when it starts, and what they hear.

use std::sync::Arc;
use std::time::Duration;

use paw_broker::bus::Subscription;
use paw_broker::conflict::{self, ConflictMonitor, ConflictMonitorEvent};
use paw_broker::watch::{self, WatchTarget};
use paw_broker::{Broker, Bus, Message};
use paw_core::config::PawConfig;
use paw_core::paths::PawDir;
use paw_core::{AgentId, PawError};
use paw_host::clock;
use paw_host::git::Repo;

/// Watches the worktrees of `targets`. What is said from now on is to be [`feed`] to it.
pub(super) fn start(
    repo: &Repo,
    config: &PawConfig,
    targets: Vec<WatchTarget>,
    broker: &Broker,
) -> Result<(Arc<ConflictMonitor>, Subscription), PawError> {
    let conflict =
        config.supervisor.as_ref().map(|supervisor| supervisor.conflict.clone()).unwrap_or_default();
    let mut settings = watch::WatchSettings::new(&repo.common_dir, PawDir::of(&repo.common_dir).radar());
    settings.bases = watch::find_bases(&repo.git())?;
    settings.republish_after = Duration::from_secs(config.broker.watcher.republish_working_ttl_seconds);
    let bus = broker.bus();
    // Messages that are stored while the past is read come on the stream as well.
    let stream = bus.subscribe();
    let past = conflict::load_history(bus)?;
    let left = find_left(broker, &targets)?;
    let out = Arc::clone(bus);
    let signal = move |signal| match signal {
        ConflictMonitorEvent::Publish(message) => publish(&out, *message),
        ConflictMonitorEvent::Gone(agent) => {
            tracing::warn!(target: "paw::session", "the worktree of {agent} is gone");
            publish(&out, watch::gone_message(&agent));
        }
        ConflictMonitorEvent::Notice(text) => tracing::warn!(target: "paw::session", "{text}"),
    };
    let session = bus.session().clone();
    let patrol = ConflictMonitor::start(session, conflict, settings, targets, past.iter(), signal)?;
    for agent in left {
        publish(bus, watch::gone_message(&agent));
    }
    Ok((Arc::new(patrol), stream))
}

/// Agents that left while this process did not run: none of their worktrees is watched, and no token is theirs.
fn find_left(broker: &Broker, targets: &[WatchTarget]) -> Result<Vec<AgentId>, PawError> {
    let bus = broker.bus();
    let keys = broker.keyring().load(bus.session())?;
    let is_here = |agent: &AgentId| {
        matches!(agent.as_str(), AgentId::SUPERVISOR | AgentId::OPERATOR)
            || keys.has(agent)
            || targets.iter().any(|target| target.agent == *agent)
    };
    let records = bus.records();
    let agents = records.iter().map(|record| &record.agent_id);
    Ok(agents.filter(|agent| !is_here(agent)).cloned().collect())
}

fn publish(bus: &Bus, message: Message) {
    if let Err(error) = bus.publish_blocking(message, clock::now()) {
        tracing::warn!(target: "paw::session", "a message was not stored: {error}");
    }
}

/// Hands the session's messages to the patrol, as they are stored.
pub(super) async fn feed(mut stream: Subscription, bus: Arc<Bus>, patrol: Arc<ConflictMonitor>) {
    while let Ok(Some(page)) = stream.next().await {
        for stored in page.iter().filter_map(|kept| kept.parse(bus.session())) {
            patrol.on_message(stored);
        }
    }
}
