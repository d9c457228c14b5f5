//! Detects agents that make no progress. Each kind of stall is reported once while it lasts, and remedied where that is
//! safe. Pure: takes the agent's activity and the time, returns what to report and what to try.

mod limit;
mod reset;

use std::collections::BTreeSet;
use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use paw_agent::state::AgentActivity;
use paw_core::config::SupervisorConfig;
use paw_core::text::{self, plural};

use limit::RateLimit;
pub use reset::parse_reset_time;

/// The same command this many times in a row is a loop.
const LOOP: u32 = 6;
/// Text that is not sent for this long is reported.
const UNSENT: SignedDuration = SignedDuration::from_mins(5);
/// An exited CLI is reported after this long, in case it is being restarted.
const DEAD: SignedDuration = SignedDuration::from_secs(10);
/// Report a conversation with less context left than this, in percent.
const LITTLE_ROOM: u8 = 10;
/// A CLI may draw the reset time this long after the hook reports the limit.
const LIMIT_DRAWN: SignedDuration = SignedDuration::from_secs(5);

/// The limits beyond which an agent counts as stalled.
#[derive(Debug, Clone, PartialEq)]
pub struct StallLimits {
    pub silent: SignedDuration,
    /// Report conversations with more tokens than this.
    pub tokens: Option<u64>,
    /// The time zone of a CLI's "3pm".
    pub zone: TimeZone,
}

impl StallLimits {
    pub fn of(config: &SupervisorConfig, zone: TimeZone) -> Self {
        let seconds = i64::try_from(config.no_progress_window_seconds).unwrap_or(i64::MAX);
        let thousands = Some(config.context_bloat_threshold_k).filter(|thousands| *thousands > 0);
        let tokens = thousands.map(|thousands| thousands.saturating_mul(1000));
        Self { silent: SignedDuration::from_secs(seconds.max(1)), tokens, zone }
    }
}

/// What an agent is doing now.
#[derive(Debug, Clone, Copy)]
pub struct AgentProgress<'a> {
    pub state: &'a AgentActivity,
    pub since: Timestamp,
    /// The last sign of progress.
    pub progress: Timestamp,
    /// The text in its input.
    pub typed: Option<&'a str>,
    /// The last command and how often it ran in a row.
    pub repeats: (&'a str, u32),
    /// How much context its conversation has left, in percent.
    pub context_left: Option<u8>,
    /// The size of its conversation, in tokens.
    pub tokens: Option<u64>,
}

/// Why an agent makes no progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    Silent { minutes: i64 },
    Looping { what: String, times: u32 },
    Dead,
    NotSent,
    ContextLow { percent: u8 },
    ContextLarge { tokens: u64 },
    Limited { resets: Option<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StallKind {
    Silent,
    Looping,
    Dead,
    NotSent,
    ContextLow,
    ContextLarge,
    Limited,
}

impl Stall {
    fn kind(&self) -> StallKind {
        match self {
            Self::Silent { .. } => StallKind::Silent,
            Self::Looping { .. } => StallKind::Looping,
            Self::Dead => StallKind::Dead,
            Self::NotSent => StallKind::NotSent,
            Self::ContextLow { .. } => StallKind::ContextLow,
            Self::ContextLarge { .. } => StallKind::ContextLarge,
            Self::Limited { .. } => StallKind::Limited,
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { minutes } => {
                write!(f, "working for {} without progress", plural(*minutes, "minute"))
            }
            Self::Looping { what, times } => {
                let what = text::reveal(&text::truncate_chars(what, 200));
                write!(f, "ran the same command {times} times in a row: {what}")
            }
            Self::Dead => f.write_str("its CLI exited"),
            Self::NotSent => f.write_str("text in its input was not sent"),
            Self::ContextLow { percent } => {
                write!(f, "its conversation has {percent}% of its context left")
            }
            Self::ContextLarge { tokens } => {
                write!(f, "its conversation grew to {}k tokens", tokens / 1000)
            }
            Self::Limited { resets: Some(time) } => {
                let time = text::reveal(&text::truncate_chars(time, 60));
                let until = if time.starts_with("in ") { ", resets" } else { " until" };
                write!(f, "rate-limited{until} {time}; git paw resumes it then")
            }
            Self::Limited { resets: None } => f.write_str("rate-limited, reset time unknown"),
        }
    }
}

/// A remedy that cannot do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Tell it to continue: its limit has reset.
    Resume,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StallStep {
    Report(Stall),
    Apply(Remedy),
}

/// Detects the stalls of one agent and remembers which were reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StallDetector {
    reported: BTreeSet<StallKind>,
    /// The text in the input, and since when it is there.
    typed: Option<(String, Timestamp)>,
    limit: Option<RateLimit>,
}

impl StallDetector {
    pub fn step(
        &mut self,
        activity: &AgentProgress<'_>,
        limits: &StallLimits,
        now: Timestamp,
    ) -> Vec<StallStep> {
        let unsent = self.unsent_for(activity, now);
        let resume = self.resume(activity, limits, now).map(StallStep::Apply);
        let mut steps: Vec<_> = resume.into_iter().collect();
        let found = find(activity, limits, unsent, now);
        self.reported.retain(|kind| found.iter().any(|stall| stall.kind() == *kind));
        for stall in found {
            if self.reported.insert(stall.kind()) {
                steps.push(StallStep::Report(stall));
            }
        }
        steps
    }

    /// For how long the same text has been in the input of an idle agent.
    fn unsent_for(&mut self, activity: &AgentProgress<'_>, now: Timestamp) -> Option<SignedDuration> {
        let text = activity.typed.filter(|text| !text.is_empty() && *activity.state == AgentActivity::Idle);
        let Some(text) = text else {
            self.typed = None;
            return None;
        };
        match &self.typed {
            Some((typed, since)) if typed == text => Some(now.duration_since(*since)),
            _ => {
                self.typed = Some((text.to_owned(), now));
                None
            }
        }
    }

    /// Resumes once after a limit with a known reset time.
    fn resume(
        &mut self,
        activity: &AgentProgress<'_>,
        limits: &StallLimits,
        now: Timestamp,
    ) -> Option<Remedy> {
        let AgentActivity::RateLimited { resets } = activity.state else {
            self.limit = None;
            return None;
        };
        let resets = resets.as_deref();
        if self.limit.as_ref().is_some_and(|limit| limit.began() != activity.since) {
            // It hit the limit again after a resume, so report it again.
            self.reported.remove(&StallKind::Limited);
        }
        if !self.limit.as_ref().is_some_and(|limit| limit.is(activity.since, resets)) {
            self.limit = Some(RateLimit::new(activity.since, resets, &limits.zone, now));
        }
        self.limit.as_mut().is_some_and(|limit| limit.is_over(now)).then_some(Remedy::Resume)
    }
}

fn find(
    activity: &AgentProgress<'_>,
    limits: &StallLimits,
    unsent: Option<SignedDuration>,
    now: Timestamp,
) -> Vec<Stall> {
    let mut found = Vec::new();
    let held = now.duration_since(activity.since);
    match activity.state {
        AgentActivity::Working | AgentActivity::Unknown => {
            let silent = now.duration_since(activity.progress.max(activity.since));
            if *activity.state == AgentActivity::Working && silent >= limits.silent {
                found.push(Stall::Silent { minutes: silent.as_mins() });
            }
        }
        AgentActivity::Exited if held >= DEAD => found.push(Stall::Dead),
        AgentActivity::RateLimited { resets } if resets.is_some() || held >= LIMIT_DRAWN => {
            found.push(Stall::Limited { resets: resets.clone() });
        }
        _ => {}
    }
    let (what, times) = activity.repeats;
    if times >= LOOP && *activity.state != AgentActivity::Exited {
        found.push(Stall::Looping { what: what.to_owned(), times });
    }
    if unsent.is_some_and(|unsent| unsent >= UNSENT) {
        found.push(Stall::NotSent);
    }
    if let Some(percent) = activity.context_left.filter(|percent| *percent < LITTLE_ROOM) {
        found.push(Stall::ContextLow { percent });
    }
    if let (Some(tokens), Some(most)) = (activity.tokens, limits.tokens)
        && tokens > most
    {
        found.push(Stall::ContextLarge { tokens });
    }
    found
}

#[cfg(test)]
mod tests;
