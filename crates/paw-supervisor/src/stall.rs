//! Agents that do not get on: each kind of trouble is noticed from what is known, told once while it lasts, and mended
//! where that is safe. Pure: facts and the time come in, what to tell and what to try comes out.

mod limit;
mod reset;

use std::collections::BTreeSet;
use std::fmt;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use paw_agent::state::State;
use paw_core::config::SupervisorConfig;
use paw_core::text::{self, plural};

use limit::Limit;
pub use reset::reset_at;

/// The same command this often in a row is a loop.
const LOOP: u32 = 6;
/// A prompt of ours that was not sent is sent after this long; one of somebody else's is told after this long.
const OURS_UNSENT: SignedDuration = SignedDuration::from_secs(10);
const UNSENT: SignedDuration = SignedDuration::from_mins(5);
/// A CLI that has ended is told after this long: somebody may be about to start it again.
const DEAD: SignedDuration = SignedDuration::from_secs(10);
/// Less than this much of a conversation's room left, in percent.
const LITTLE_ROOM: u8 = 10;
/// The words about a limit, with its time, are drawn after it was told of.
const LIMIT_DRAWN: SignedDuration = SignedDuration::from_secs(5);

/// How long an agent may do what.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    pub silent: SignedDuration,
    /// Conversations of more tokens than this are told of.
    pub tokens: Option<u64>,
    /// In which a CLI's "3pm" is meant.
    pub zone: TimeZone,
}

impl Limits {
    pub fn of(config: &SupervisorConfig, zone: TimeZone) -> Self {
        let seconds = i64::try_from(config.no_progress_window_seconds).unwrap_or(i64::MAX);
        let thousands = Some(config.context_bloat_threshold_k).filter(|thousands| *thousands > 0);
        let tokens = thousands.map(|thousands| thousands.saturating_mul(1000));
        Self { silent: SignedDuration::from_secs(seconds.max(1)), tokens, zone }
    }
}

/// What is known about an agent now.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub state: &'a State,
    pub since: Timestamp,
    /// The last sign that it gets on.
    pub progress: Timestamp,
    /// What stands in its input.
    pub typed: Option<&'a str>,
    /// That is a text that we have put there.
    pub typed_is_ours: bool,
    /// What it has done last, and how often in a row.
    pub repeats: (&'a str, u32),
    /// How much room its conversation has left, in percent.
    pub room: Option<u8>,
    /// How large its conversation is, in tokens.
    pub tokens: Option<u64>,
}

/// Something that keeps an agent from getting on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stall {
    Silent { minutes: i64 },
    Looping { what: String, times: u32 },
    Dead,
    NotSent,
    LittleRoom { percent: u8 },
    Bloated { tokens: u64 },
    Limited { resets: Option<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Silent,
    Looping,
    Dead,
    NotSent,
    LittleRoom,
    Bloated,
    Limited,
}

impl Stall {
    fn kind(&self) -> Kind {
        match self {
            Self::Silent { .. } => Kind::Silent,
            Self::Looping { .. } => Kind::Looping,
            Self::Dead => Kind::Dead,
            Self::NotSent => Kind::NotSent,
            Self::LittleRoom { .. } => Kind::LittleRoom,
            Self::Bloated { .. } => Kind::Bloated,
            Self::Limited { .. } => Kind::Limited,
        }
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { minutes } => {
                write!(f, "at work for {} without a sign of progress", plural(*minutes, "minute"))
            }
            Self::Looping { what, times } => {
                let what = text::reveal(&text::truncate_chars(what, 200));
                write!(f, "has run the same command {times} times in a row: {what}")
            }
            Self::Dead => f.write_str("its CLI has ended"),
            Self::NotSent => f.write_str("something is typed in its input and not sent"),
            Self::LittleRoom { percent } => write!(f, "its conversation has {percent} % of its room left"),
            Self::Bloated { tokens } => {
                write!(f, "its conversation has grown to {} thousand tokens", tokens / 1000)
            }
            Self::Limited { resets: Some(time) } => {
                let time = text::reveal(&text::truncate_chars(time, 60));
                let until = if time.starts_with("in ") { ", which is over" } else { " until" };
                write!(f, "has used up what it may{until} {time}; it is told to go on then")
            }
            Self::Limited { resets: None } => {
                f.write_str("has used up what it may, and does not say until when")
            }
        }
    }
}

/// What can be tried without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Enter, for a prompt that we have typed.
    Send,
    /// Tell it to go on: its limit is over.
    GoOn,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Tell(Stall),
    Try(Remedy),
}

/// What was noticed about one agent so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    told: BTreeSet<Kind>,
    tried: bool,
    /// What is typed, and since when.
    typed: Option<(String, Timestamp)>,
    limit: Option<Limit>,
}

impl Watch {
    pub fn step(&mut self, facts: &Facts<'_>, limits: &Limits, now: Timestamp) -> Vec<Step> {
        let unsent = self.unsent_for(facts, now);
        let mut steps = Vec::new();
        if facts.typed_is_ours && unsent.is_some_and(|unsent| unsent >= OURS_UNSENT) && !self.tried {
            self.tried = true;
            steps.push(Step::Try(Remedy::Send));
        }
        steps.extend(self.resume(facts, limits, now).map(Step::Try));
        let found = find(facts, limits, unsent, now);
        self.told.retain(|kind| found.iter().any(|stall| stall.kind() == *kind));
        for stall in found {
            if self.told.insert(stall.kind()) {
                steps.push(Step::Tell(stall));
            }
        }
        steps
    }

    /// For how long the same text has stood in the input of an agent that does nothing.
    fn unsent_for(&mut self, facts: &Facts<'_>, now: Timestamp) -> Option<SignedDuration> {
        let text = facts.typed.filter(|text| !text.is_empty() && *facts.state == State::Idle);
        let Some(text) = text else {
            self.typed = None;
            self.tried = false;
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

    /// A limit whose end is known is tried again once, when it is over.
    fn resume(&mut self, facts: &Facts<'_>, limits: &Limits, now: Timestamp) -> Option<Remedy> {
        let State::RateLimited { resets } = facts.state else {
            self.limit = None;
            return None;
        };
        let resets = resets.as_deref();
        if self.limit.as_ref().is_some_and(|limit| limit.began() != facts.since) {
            // It was tried, and is refused again: that is news.
            self.told.remove(&Kind::Limited);
        }
        if !self.limit.as_ref().is_some_and(|limit| limit.is(facts.since, resets)) {
            self.limit = Some(Limit::new(facts.since, resets, &limits.zone, now));
        }
        self.limit.as_mut().is_some_and(|limit| limit.is_over(now)).then_some(Remedy::GoOn)
    }
}

fn find(facts: &Facts<'_>, limits: &Limits, unsent: Option<SignedDuration>, now: Timestamp) -> Vec<Stall> {
    let mut found = Vec::new();
    let held = now.duration_since(facts.since);
    match facts.state {
        State::Working | State::Unknown => {
            let silent = now.duration_since(facts.progress.max(facts.since));
            if *facts.state == State::Working && silent >= limits.silent {
                found.push(Stall::Silent { minutes: silent.as_mins() });
            }
        }
        State::Exited if held >= DEAD => found.push(Stall::Dead),
        State::RateLimited { resets } if resets.is_some() || held >= LIMIT_DRAWN => {
            found.push(Stall::Limited { resets: resets.clone() });
        }
        _ => {}
    }
    let (what, times) = facts.repeats;
    if times >= LOOP && *facts.state != State::Exited {
        found.push(Stall::Looping { what: what.to_owned(), times });
    }
    if unsent.is_some_and(|unsent| unsent >= UNSENT) {
        found.push(Stall::NotSent);
    }
    if let Some(percent) = facts.room.filter(|percent| *percent < LITTLE_ROOM) {
        found.push(Stall::LittleRoom { percent });
    }
    if let (Some(tokens), Some(most)) = (facts.tokens, limits.tokens)
        && tokens > most
    {
        found.push(Stall::Bloated { tokens });
    }
    found
}

#[cfg(test)]
mod tests;
