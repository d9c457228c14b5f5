//! The view of an approval: the whole command, the verdict, and the keys that answer it.

use crossterm::event::KeyCode;
use jiff::Timestamp;
use paw_core::{AgentId, text};

use super::event::ShownPrompt;
use super::scroll::scrolled;
use crate::text::wrap;

/// The state of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptView {
    pub(super) agent: AgentId,
    pub(super) content: PromptContent,
    pub(super) scroll: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptContent {
    Reading,
    Failed(String),
    Shown {
        prompt: ShownPrompt,
        /// When it was read.
        since: Timestamp,
    },
    /// The reply is on its way.
    Replying(ShownPrompt),
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptStep {
    Ignored,
    Redraw,
    Close,
    Jump,
    ReadAgain,
    Reply {
        prompt: u64,
        approve: bool,
    },
    /// Why nothing was done.
    Refused(String),
}

impl PromptView {
    pub(super) fn new(agent: AgentId) -> Self {
        Self { agent, content: PromptContent::Reading, scroll: 0 }
    }

    pub(super) fn prompt(&self) -> Option<&ShownPrompt> {
        match &self.content {
            PromptContent::Shown { prompt, .. } | PromptContent::Replying(prompt) => Some(prompt),
            PromptContent::Reading | PromptContent::Failed(_) => None,
        }
    }

    /// The command, with hidden characters spelled out, in lines of this width.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let Some(prompt) = self.prompt() else { return Vec::new() };
        prompt.text.split('\n').flat_map(|line| wrap(&text::reveal(line), width)).collect()
    }

    /// `lines` is the length of the command and `room` how much of it is visible.
    pub(super) fn on_key(&mut self, code: KeyCode, lines: usize, room: usize) -> PromptStep {
        match code {
            KeyCode::Esc | KeyCode::Char('q') => PromptStep::Close,
            KeyCode::Enter => PromptStep::Jump,
            KeyCode::Char('R') => {
                *self = Self::new(self.agent.clone());
                PromptStep::ReadAgain
            }
            KeyCode::Char('a') => self.reply(true, self.scroll + room >= lines),
            KeyCode::Char('d') => self.reply(false, true),
            code => match scrolled(self.scroll, lines, room, code) {
                Some(scroll) => {
                    self.scroll = scroll;
                    PromptStep::Redraw
                }
                None => PromptStep::Ignored,
            },
        }
    }

    /// Approves only what was shown completely.
    fn reply(&mut self, approve: bool, seen_whole: bool) -> PromptStep {
        let PromptContent::Shown { prompt, .. } = &self.content else { return PromptStep::Ignored };
        if let Some(why) = prompt.refusal.as_ref().filter(|_| approve) {
            return PromptStep::Refused(format!("not approved: {why}"));
        }
        if !seen_whole {
            return PromptStep::Refused(
                "not approved: scroll to the end of the command first (G)".to_owned(),
            );
        }
        let id = prompt.id;
        self.content = PromptContent::Replying(prompt.clone());
        PromptStep::Reply { prompt: id, approve }
    }
}
