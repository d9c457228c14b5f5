//! What the user should know. Pure.

use paw_broker::{Message, StoredMessage};
use paw_core::{AgentId, text};
use paw_view::{Need, NeedKind, SessionView, StatusCategory};
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
            Message::Status(status) if !status.extra.payload.contains_key("source") => {
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
