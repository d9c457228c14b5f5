//! Keys that act on an agent: go to its pane, answer its prompt, show its work, run a command.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use paw_core::AgentId;
use paw_view::{AgentView, NeedKind, SessionView};

use crate::dashboard::changes::{ChangesStep, ChangesView};
use crate::dashboard::draw::{changes, prompt};
use crate::dashboard::event::{AgentAction, AgentJob, DashboardEffect, DashboardHost, DashboardRequest};
use crate::dashboard::prompt_view::{PromptStep, PromptView};
use crate::dashboard::state::{DashboardState, Mode};
use crate::line_input::LineInput;

impl DashboardState {
    /// Shows the pane of the current agent.
    pub(super) fn jump(&mut self, effects: &mut Vec<DashboardEffect>) {
        match self.current_agent().filter(|agent| agent.is_started()) {
            Some(agent) => {
                let agent = agent.id.clone();
                self.jump_to(agent, effects);
            }
            None => self.say("no agent with a pane is selected".to_owned()),
        }
    }

    pub(super) fn jump_to(&mut self, agent: AgentId, effects: &mut Vec<DashboardEffect>) {
        match self.options.host {
            DashboardHost::Session => self.requests.push(DashboardRequest::Jump(agent)),
            DashboardHost::Attached => effects.push(DashboardEffect::Attach(agent)),
        }
    }

    /// Whether the current agent waits for an approval.
    pub(super) fn is_at_prompt(&self) -> bool {
        self.current_agent().is_some_and(|agent| waits_for_approval(&self.view, &agent.id))
    }

    /// Shows the prompt of the current agent, else the oldest one. If none is known, the current agent's pane is read, because
    /// a new prompt may not have been noticed yet.
    pub(super) fn show_prompt(&mut self) {
        let current = self.current_agent().filter(|agent| agent.is_started());
        let current = current.map(|agent| agent.id.clone());
        let oldest = || self.view.needs().into_iter().find(|need| need.kind == NeedKind::Approval);
        let waiting = current.clone().filter(|agent| waits_for_approval(&self.view, agent));
        match waiting.or_else(|| oldest().map(|need| need.agent_id)).or(current) {
            Some(agent) => self.open_prompt(agent),
            None => self.say("no agent waits for an approval".to_owned()),
        }
    }

    /// Handles a key that acts on the current agent.
    pub(super) fn act(&mut self, letter: char) {
        // The supervisor has no branch of its own.
        let fits =
            |agent: &&AgentView| agent.member.is_some() || agent.is_started() && matches!(letter, 't' | 'P');
        let Some(agent) = self.current_agent().filter(fits) else {
            self.say("no agent is selected".to_owned());
            return;
        };
        let agent = agent.id.clone();
        match letter {
            'c' => {
                self.requests.push(DashboardRequest::ReadChanges(agent.clone()));
                self.mode = Mode::Changes(ChangesView::new(agent));
            }
            't' => self.mode = Mode::Tell { agent, input: LineInput::default() },
            'v' => self.run(self.job(AgentAction::Verify, &agent)),
            'm' => self.mode = Mode::Confirm { job: self.job(AgentAction::Merge, &agent) },
            'P' => self.mode = Mode::Confirm { job: self.job(AgentAction::Pause, &agent) },
            _ => self.mode = Mode::Confirm { job: self.job(AgentAction::Remove, &agent) },
        }
    }

    pub(super) fn on_confirm_key(&mut self, key: KeyEvent, job: AgentJob) -> bool {
        match key.code {
            KeyCode::Char('y' | 'Y') => self.run(job),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
            _ => {
                self.mode = Mode::Confirm { job };
                return false;
            }
        }
        true
    }

    pub(super) fn on_prompt_key(
        &mut self,
        key: KeyEvent,
        mut view: PromptView,
        effects: &mut Vec<DashboardEffect>,
    ) -> bool {
        let agent = view.agent.clone();
        let (lines, room) = prompt::extent(self, &view);
        let code = if has_control(key) { KeyCode::Null } else { key.code };
        let step = view.on_key(code, lines, room);
        self.mode = Mode::Prompt(view);
        match step {
            PromptStep::Ignored => return false,
            PromptStep::Redraw => {}
            PromptStep::Close => self.mode = Mode::Browse,
            PromptStep::Jump => {
                self.mode = Mode::Browse;
                self.jump_to(agent, effects);
            }
            PromptStep::ReadAgain => self.requests.push(DashboardRequest::ReadPrompt(agent)),
            PromptStep::Reply { prompt, approve } => {
                self.requests.push(DashboardRequest::Reply { agent, prompt, approve });
            }
            PromptStep::Refused(why) => self.alarm(why),
        }
        true
    }

    pub(super) fn on_changes_key(&mut self, key: KeyEvent, mut view: ChangesView) -> bool {
        let agent = view.agent.clone();
        let (list, room) = changes::extent(self, &view);
        let code = if has_control(key) { KeyCode::Null } else { key.code };
        let step = view.on_key(code, list, room);
        self.mode = Mode::Changes(view);
        match step {
            ChangesStep::Ignored => return false,
            ChangesStep::Redraw => {}
            ChangesStep::Close => self.mode = Mode::Browse,
            ChangesStep::ReadAgain => self.requests.push(DashboardRequest::ReadChanges(agent)),
            ChangesStep::ReadPatch(file) => self.requests.push(DashboardRequest::ReadPatch { agent, file }),
        }
        true
    }
}

fn has_control(key: KeyEvent) -> bool {
    key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
}

fn waits_for_approval(view: &SessionView, agent: &AgentId) -> bool {
    let need = view.find(agent).and_then(|agent| view.need_of(agent));
    need.is_some_and(|need| need.kind == NeedKind::Approval)
}
