//! Infers an agent's state from hook reports, the process in its pane, and its screen.

use jiff::{SignedDuration, Timestamp};

use super::AgentActivity;
use crate::hooks::ReportedState;
use crate::screen::{ApprovalKind, ApprovalRequest, ApprovalSubject, ScreenReading};

/// The screen lags behind hook reports, so it overrules a report only after contradicting it for this long.
const LAG: SignedDuration = SignedDuration::from_secs(3);

/// The program in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneProcess {
    Running,
    /// A shell is in the foreground instead of the CLI.
    Shell(String),
    Dead,
}

/// What a screen shows, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenObservation {
    pub reading: ScreenReading,
    pub since: Timestamp,
}

/// The evidence for a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservationSource {
    /// The CLI reported it.
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

/// What an agent is doing, since when, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedState {
    pub state: AgentActivity,
    pub since: Timestamp,
    pub source: ObservationSource,
    pub reason: String,
}

impl ObservedState {
    /// Keeps the start time of an unchanged state.
    #[must_use]
    pub fn following(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before.filter(|before| before.state == self.state) {
            self.since = self.since.min(before.since);
        }
        self
    }
}

/// Weighs the evidence. A dead program overrules everything. Otherwise hook reports come first, until the screen has
/// clearly contradicted them for a while: CLIs do not report denials and Esc.
pub fn infer_state(
    life: &PaneProcess,
    reported: Option<&ReportedState>,
    observation: Option<&ScreenObservation>,
    now: Timestamp,
) -> ObservedState {
    let gone = match life {
        PaneProcess::Running => None,
        PaneProcess::Shell(shell) => Some(format!("a shell ({shell}) is in the foreground")),
        PaneProcess::Dead => Some("the program has exited".to_owned()),
    };
    if let Some(reason) = gone {
        return ObservedState {
            state: AgentActivity::Exited,
            since: now,
            source: ObservationSource::Process,
            reason,
        };
    }
    match (reported, observation) {
        (Some(reported), Some(observation)) if overrules(observation, reported, now) => {
            from_screen(observation)
        }
        (Some(reported), observation) => from_report(reported, observation),
        (None, Some(observation)) => from_screen(observation),
        (None, None) => ObservedState {
            state: AgentActivity::Unknown,
            since: now,
            source: ObservationSource::Nothing,
            reason: "no hook reports and no screen".to_owned(),
        },
    }
}

fn overrules(observation: &ScreenObservation, reported: &ReportedState, now: Timestamp) -> bool {
    let shown = &observation.reading.state;
    let clear = !matches!(shown, AgentActivity::Unknown | AgentActivity::Starting);
    let later = now.duration_since(observation.since.max(reported.since)) >= LAG;
    // The end of a rate limit is reported. Until then one CLI looks busy because it retries, and another looks idle.
    let limited = matches!(reported.state, AgentActivity::RateLimited { .. })
        && matches!(shown, AgentActivity::Working | AgentActivity::Idle | AgentActivity::RateLimited { .. });
    clear && later && !limited && shown.name() != reported.state.name()
}

fn from_screen(observation: &ScreenObservation) -> ObservedState {
    let ScreenReading { state, reason, .. } = observation.reading.clone();
    ObservedState { state, since: observation.since, source: ObservationSource::Screen, reason }
}

fn from_report(reported: &ReportedState, observation: Option<&ScreenObservation>) -> ObservedState {
    let state = match (&reported.state, observation.map(|observation| &observation.reading.state)) {
        (AgentActivity::WaitingApproval(reported), Some(AgentActivity::WaitingApproval(shown))) => {
            AgentActivity::WaitingApproval(merge_requests(reported, shown))
        }
        (AgentActivity::RateLimited { resets: None }, Some(shown @ AgentActivity::RateLimited { .. })) => {
            shown.clone()
        }
        (state, _) => state.clone(),
    };
    ObservedState {
        state,
        since: reported.since,
        source: ObservationSource::Hooks,
        reason: reported.reason.clone(),
    }
}

/// Merges the reported and the visible request of one approval: the report has the exact subject, the screen has the
/// keys. If the two disagree, it is unknown what a key would approve.
fn merge_requests(reported: &ApprovalRequest, shown: &ApprovalRequest) -> ApprovalRequest {
    const DISAGREE: &str = "the CLI's report and its screen disagree";
    let subject = match (&reported.subject, &shown.subject) {
        (ApprovalSubject::Command(reported), ApprovalSubject::Command(shown)) if reported != shown => {
            ApprovalSubject::Unreadable(DISAGREE)
        }
        (ApprovalSubject::Command(_) | ApprovalSubject::File(_), ApprovalSubject::Unreadable(_))
            if reported.kind != shown.kind =>
        {
            ApprovalSubject::Unreadable(DISAGREE)
        }
        (ApprovalSubject::Command(_), ApprovalSubject::File(_))
        | (ApprovalSubject::File(_), ApprovalSubject::Command(_)) => ApprovalSubject::Unreadable(DISAGREE),
        // Several approvals are pending; the screen shows which one is asked now.
        (ApprovalSubject::Unreadable(_), ApprovalSubject::Command(_)) => shown.subject.clone(),
        _ => reported.subject.clone(),
    };
    let kind = if reported.kind == ApprovalKind::Other { shown.kind } else { reported.kind };
    ApprovalRequest { kind, subject, keys: shown.keys }
}
