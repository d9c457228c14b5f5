//! Derives an agent's state from the events that its CLI reports.
//!
//! No CLI reports denials and Esc, so a reported state may be stale; [`crate::state::infer_state`] compares it with the
//! screen. One tracker follows one start of a CLI; a restart gets a new one.

use jiff::Timestamp;

use super::{HookEvent, HookEventKind, ToolAction};
use crate::screen::{ApprovalKind, ApprovalRequest, ApprovalSubject};
use crate::state::AgentActivity;

/// A state as the CLI reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedState {
    pub state: AgentActivity,
    pub since: Timestamp,
    pub reason: String,
}

/// An approval that was requested and, as far as reported, not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    id: Option<String>,
    action: ToolAction,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracker {
    conversation: Option<String>,
    /// The conversation has content, so it can be resumed.
    begun: bool,
    ended: bool,
    pending: Vec<Pending>,
    /// The CLI reports approval requests, so reminders add nothing.
    reports_approvals: bool,
    reported: Option<ReportedState>,
}

impl Tracker {
    /// The CLI's id of the conversation, for resuming it.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Whether the conversation has content.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    pub fn state(&self) -> Option<&ReportedState> {
        self.reported.as_ref()
    }

    /// The actions that wait for approval. If there are several, only the screen shows which one is asked now.
    pub fn pending(&self) -> impl Iterator<Item = &ToolAction> {
        self.pending.iter().map(|pending| &pending.action)
    }

    /// Applies an event. Events of conversations that the agent itself started are ignored.
    pub fn apply(&mut self, at: Timestamp, event: &HookEvent) {
        if self.is_foreign(event) {
            return;
        }
        if self.conversation.as_ref() != Some(&event.conversation) {
            self.conversation = Some(event.conversation.clone());
            self.begun = false;
        }
        self.begun |= !matches!(
            event.kind,
            HookEventKind::Started { .. }
                | HookEventKind::Ended
                | HookEventKind::ApprovalReminder
                | HookEventKind::IdleReminder
                | HookEventKind::Other(_)
        );
        self.ended = event.kind == HookEventKind::Ended;
        match &event.kind {
            HookEventKind::Started { .. } => {
                self.set_state(at, AgentActivity::Idle, "the conversation started");
            }
            HookEventKind::PromptSubmitted => {
                self.pending.clear();
                self.set_state(at, AgentActivity::Working, "a prompt was submitted");
            }
            HookEventKind::Busy => self.set_working_unless_pending(at, "the CLI reports that it is busy"),
            HookEventKind::ToolStarted(_) => self.set_working_unless_pending(at, "a tool is running"),
            HookEventKind::ApprovalRequested { action: ToolAction::Question, .. } => {
                self.set_state(at, AgentActivity::WaitingInput, "the agent asks a question");
            }
            HookEventKind::ApprovalRequested { id, action } => {
                self.reports_approvals = true;
                self.pending.push(Pending { id: id.clone(), action: action.clone() });
                self.set_state(
                    at,
                    AgentActivity::WaitingApproval(self.pending_request()),
                    "the agent requests an approval",
                );
            }
            HookEventKind::ApprovalAnswered { id } => {
                self.pending.retain(|pending| pending.id.as_ref() != Some(id));
                self.after_answer(at, "an approval was answered");
            }
            HookEventKind::ToolEnded(action) => {
                if let Some(answered) = self.pending.iter().position(|pending| pending.action == *action) {
                    self.pending.remove(answered);
                }
                self.after_answer(at, "a tool finished");
            }
            HookEventKind::ApprovalReminder if !self.reports_approvals => {
                self.set_state(
                    at,
                    AgentActivity::WaitingApproval(self.pending_request()),
                    "the CLI reports that it needs an approval",
                );
            }
            // An idle reminder does not end a rate limit.
            HookEventKind::IdleReminder if self.is_limited() => {}
            HookEventKind::TurnEnded | HookEventKind::IdleReminder => {
                self.pending.clear();
                self.set_state(at, AgentActivity::Idle, "the turn ended");
            }
            HookEventKind::TurnFailed { reason, limited } => {
                self.pending.clear();
                let state =
                    if *limited { AgentActivity::RateLimited { resets: None } } else { AgentActivity::Idle };
                self.set_state(at, state, &format!("the turn failed: {reason}"));
            }
            HookEventKind::RateLimited { reason, resets } => {
                self.pending.clear();
                let state = AgentActivity::RateLimited { resets: resets.clone() };
                self.set_state(at, state, &format!("rate-limited: {reason}"));
            }
            HookEventKind::Ended => self.set_state(at, AgentActivity::Exited, "the conversation ended"),
            HookEventKind::ApprovalReminder
            | HookEventKind::SubagentStarted
            | HookEventKind::SubagentEnded
            | HookEventKind::Other(_) => {}
        }
    }

    /// Whether an event belongs to another conversation. A new conversation replaces the followed one if that one ended,
    /// or if the user cleared or resumed it in the same CLI.
    fn is_foreign(&self, event: &HookEvent) -> bool {
        let Some(ours) = &self.conversation else { return event.conversation.is_empty() };
        *ours != event.conversation
            && match event.kind {
                HookEventKind::Started { fresh } => fresh && !self.ended,
                _ => true,
            }
    }

    fn is_limited(&self) -> bool {
        self.reported
            .as_ref()
            .is_some_and(|reported| matches!(reported.state, AgentActivity::RateLimited { .. }))
    }

    fn set_working_unless_pending(&mut self, at: Timestamp, reason: &str) {
        if self.pending.is_empty() {
            self.set_state(at, AgentActivity::Working, reason);
        }
    }

    fn after_answer(&mut self, at: Timestamp, reason: &str) {
        let state = if self.pending.is_empty() {
            AgentActivity::Working
        } else {
            AgentActivity::WaitingApproval(self.pending_request())
        };
        self.set_state(at, state, reason);
    }

    /// An unchanged state keeps its start time.
    fn set_state(&mut self, at: Timestamp, state: AgentActivity, reason: &str) {
        let since = match &self.reported {
            Some(reported) if reported.state == state => reported.since,
            _ => at,
        };
        self.reported = Some(ReportedState { state, since, reason: reason.to_owned() });
    }

    fn pending_request(&self) -> ApprovalRequest {
        match self.pending.as_slice() {
            [pending] => pending.action.approval_request(),
            [] => ApprovalRequest::unreadable(ApprovalKind::Other, "the CLI does not report what it is"),
            _ => ApprovalRequest::unreadable(ApprovalKind::Other, "several approvals are pending"),
        }
    }
}

impl ToolAction {
    /// The approval request for this action. Its keys come from the screen.
    pub fn approval_request(&self) -> ApprovalRequest {
        let (kind, subject) = match self {
            Self::Command(command) => (ApprovalKind::Command, ApprovalSubject::Command(command.clone())),
            Self::Edit(files) => match files.as_slice() {
                [file] => (ApprovalKind::Edit, ApprovalSubject::File(file.clone())),
                _ => (ApprovalKind::Edit, ApprovalSubject::Unreadable("it changes several files")),
            },
            Self::Question | Self::Other(_) => {
                (ApprovalKind::Other, ApprovalSubject::Unreadable("it is neither a command nor an edit"))
            }
        };
        ApprovalRequest { kind, subject, keys: None }
    }
}
