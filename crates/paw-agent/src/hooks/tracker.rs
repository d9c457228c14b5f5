//! From what a CLI tells to the state it is in.
//!
//! No CLI reports denials and Esc, so a state heard here may be over; [`crate::state::conclude`] holds it against
//! the screen. One tracker follows one start of a CLI; a restart gets a new one.

use jiff::Timestamp;

use super::{HookEvent, HookEventKind, ToolAction};
use crate::screen::{ApprovalKind, ApprovalRequest, ApprovalSubject};
use crate::state::AgentActivity;

/// A state as the CLI's own words have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedState {
    pub state: AgentActivity,
    pub since: Timestamp,
    pub reason: String,
}

/// An approval that was asked and not answered, as far as we have heard.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    id: Option<String>,
    action: ToolAction,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracker {
    conversation: Option<String>,
    /// Something was said in it, so there is something to go on with.
    begun: bool,
    ended: bool,
    pending: Vec<Pending>,
    /// It tells of approvals when they are asked, so a reminder says nothing new.
    reports_approvals: bool,
    reported: Option<ReportedState>,
}

impl Tracker {
    /// What the CLI calls the conversation, for taking it up again.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Whether anything was said in the conversation since it was first told of.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    pub fn state(&self) -> Option<&ReportedState> {
        self.reported.as_ref()
    }

    /// The deeds that wait for an approval. More than one means that the screen alone can tell which is asked now.
    pub fn pending(&self) -> impl Iterator<Item = &ToolAction> {
        self.pending.iter().map(|pending| &pending.action)
    }

    /// Takes in an event. One of a conversation that the agent itself has started is not about the agent.
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
                self.set_state(at, AgentActivity::Idle, "the conversation has begun")
            }
            HookEventKind::PromptSubmitted => {
                self.pending.clear();
                self.set_state(at, AgentActivity::Working, "it has taken a prompt");
            }
            HookEventKind::Busy => self.set_working_unless_pending(at, "it says that it is busy"),
            HookEventKind::ToolStarted(_) => self.set_working_unless_pending(at, "it uses a tool"),
            HookEventKind::ApprovalRequested { action: ToolAction::Question, .. } => {
                self.set_state(at, AgentActivity::WaitingInput, "it asks a question");
            }
            HookEventKind::ApprovalRequested { id, action } => {
                self.reports_approvals = true;
                self.pending.push(Pending { id: id.clone(), action: action.clone() });
                self.set_state(
                    at,
                    AgentActivity::WaitingApproval(self.pending_request()),
                    "it asks for an approval",
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
                self.after_answer(at, "a tool has ended");
            }
            HookEventKind::ApprovalReminder if !self.reports_approvals => {
                self.set_state(
                    at,
                    AgentActivity::WaitingApproval(self.pending_request()),
                    "it says that it needs an approval",
                );
            }
            // That it rests says nothing about why.
            HookEventKind::IdleReminder if self.is_limited() => {}
            HookEventKind::TurnEnded | HookEventKind::IdleReminder => {
                self.pending.clear();
                self.set_state(at, AgentActivity::Idle, "its turn has ended");
            }
            HookEventKind::TurnFailed { reason, limited } => {
                self.pending.clear();
                let state =
                    if *limited { AgentActivity::RateLimited { resets: None } } else { AgentActivity::Idle };
                self.set_state(at, state, &format!("its turn has failed: {reason}"));
            }
            HookEventKind::RateLimited { reason, resets } => {
                self.pending.clear();
                let state = AgentActivity::RateLimited { resets: resets.clone() };
                self.set_state(at, state, &format!("it says that it may not go on: {reason}"));
            }
            HookEventKind::Ended => self.set_state(at, AgentActivity::Exited, "the conversation has ended"),
            HookEventKind::ApprovalReminder
            | HookEventKind::SubagentStarted
            | HookEventKind::SubagentEnded
            | HookEventKind::Other(_) => {}
        }
    }

    /// Whether an event is of another conversation than the one that is followed. A new one takes its place when the
    /// old one has ended, or when it was cleared or taken up again in the same CLI.
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

    /// A state that goes on keeps its beginning.
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
            [] => ApprovalRequest::unreadable(ApprovalKind::Other, "the CLI does not say what it is"),
            _ => ApprovalRequest::unreadable(ApprovalKind::Other, "several approvals are asked at once"),
        }
    }
}

impl ToolAction {
    /// The approval of this action. Keys are the business of the screen.
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
