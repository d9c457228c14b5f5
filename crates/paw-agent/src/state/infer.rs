//! From all that is known about an agent to one state: what its CLI tells, whether it lives, what its screen shows.

use jiff::{SignedDuration, Timestamp};

use super::AgentActivity;
use crate::hooks::ReportedState;
use crate::screen::{ApprovalKind, ApprovalRequest, ApprovalSubject, ScreenReading};

/// A screen is drawn after the CLI has told something. Only when it has said otherwise for this long is it believed.
const LAG: SignedDuration = SignedDuration::from_secs(3);

/// Whether the program in the pane lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneProcess {
    Running,
    /// A shell is in front in its place.
    Shell(String),
    Dead,
}

/// A screen, and since when it has shown this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenObservation {
    pub reading: ScreenReading,
    pub since: Timestamp,
}

/// Where a state was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservationSource {
    /// The CLI has told it.
    Hooks,
    Process,
    Screen,
    Nothing,
}

impl std::fmt::Display for ObservationSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hooks => "hooks",
            Self::Process => "process",
            Self::Screen => "screen",
            Self::Nothing => "nothing",
        })
    }
}

/// What an agent is doing, since when, and how we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedState {
    pub state: AgentActivity,
    pub since: Timestamp,
    pub source: ObservationSource,
    pub reason: String,
}

impl ObservedState {
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
pub fn infer_state(
    life: &PaneProcess,
    told: Option<&ReportedState>,
    sight: Option<&ScreenObservation>,
    now: Timestamp,
) -> ObservedState {
    let gone = match life {
        PaneProcess::Running => None,
        PaneProcess::Shell(shell) => Some(format!("a shell ({shell}) is in front")),
        PaneProcess::Dead => Some("the program has ended".to_owned()),
    };
    if let Some(reason) = gone {
        return ObservedState {
            state: AgentActivity::Exited,
            since: now,
            source: ObservationSource::Process,
            reason,
        };
    }
    match (told, sight) {
        (Some(told), Some(sight)) if overrules(sight, told, now) => seen(sight),
        (Some(told), sight) => heard(told, sight),
        (None, Some(sight)) => seen(sight),
        (None, None) => ObservedState {
            state: AgentActivity::Unknown,
            since: now,
            source: ObservationSource::Nothing,
            reason: "nothing was told and nothing is seen".to_owned(),
        },
    }
}

fn overrules(sight: &ScreenObservation, told: &ReportedState, now: Timestamp) -> bool {
    let shown = &sight.reading.state;
    let clear = !matches!(shown, AgentActivity::Unknown | AgentActivity::Starting);
    let later = now.duration_since(sight.since.max(told.since)) >= LAG;
    // A limit ends with something that is told. Until then one CLI is drawn at work, as it tries again, and another at
    // rest.
    let limited = matches!(told.state, AgentActivity::RateLimited { .. })
        && matches!(shown, AgentActivity::Working | AgentActivity::Idle | AgentActivity::RateLimited { .. });
    clear && later && !limited && shown.name() != told.state.name()
}

fn seen(sight: &ScreenObservation) -> ObservedState {
    let ScreenReading { state, reason, .. } = sight.reading.clone();
    ObservedState { state, since: sight.since, source: ObservationSource::Screen, reason }
}

fn heard(told: &ReportedState, sight: Option<&ScreenObservation>) -> ObservedState {
    let state = match (&told.state, sight.map(|sight| &sight.reading.state)) {
        (AgentActivity::WaitingApproval(told), Some(AgentActivity::WaitingApproval(shown))) => {
            AgentActivity::WaitingApproval(merge_requests(told, shown))
        }
        (AgentActivity::RateLimited { resets: None }, Some(shown @ AgentActivity::RateLimited { .. })) => {
            shown.clone()
        }
        (state, _) => state.clone(),
    };
    ObservedState { state, since: told.since, source: ObservationSource::Hooks, reason: told.reason.clone() }
}

/// One approval, told and shown: what was told is exact, how it is answered is on the screen. Where the two disagree it
/// is not known what a key would approve.
fn merge_requests(told: &ApprovalRequest, shown: &ApprovalRequest) -> ApprovalRequest {
    const APART: &str = "what the CLI tells and what its screen shows are not the same";
    let subject = match (&told.subject, &shown.subject) {
        (ApprovalSubject::Command(told), ApprovalSubject::Command(shown)) if told != shown => {
            ApprovalSubject::Unreadable(APART)
        }
        (ApprovalSubject::Command(_) | ApprovalSubject::File(_), ApprovalSubject::Unreadable(_))
            if told.kind != shown.kind =>
        {
            ApprovalSubject::Unreadable(APART)
        }
        (ApprovalSubject::Command(_), ApprovalSubject::File(_))
        | (ApprovalSubject::File(_), ApprovalSubject::Command(_)) => ApprovalSubject::Unreadable(APART),
        // Several are asked at once; the screen shows which one is asked now.
        (ApprovalSubject::Unreadable(_), ApprovalSubject::Command(_)) => shown.subject.clone(),
        _ => told.subject.clone(),
    };
    let kind = if told.kind == ApprovalKind::Other { shown.kind } else { told.kind };
    ApprovalRequest { kind, subject, keys: shown.keys }
}
