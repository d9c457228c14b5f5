//! From all that is known about an agent to one state: what its CLI tells, whether it lives, what its screen shows.

use jiff::{SignedDuration, Timestamp};

use super::State;
use crate::hooks::Heard;
use crate::screen::{Ask, AskKind, AskSubject, Reading};

/// A screen is drawn after the CLI has told something. Only when it has said otherwise for this long is it believed.
const LAG: SignedDuration = SignedDuration::from_secs(3);

/// Whether the program in the pane lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    Running,
    /// A shell is in front in its place.
    Shell(String),
    Dead,
}

/// A screen, and since when it has shown this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    pub reading: Reading,
    pub since: Timestamp,
}

/// Where a state was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The CLI has told it.
    Told,
    Process,
    Screen,
    Nothing,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Told => "hooks",
            Self::Process => "process",
            Self::Screen => "screen",
            Self::Nothing => "nothing",
        })
    }
}

/// What an agent is doing, since when, and how we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub state: State,
    pub since: Timestamp,
    pub source: Source,
    pub reason: String,
}

impl Known {
    /// A state that goes on keeps its beginning.
    #[must_use]
    pub fn following(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before.filter(|before| before.state == self.state) {
            self.since = self.since.min(before.since);
        }
        self
    }
}

/// Weighs the evidence. A dead program is dead whatever was told or drawn; else what the CLI tells comes first, until
/// its screen has clearly said otherwise for a while: denials and Esc are never told.
pub fn conclude(life: &Life, told: Option<&Heard>, sight: Option<&Sight>, now: Timestamp) -> Known {
    let gone = match life {
        Life::Running => None,
        Life::Shell(shell) => Some(format!("a shell ({shell}) is in front")),
        Life::Dead => Some("the program has ended".to_owned()),
    };
    if let Some(reason) = gone {
        return Known { state: State::Exited, since: now, source: Source::Process, reason };
    }
    match (told, sight) {
        (Some(told), Some(sight)) if overrules(sight, told, now) => seen(sight),
        (Some(told), sight) => heard(told, sight),
        (None, Some(sight)) => seen(sight),
        (None, None) => Known {
            state: State::Unknown,
            since: now,
            source: Source::Nothing,
            reason: "nothing was told and nothing is seen".to_owned(),
        },
    }
}

fn overrules(sight: &Sight, told: &Heard, now: Timestamp) -> bool {
    let shown = &sight.reading.state;
    let clear = !matches!(shown, State::Unknown | State::Starting);
    let later = now.duration_since(sight.since.max(told.since)) >= LAG;
    // A limit ends with something that is told. Until then one CLI is drawn at work, as it tries again, and another at
    // rest.
    let limited = matches!(told.state, State::RateLimited { .. })
        && matches!(shown, State::Working | State::Idle | State::RateLimited { .. });
    clear && later && !limited && shown.name() != told.state.name()
}

fn seen(sight: &Sight) -> Known {
    let Reading { state, reason, .. } = sight.reading.clone();
    Known { state, since: sight.since, source: Source::Screen, reason }
}

fn heard(told: &Heard, sight: Option<&Sight>) -> Known {
    let state = match (&told.state, sight.map(|sight| &sight.reading.state)) {
        (State::WaitingApproval(told), Some(State::WaitingApproval(shown))) => {
            State::WaitingApproval(same_ask(told, shown))
        }
        (State::RateLimited { resets: None }, Some(shown @ State::RateLimited { .. })) => shown.clone(),
        (state, _) => state.clone(),
    };
    Known { state, since: told.since, source: Source::Told, reason: told.reason.clone() }
}

/// One approval, told and shown: what was told is exact, how it is answered is on the screen. Where the two disagree it
/// is not known what a key would approve.
fn same_ask(told: &Ask, shown: &Ask) -> Ask {
    const APART: &str = "what the CLI tells and what its screen shows are not the same";
    let subject = match (&told.subject, &shown.subject) {
        (AskSubject::Command(told), AskSubject::Command(shown)) if told != shown => {
            AskSubject::Unreadable(APART)
        }
        (AskSubject::Command(_) | AskSubject::File(_), AskSubject::Unreadable(_))
            if told.kind != shown.kind =>
        {
            AskSubject::Unreadable(APART)
        }
        (AskSubject::Command(_), AskSubject::File(_)) | (AskSubject::File(_), AskSubject::Command(_)) => {
            AskSubject::Unreadable(APART)
        }
        // Several are asked at once; the screen shows which one is asked now.
        (AskSubject::Unreadable(_), AskSubject::Command(_)) => shown.subject.clone(),
        _ => told.subject.clone(),
    };
    let kind = if told.kind == AskKind::Other { shown.kind } else { told.kind };
    Ask { kind, subject, keys: shown.keys }
}
