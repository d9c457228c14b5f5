//! From what a CLI tells to the state it is in.
//!
//! No CLI reports denials and Esc, so a state heard here may be over; [`crate::state::conclude`] holds it against
//! the screen. One tracker follows one start of a CLI; a restart gets a new one.

use jiff::Timestamp;

use super::{Deed, Event, What};
use crate::screen::{Ask, AskKind, AskSubject};
use crate::state::State;

/// A state as the CLI's own words have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub state: State,
    pub since: Timestamp,
    pub reason: String,
}

/// An approval that was asked and not answered, as far as we have heard.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    id: Option<String>,
    deed: Deed,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracker {
    conversation: Option<String>,
    /// Something was said in it, so there is something to go on with.
    begun: bool,
    ended: bool,
    pending: Vec<Pending>,
    /// It tells of approvals when they are asked, so a reminder says nothing new.
    tells_approvals: bool,
    heard: Option<Heard>,
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

    pub fn heard(&self) -> Option<&Heard> {
        self.heard.as_ref()
    }

    /// The deeds that wait for an approval. More than one means that the screen alone can tell which is asked now.
    pub fn pending(&self) -> impl Iterator<Item = &Deed> {
        self.pending.iter().map(|pending| &pending.deed)
    }

    /// Takes in an event. One of a conversation that the agent itself has started is not about the agent.
    pub fn hear(&mut self, at: Timestamp, event: &Event) {
        if self.is_foreign(event) {
            return;
        }
        if self.conversation.as_ref() != Some(&event.conversation) {
            self.conversation = Some(event.conversation.clone());
            self.begun = false;
        }
        self.begun |= !matches!(
            event.what,
            What::Started { .. } | What::Ended | What::ApprovalReminder | What::IdleReminder | What::Other(_)
        );
        self.ended = event.what == What::Ended;
        match &event.what {
            What::Started { .. } => self.now(at, State::Idle, "the conversation has begun"),
            What::PromptTaken => {
                self.pending.clear();
                self.now(at, State::Working, "it has taken a prompt");
            }
            What::Busy => self.unless_pending(at, "it says that it is busy"),
            What::ToolBegins(_) => self.unless_pending(at, "it uses a tool"),
            What::ApprovalAsked { deed: Deed::Question, .. } => {
                self.now(at, State::WaitingInput, "it asks a question");
            }
            What::ApprovalAsked { id, deed } => {
                self.tells_approvals = true;
                self.pending.push(Pending { id: id.clone(), deed: deed.clone() });
                self.now(at, State::WaitingApproval(self.ask()), "it asks for an approval");
            }
            What::ApprovalAnswered { id } => {
                self.pending.retain(|pending| pending.id.as_ref() != Some(id));
                self.after_answer(at, "an approval was answered");
            }
            What::ToolEnded(deed) => {
                if let Some(answered) = self.pending.iter().position(|pending| pending.deed == *deed) {
                    self.pending.remove(answered);
                }
                self.after_answer(at, "a tool has ended");
            }
            What::ApprovalReminder if !self.tells_approvals => {
                self.now(at, State::WaitingApproval(self.ask()), "it says that it needs an approval");
            }
            // That it rests says nothing about why.
            What::IdleReminder if self.is_limited() => {}
            What::TurnEnded | What::IdleReminder => {
                self.pending.clear();
                self.now(at, State::Idle, "its turn has ended");
            }
            What::TurnFailed { reason, limited } => {
                self.pending.clear();
                let state = if *limited { State::RateLimited { resets: None } } else { State::Idle };
                self.now(at, state, &format!("its turn has failed: {reason}"));
            }
            What::Limited { reason, resets } => {
                self.pending.clear();
                let state = State::RateLimited { resets: resets.clone() };
                self.now(at, state, &format!("it says that it may not go on: {reason}"));
            }
            What::Ended => self.now(at, State::Exited, "the conversation has ended"),
            What::ApprovalReminder | What::SubagentBegins | What::SubagentEnded | What::Other(_) => {}
        }
    }

    /// Whether an event is of another conversation than the one that is followed. A new one takes its place when the
    /// old one has ended, or when it was cleared or taken up again in the same CLI.
    fn is_foreign(&self, event: &Event) -> bool {
        let Some(ours) = &self.conversation else { return event.conversation.is_empty() };
        *ours != event.conversation
            && match event.what {
                What::Started { anew } => anew && !self.ended,
                _ => true,
            }
    }

    fn is_limited(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| matches!(heard.state, State::RateLimited { .. }))
    }

    fn unless_pending(&mut self, at: Timestamp, reason: &str) {
        if self.pending.is_empty() {
            self.now(at, State::Working, reason);
        }
    }

    fn after_answer(&mut self, at: Timestamp, reason: &str) {
        let state = if self.pending.is_empty() { State::Working } else { State::WaitingApproval(self.ask()) };
        self.now(at, state, reason);
    }

    /// A state that goes on keeps its beginning.
    fn now(&mut self, at: Timestamp, state: State, reason: &str) {
        let since = match &self.heard {
            Some(heard) if heard.state == state => heard.since,
            _ => at,
        };
        self.heard = Some(Heard { state, since, reason: reason.to_owned() });
    }

    fn ask(&self) -> Ask {
        match self.pending.as_slice() {
            [pending] => pending.deed.ask(),
            [] => Ask::unreadable(AskKind::Other, "the CLI does not say what it is"),
            _ => Ask::unreadable(AskKind::Other, "several approvals are asked at once"),
        }
    }
}

impl Deed {
    /// The approval of this deed. Keys are the business of the screen.
    pub fn ask(&self) -> Ask {
        let (kind, subject) = match self {
            Self::Command(command) => (AskKind::Command, AskSubject::Command(command.clone())),
            Self::Edit(files) => match files.as_slice() {
                [file] => (AskKind::Edit, AskSubject::File(file.clone())),
                _ => (AskKind::Edit, AskSubject::Unreadable("it changes several files")),
            },
            Self::Question | Self::Other(_) => {
                (AskKind::Other, AskSubject::Unreadable("it is neither a command nor an edit"))
            }
        };
        Ask { kind, subject, keys: None }
    }
}
