//! An unattended session, followed until every agent in it has finished or the time is over.

use std::time::Duration;

use jiff::Timestamp;
use paw_core::PawError;
use paw_core::text::plural;
use paw_host::clock;

use super::events::{Event, Events};
use super::notice::Notice;
use super::session::{Context, UnattendedSession};
use super::summary::{End, Summary};
use super::{AttendantLock, Next, Watch};

/// How a session is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long it may take.
    pub limit: Duration,
    /// How often an agent may fix what fails.
    pub chances: u32,
    /// Merge what is verified at the end.
    pub merge: bool,
}

/// Follows a running session and attends to its agents in the supervisor's place.
pub fn follow(options: Options, context: Context<'_>) -> Result<Summary, PawError> {
    let session = context.session;
    let receipt = &session.receipt;
    if !receipt.has_broker() {
        return Err(PawError::SessionError(format!(
            "session '{}' has no broker, so nobody can be followed\n\
             hint: git paw purge, then git paw start --unattended makes one that has",
            receipt.session_name
        )));
    }
    let Some(lock) = AttendantLock::take(&session.repo.common_dir)? else {
        return Err(PawError::SessionError(
            "another git paw start --unattended looks after this session already".to_owned(),
        ));
    };
    let events = Events::listen(session, &context.checks.config.broker, options.limit)?;
    let notify = context.notify.clone();
    let mut attended = UnattendedSession::new(context, options.chances)?;
    let mut watch = Watch::new(&attended.members, options.chances, clock::now());
    notify(Notice::Note(&format!(
        "session '{}': {}, for at most {}; Ctrl+C leaves the session running",
        receipt.session_name,
        plural(attended.members.len(), "agent"),
        duration(options.limit),
    )));
    let end = until_the_end(&mut watch, &mut attended, &events)?;
    // The agents' results are reported even where the merge failed.
    let (merged, merge_error) = match end {
        End::Complete if options.merge => match attended.merge(&watch, &events) {
            Ok(merged) => (merged, None),
            Err(error) => (None, Some(error.to_string())),
        },
        End::Complete | End::TimeOver | End::Interrupted | End::SessionGone => (None, None),
    };
    drop(lock);
    Ok(Summary {
        session: receipt.session_name.to_string(),
        end: if events.stop().is_raised() { End::Interrupted } else { end },
        took: events.elapsed(),
        outcomes: watch.outcomes(clock::now()),
        questions: watch.questions(),
        merged,
        merge_error,
        wanted_merge: options.merge,
    })
}

fn until_the_end(
    watch: &mut Watch,
    attended: &mut UnattendedSession<'_>,
    events: &Events,
) -> Result<End, PawError> {
    loop {
        let now = clock::now();
        let until = match watch.next(now) {
            Next::Verify { agent, branch } => {
                attended.verify(agent, branch, events)?;
                continue;
            }
            Next::Over if attended.find_moved(watch)? => continue,
            Next::Over => return Ok(End::Complete),
            Next::Wait(until) => until,
        };
        match events.wait(pause(now, until)) {
            Some(Event::Said(stored)) => attended.hear(&stored, watch)?,
            Some(Event::Checked { agent, outcome }) => attended.judge(watch, &agent, &outcome, events)?,
            Some(event @ (Event::Interrupted | Event::TimeOver)) => {
                if watch.is_verifying() {
                    events.wait_for_gates();
                }
                return Ok(if matches!(event, Event::TimeOver) { End::TimeOver } else { End::Interrupted });
            }
            Some(Event::Quiet) if !attended.is_session_there()? => return Ok(End::SessionGone),
            // The broker has nothing to say, or an agent's time is over.
            Some(Event::Quiet | Event::Moved) | None => attended.look_at_all(watch)?,
        }
    }
}

fn pause(now: Timestamp, until: Option<Timestamp>) -> Option<Duration> {
    until.map(|until| until.duration_since(now).try_into().unwrap_or_default())
}

/// A duration as people say it.
pub fn duration(took: Duration) -> String {
    let (hours, minutes, seconds) = (took.as_secs() / 3600, took.as_secs() / 60 % 60, took.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {seconds}s"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
