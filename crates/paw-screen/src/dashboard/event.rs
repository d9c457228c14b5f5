//! What the dashboard receives and what it asks for.

use crossterm::event::KeyEvent;
use jiff::tz::TimeZone;
use paw_core::AgentId;
use paw_view::ViewEvent;

use super::changes::{ChangedFile, WorkChanges};
use super::theme::Theme;
use crate::text::Text;

/// An input of the dashboard.
#[derive(Debug, Clone, PartialEq)]
pub enum DashboardEvent {
    Key(KeyEvent),
    Paste(String),
    Resize {
        columns: u16,
        rows: u16,
    },
    Update(DashboardUpdate),
    /// The time of [`super::DashboardState::next_wake`] has come.
    Wake,
}

/// An event that did not come from the terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum DashboardUpdate {
    View(ViewEvent),
    /// An answer could not be sent, so its question is still open.
    AnswerFailed {
        question: u64,
        reason: Text,
    },
    /// The connection to the broker is disconnected, and why.
    Disconnected(Text),
    /// The broker is connected again.
    Connected,
    /// The prompt that an agent shows, or why it cannot be shown.
    Prompt {
        agent: AgentId,
        found: Result<ShownPrompt, Text>,
    },
    /// The prompt of an agent was answered, or why it was not.
    Replied {
        agent: AgentId,
        done: Result<Text, Text>,
    },
    /// The rows of an agent's pane.
    Preview {
        agent: AgentId,
        rows: Vec<String>,
    },
    /// The work of an agent, or why it cannot be read.
    Changes {
        agent: AgentId,
        found: Result<WorkChanges, Text>,
    },
    /// The patch of one changed file.
    Patch {
        agent: AgentId,
        path: String,
        lines: Vec<String>,
    },
    /// The latest line that a running command printed.
    Progress {
        job: AgentJob,
        line: Text,
    },
    /// A command has ended. The output is everything it printed.
    Ended {
        job: AgentJob,
        success: bool,
        output: Vec<String>,
    },
    /// Something could not be done, and why.
    Failed(Text),
}

/// An output of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardEffect {
    /// The screen has changed.
    Redraw,
    /// Clear the terminal and draw every cell, because other output may have overwritten it.
    Repaint,
    /// Something to do outside the dashboard.
    Request(DashboardRequest),
    /// Close the dashboard, and attach the terminal to this agent's pane.
    Attach(AgentId),
    /// Close the dashboard.
    Quit,
}

/// Something that the dashboard cannot do by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardRequest {
    /// Publish an answer.
    Answer(OperatorAnswer),
    /// Read the prompt that an agent shows; answered with [`DashboardUpdate::Prompt`].
    ReadPrompt(AgentId),
    /// Answer exactly the prompt that was shown.
    Reply { agent: AgentId, prompt: u64, approve: bool },
    /// Show the pane of an agent.
    Jump(AgentId),
    /// Send the pane of this agent whenever it changes, or of none.
    Preview(Option<AgentId>),
    /// Read the work of an agent.
    ReadChanges(AgentId),
    /// Read the patch of one of its files.
    ReadPatch { agent: AgentId, file: ChangedFile },
    /// Run a command of git paw.
    Run(AgentJob),
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorAnswer {
    /// The sequence number of the question.
    pub question: u64,
    pub asker: AgentId,
    /// The text of the question.
    pub quoted: String,
    pub text: String,
}

/// The prompt that an agent shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPrompt {
    /// Identifies it in [`DashboardRequest::Reply`].
    pub id: u64,
    pub cli: String,
    /// The whole command, or the file to edit.
    pub text: String,
    /// Whether the user's rules allow it.
    pub allowed: bool,
    /// The reason of that verdict.
    pub reason: String,
    /// Why it can only be denied here, if so.
    pub refusal: Option<String>,
}

/// A command of git paw for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentJob {
    pub action: AgentAction,
    pub agent: AgentId,
    /// The agent's branch, else its id.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAction {
    Verify,
    Merge,
    /// Pauses the whole session.
    Pause,
    Remove,
    Tell(String),
}

impl AgentAction {
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Merge => "merge",
            Self::Pause => "pause",
            Self::Remove => "remove",
            Self::Tell(_) => "tell",
        }
    }
}

impl AgentJob {
    /// `verify feat/auth`
    pub fn title(&self) -> String {
        match self.action {
            AgentAction::Pause => "pause".to_owned(),
            _ => format!("{} {}", self.action.verb(), Text::line(&self.name)),
        }
    }
}

/// Where the dashboard is shown, which decides what `q` and Enter do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DashboardHost {
    /// In a pane of the session: `q` only hides the view, so that no pane moves.
    Session,
    /// In another terminal: `q` closes it.
    Attached,
}

#[derive(Debug, Clone)]
pub struct DashboardOptions {
    pub host: DashboardHost,
    pub theme: Theme,
    /// Whether the messages are visible from the start.
    pub show_messages: bool,
    /// The most lines for messages below the other panels. In their own column they use all lines.
    pub message_lines: u16,
    /// The time zone for displayed times.
    pub zone: TimeZone,
}
