//! What the user should know. Pure.

use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, Receipt, SessionMode, text};
use paw_view::{AgentState, Need, NeedKind, SessionView, StatusCategory};
use serde::{Deserialize, Serialize};

/// The longest text of a notice.
const LONGEST: usize = 200;

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Notice {
    pub(super) kind: NoticeKind,
    pub(super) agent: AgentId,
    /// One line, safe for a terminal.
    pub(super) text: String,
}

/// The events, by the names that commands of the user get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoticeKind {
    Approval,
    Question,
    Input,
    Prompt,
    Exited,
    Stuck,
    Finished,
    Failed,
    VerifyFailed,
    Merged,
    SupervisorWaits,
}

impl NoticeKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Input => "input",
            Self::Prompt => "prompt",
            Self::Exited => "exited",
            Self::Stuck => "stuck",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::VerifyFailed => "verify_failed",
            Self::Merged => "merged",
            Self::SupervisorWaits => "supervisor_waits",
        }
    }

    /// The event in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Approval => "needs approval",
            Self::Question => "asks",
            Self::Input => "waits for input in its pane",
            Self::Prompt => "did not receive its first prompt",
            Self::Exited => "exited",
            Self::Stuck => "is stuck",
            Self::Finished => "is done",
            Self::Failed => "failed",
            Self::VerifyFailed => "fails its gates",
            Self::Merged => "was merged",
            Self::SupervisorWaits => "waits for you",
        }
    }
}

impl Notice {
    fn new(kind: NoticeKind, agent: AgentId, words: &str) -> Self {
        let line = words.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self { kind, agent, text: text::line(&text::truncate_chars(line.trim(), LONGEST)).into_owned() }
    }

    pub(super) fn stuck(agent: AgentId, reason: &str) -> Self {
        Self::new(NoticeKind::Stuck, agent, reason)
    }

    /// What a new message reports.
    pub(super) fn of_message(stored: &StoredMessage) -> Option<Self> {
        match &stored.message {
            // The session's own observations have a source.
            Message::Status(status) if status.source().is_none() => {
                let kind = match StatusCategory::of(&status.status) {
                    StatusCategory::Done => NoticeKind::Finished,
                    StatusCategory::Failed => NoticeKind::Failed,
                    _ => return None,
                };
                Some(Self::new(kind, status.agent_id.clone(), status.message.as_deref().unwrap_or_default()))
            }
            // Feedback about a commit means that a gate failed.
            Message::Feedback(feedback) if feedback.extra.payload.contains_key("commit") => Some(Self::new(
                NoticeKind::VerifyFailed,
                feedback.agent_id.clone(),
                &feedback.errors.join("\n"),
            )),
            Message::AdvancedMain(merged) => {
                let text = format!("{} into {}", merged.merged_branch, merged.base);
                Some(Self::new(NoticeKind::Merged, stored.sender.clone(), &text))
            }
            _ => None,
        }
    }
}

/// What the agents and the supervisor need now.
pub(super) fn find_needs(view: &SessionView) -> Vec<Notice> {
    view.needs().iter().map(of_need).collect()
}

/// Whether the supervisor is to meet this need first: it answers questions and starts CLIs again, and a rate limit ends by
/// itself. Approvals and input in a pane are the user's.
pub(super) fn is_for_supervisor(notice: &Notice, view: &SessionView, receipt: &Receipt) -> bool {
    let supervisor = AgentId::supervisor();
    let is_gone = |state| matches!(state, AgentState::Exited | AgentState::RateLimited);
    let seen = view.find(&supervisor).and_then(|agent| agent.observed.as_ref());
    receipt.mode == SessionMode::Supervisor
        && notice.agent != supervisor
        && matches!(notice.kind, NoticeKind::Question | NoticeKind::Exited | NoticeKind::Stuck)
        && !seen.is_some_and(|seen| is_gone(seen.state))
}

fn of_need(need: &Need) -> Notice {
    let kind = match need.kind {
        NeedKind::Prompt => NoticeKind::Prompt,
        _ if need.agent_id.as_str() == AgentId::SUPERVISOR => NoticeKind::SupervisorWaits,
        NeedKind::Approval => NoticeKind::Approval,
        NeedKind::Answer => NoticeKind::Question,
        NeedKind::Input => NoticeKind::Input,
        NeedKind::Exited => NoticeKind::Exited,
        NeedKind::RateLimit => NoticeKind::Stuck,
    };
    Notice::new(kind, need.agent_id.clone(), &need.text)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use paw_core::{BranchName, SessionName};
    use paw_view::{Observation, SessionMember, StateSource, ViewEvent};

    use super::*;

    #[test]
    fn the_supervisor_comes_before_the_user_unless_it_is_gone() {
        let name = SessionName::new("paw-app").unwrap();
        let mut receipt = Receipt::new(name, "/app".into(), "app", Timestamp::UNIX_EPOCH);
        let mut view = SessionView::new(0);
        let agent = AgentId::new("feat-x").unwrap();
        let asks = |kind| Notice::new(kind, agent.clone(), "may I?");
        assert!(!is_for_supervisor(&asks(NoticeKind::Question), &view, &receipt), "there is no supervisor");
        receipt.mode = SessionMode::Supervisor;
        for (kind, expected) in [
            (NoticeKind::Question, true),
            (NoticeKind::Exited, true),
            (NoticeKind::Stuck, true),
            (NoticeKind::Approval, false),
            (NoticeKind::Input, false),
        ] {
            assert_eq!(is_for_supervisor(&asks(kind), &view, &receipt), expected, "{kind:?}");
        }
        let member = SessionMember::new(BranchName::new("main").unwrap(), "claude");
        view.apply(ViewEvent::Members(vec![(AgentId::supervisor(), member)]));
        let seen = Observation {
            state: AgentState::Exited,
            since: Timestamp::UNIX_EPOCH,
            at: Timestamp::UNIX_EPOCH,
            source: StateSource::Process,
            reason: String::new(),
            waits_for: None,
        };
        view.apply(ViewEvent::Observed { agent: AgentId::supervisor(), seen });
        assert!(!is_for_supervisor(&asks(NoticeKind::Question), &view, &receipt));
    }
}
