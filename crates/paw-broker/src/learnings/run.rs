//! The loop that joins the learnings of a session to its bus and to the file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use paw_host::clock;

use super::{Learnings, LearningsFlush, LearningsSettings, file};
use crate::bus::Bus;
use crate::log::LogError;

/// Between two looks at a long history that is still being read.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long reading what came last may take.
const LAST_READ: Duration = Duration::from_secs(2);

/// Collects until `stop` resolves or the bus is closed, and then writes what is left.
///
/// It begins with the session's first message, so a restart needs nothing but the log.
pub async fn run(
    bus: Arc<Bus>,
    settings: LearningsSettings,
    repository: PathBuf,
    stop: impl Future<Output = ()>,
) -> Result<(), LogError> {
    let mut learnings = Learnings::new(bus.session().clone(), settings, clock::now());
    let mut stream = bus.subscribe_after(0);
    let told_before = bus.head();
    tokio::pin!(stop);
    loop {
        let wait = learnings.next_wake().map(|wake| {
            let due = Duration::try_from(wake.duration_since(clock::now())).unwrap_or_default();
            if stream.since() < told_before { due.max(PATIENCE) } else { due }
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
                // Half a history would have things told twice.
                if stream.since() >= told_before {
                    let flush = learnings.on_tick(clock::now());
                    keep(&bus, &mut learnings, flush, repository.clone()).await;
                }
            }
        }
    }
    // What came last may be what is learned; but an end must not wait for a long history.
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
    if let Ok(read) = tokio::time::timeout(LAST_READ, rest).await {
        read?;
        let flush = learnings.on_end(clock::now());
        keep(&bus, &mut learnings, flush, repository).await;
    }
    Ok(())
}

/// A file that cannot be written is tried again; a message that cannot be published is in the file.
async fn keep(bus: &Bus, learnings: &mut Learnings, flush: LearningsFlush, repository: PathBuf) {
    let session = bus.session().clone();
    let entries = flush.entries;
    let update = move || file::update(&repository, &session, &entries, clock::now());
    let written = tokio::task::spawn_blocking(update).await;
    match written {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::warn!("learnings are not written: {error}");
            learnings.try_again();
        }
        Err(error) => tracing::warn!("learnings are not written: {error}"),
    }
    for message in flush.publish {
        if let Err(error) = bus.publish(message, clock::now()).await {
            tracing::debug!("a learning is not published: {error}");
            return;
        }
    }
}
