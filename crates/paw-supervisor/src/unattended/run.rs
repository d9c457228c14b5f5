//! Follows an unattended session until every agent has finished or the time limit is reached.

use std::time::Duration;

use jiff::Timestamp;
use paw_core::PawError;
use paw_core::text::plural;
use paw_host::clock;

use super::events::{EventQueue, UnattendedEvent};
use super::notice::ProgressNotice;
use super::session::{UnattendedContext, UnattendedSession};
use super::summary::{UnattendedEnd, UnattendedSummary};
use super::{AttendantLock, UnattendedStep, Workers};

/// Options for following a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnattendedOptions {
    /// The time limit.
    pub limit: Duration,
    /// Fix attempts per agent.
    pub chances: u32,
    /// Whether to merge verified work at the end.
    pub merge: bool,
}

/// Follows a running session in the supervisor's place.
pub fn follow(
    options: UnattendedOptions,
    context: UnattendedContext<'_>,
) -> Result<UnattendedSummary, PawError> {
    let session = context.session;
    let receipt = &session.receipt;
    if !receipt.has_broker() {
        return Err(PawError::SessionError(format!(
            "session '{}' has no broker, which an unattended session requires\n\
             hint: run 'git paw purge', then 'git paw start --unattended'",
            receipt.session_name
        )));
    }
    let Some(lock) = AttendantLock::take(&session.repo.common_dir)? else {
        return Err(PawError::SessionError(
            "another 'git paw start --unattended' is already following this session".to_owned(),
        ));
    };
    let events = EventQueue::listen(session, &context.checks.config.broker, options.limit)?;
    let notify = context.notify.clone();
    let mut attended = UnattendedSession::new(context, options.chances)?;
    let mut workers = Workers::new(&attended.members, options.chances, clock::now());
    notify(ProgressNotice::Note(&format!(
        "session '{}': {}, for at most {}; Ctrl+C leaves the session running",
        receipt.session_name,
        plural(attended.members.len(), "agent"),
        format_duration(options.limit),
    )));
    let end = until_the_end(&mut workers, &mut attended, &events)?;
    // Report the agents' results even if the merge failed.
    let (merged, merge_error) = match end {
        UnattendedEnd::Complete if options.merge => match attended.merge(&workers, &events) {
            Ok(merged) => (merged, None),
            Err(error) => (None, Some(error.to_string())),
        },
        UnattendedEnd::Complete
        | UnattendedEnd::TimeOver
        | UnattendedEnd::Interrupted
        | UnattendedEnd::SessionGone => (None, None),
    };
    drop(lock);
    Ok(UnattendedSummary {
        session: receipt.session_name.to_string(),
        end: if events.stop().is_raised() { UnattendedEnd::Interrupted } else { end },
        took: events.elapsed(),
        outcomes: workers.outcomes(clock::now()),
        questions: workers.questions(),
        merged,
        merge_error,
        wanted_merge: options.merge,
    })
}

fn until_the_end(
    workers: &mut Workers,
    attended: &mut UnattendedSession<'_>,
    events: &EventQueue,
) -> Result<UnattendedEnd, PawError> {
    loop {
        let now = clock::now();
        let until = match workers.next(now) {
            UnattendedStep::Verify { agent, branch } => {
                attended.verify(agent, branch, events)?;
                continue;
            }
            UnattendedStep::Over if attended.find_moved(workers)? => continue,
            UnattendedStep::Over => return Ok(UnattendedEnd::Complete),
            UnattendedStep::Wait(until) => until,
        };
        match events.wait(pause(now, until)) {
            Some(UnattendedEvent::Said(stored)) => attended.record(&stored, workers)?,
            Some(UnattendedEvent::Checked { agent, outcome }) => {
                attended.judge(workers, &agent, &outcome, events)?;
            }
            Some(event @ (UnattendedEvent::Interrupted | UnattendedEvent::TimeOver)) => {
                if workers.is_verifying() {
                    events.wait_for_gates();
                }
                return Ok(if matches!(event, UnattendedEvent::TimeOver) {
                    UnattendedEnd::TimeOver
                } else {
                    UnattendedEnd::Interrupted
                });
            }
            Some(UnattendedEvent::Quiet) if !attended.is_session_there()? => {
                return Ok(UnattendedEnd::SessionGone);
            }
            // No message for a while, or an agent's wait is over: check all branches.
            Some(UnattendedEvent::Quiet | UnattendedEvent::Moved) | None => attended.look_at_all(workers)?,
        }
    }
}

fn pause(now: Timestamp, until: Option<Timestamp>) -> Option<Duration> {
    until.map(|until| until.duration_since(now).try_into().unwrap_or_default())
}

/// Formats a duration: `45s`, `3m 20s`, `4h 0m`.
pub fn format_duration(took: Duration) -> String {
    let (hours, minutes, seconds) = (took.as_secs() / 3600, took.as_secs() / 60 % 60, took.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {seconds}s"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
