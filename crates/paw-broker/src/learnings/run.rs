//! The loop that connects the learnings of a session with its bus and the file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use paw_host::clock;

use super::{Learnings, LearningsFlush, LearningsSettings, file};
use crate::bus::Bus;
use crate::log::LogError;

/// The shortest wait while a long history is still being read.
const HISTORY_POLL: Duration = Duration::from_millis(100);

/// Nothing is urgent here.
const READ_PAUSE: Duration = Duration::from_millis(50);

/// How long reading the last messages may take.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Collects learnings until `stop` resolves or the bus is closed, and then writes the rest.
///
/// Starts with the session's first message, so a restart needs only the log.
pub async fn run(
    bus: Arc<Bus>,
    settings: LearningsSettings,
    repository: PathBuf,
    stop: impl Future<Output = ()>,
) -> Result<(), LogError> {
    let mut learnings = Learnings::new(bus.session().clone(), settings, clock::now());
    let mut stream = bus.subscribe_after(0).with_pause(READ_PAUSE);
    let history_end = bus.head();
    tokio::pin!(stop);
    loop {
        let wait = learnings.next_wake().map(|wake| {
            let due = Duration::try_from(wake.duration_since(clock::now())).unwrap_or_default();
            if stream.since() < history_end { due.max(HISTORY_POLL) } else { due }
        });
        tokio::select! {
            biased;
            () = &mut stop => break,
            page = stream.next() => {
                let Some(page) = page? else { break };
                for stored in page.iter().filter_map(|kept| kept.parse(bus.session())) {
                    learnings.on_message(&stored);
                }
            }
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                // With half of the history, learnings would be published twice.
                if stream.since() >= history_end {
                    let flush = learnings.on_tick(clock::now());
                    save(&bus, &mut learnings, flush, repository.clone()).await;
                }
            }
        }
    }
    // The last messages may contain learnings, but the shutdown must not wait for a long history.
    let head = bus.head();
    let rest = async {
        while stream.since() < head {
            let Some(page) = stream.next().await? else { break };
            for stored in page.iter().filter_map(|kept| kept.parse(bus.session())) {
                learnings.on_message(&stored);
            }
        }
        Ok::<_, LogError>(())
    };
    if let Ok(read) = tokio::time::timeout(LAST_READ_TIMEOUT, rest).await {
        read?;
        let flush = learnings.on_end(clock::now());
        save(&bus, &mut learnings, flush, repository).await;
    }
    Ok(())
}

/// Writes the file, and retries later if that fails. A learning that cannot be published is still in the file.
async fn save(bus: &Bus, learnings: &mut Learnings, flush: LearningsFlush, repository: PathBuf) {
    let session = bus.session().clone();
    let entries = flush.entries;
    let update = move || file::update(&repository, &session, &entries, clock::now());
    let written = tokio::task::spawn_blocking(update).await;
    match written {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::warn!("cannot write the learnings: {error}");
            learnings.retry();
        }
        Err(error) => tracing::warn!("cannot write the learnings: {error}"),
    }
    for message in flush.publish {
        if let Err(error) = bus.publish(message, clock::now()).await {
            tracing::debug!("cannot publish a learning: {error}");
            return;
        }
    }
}
