//! Repeats unanswered questions while the session's process is running.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use paw_broker::Bus;
use paw_host::clock;
use paw_supervisor::unanswered_questions::UnansweredQuestions;

/// How many messages are searched for open questions at the start.
pub(super) const HISTORY: u64 = 2_000;
/// A person is told after a moment, and again after minutes; while many messages arrive, they are read in larger pages.
pub(super) const READ_PAUSE: Duration = Duration::from_millis(50);
/// The longest sleep, so that a machine that was suspended catches up.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

pub(super) async fn raise(bus: Arc<Bus>, mut open: UnansweredQuestions, supervised: bool) {
    let mut stream = bus.subscribe_after(bus.head().saturating_sub(HISTORY)).with_pause(READ_PAUSE);
    loop {
        tokio::select! {
            page = stream.next_page() => {
                let Some(page) = page else { return };
                for kept in page {
                    if let Some(stored) = kept.parse(bus.session())
                        && !kept.entry.is_tracked_elsewhere(&stored.message)
                    {
                        open.record(&stored.message, stored.at);
                    }
                }
            }
            () = tokio::time::sleep(wait(&open, clock::now())) => {
                let now = clock::now();
                for message in open.take_due(supervised, now) {
                    if let Err(error) = bus.publish(message, now).await {
                        tracing::warn!(target: "paw::session", "cannot repeat a question: {error}");
                    }
                }
            }
        }
    }
}

fn wait(open: &UnansweredQuestions, now: Timestamp) -> Duration {
    let next = open
        .next_due()
        .map_or(LONGEST_WAIT, |due| Duration::try_from(due.duration_since(now)).unwrap_or(Duration::ZERO));
    next.clamp(Duration::from_millis(100), LONGEST_WAIT)
}
