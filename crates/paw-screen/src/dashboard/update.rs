//! How updates change the dashboard.

use paw_core::AgentId;
use paw_view::{AgentState, AgentView, OpenQuestion};

use super::event::{AgentAction, AgentJob, DashboardRequest, DashboardUpdate};
use super::prompt_view::{PromptContent, PromptView};
use super::state::{DashboardState, Mode, Notice};
use crate::text::Text;

impl DashboardState {
    pub(super) fn on_update(&mut self, update: DashboardUpdate) -> bool {
        match update {
            DashboardUpdate::View(event) => {
                let changes = self.view.apply(event);
                for question in &changes.settled {
                    self.on_settled(question);
                }
                self.close_answered_prompt();
                return changes.changed;
            }
            DashboardUpdate::AnswerFailed { question, reason } => {
                if let Some(draft) = self.drafts.get_mut(&question) {
                    draft.sent = false;
                }
                self.alarm(format!("answer not sent: {reason}"));
            }
            DashboardUpdate::Disconnected(reason) => {
                let before = self.disconnected.replace(reason);
                return before != self.disconnected;
            }
            DashboardUpdate::Connected => return self.disconnected.take().is_some(),
            DashboardUpdate::Prompt { agent, found } => match &mut self.mode {
                Mode::Prompt(view) if view.agent == agent => {
                    view.content = match found {
                        Ok(prompt) => PromptContent::Shown { prompt, since: self.clock },
                        Err(reason) => PromptContent::Failed(reason.to_string()),
                    };
                }
                _ => return false,
            },
            DashboardUpdate::Replied { agent, done } => self.on_replied(&agent, done),
            DashboardUpdate::Preview { agent, rows } => match &mut self.preview {
                Some((wanted, shown)) if *wanted == agent => *shown = rows,
                _ => return false,
            },
            DashboardUpdate::Changes { agent, found } => match &mut self.mode {
                Mode::Changes(view) if view.agent == agent => {
                    let file = view.set(found.map_err(|reason| reason.to_string()));
                    let request = file.map(|file| DashboardRequest::ReadPatch { agent, file });
                    self.requests.extend(request);
                }
                _ => return false,
            },
            DashboardUpdate::Patch { agent, path, lines } => match &mut self.mode {
                Mode::Changes(view) if view.agent == agent => return view.set_patch(&path, lines),
                _ => return false,
            },
            DashboardUpdate::Progress { job, line } => {
                let Some((_, last)) = self.jobs.iter_mut().find(|(running, _)| *running == job) else {
                    return false;
                };
                *last = line.to_string();
            }
            DashboardUpdate::Ended { job, success, output } => self.on_ended(&job, success, output),
            DashboardUpdate::Failed(reason) => self.alarm(reason.to_string()),
        }
        true
    }

    fn on_replied(&mut self, agent: &AgentId, done: Result<Text, Text>) {
        let is_shown = matches!(&self.mode, Mode::Prompt(view) if view.agent == *agent);
        match done {
            Ok(text) => {
                if is_shown {
                    self.mode = Mode::Browse;
                }
                self.say(text.to_string());
            }
            Err(reason) => {
                if is_shown {
                    self.open_prompt(agent.clone());
                }
                self.alarm(reason.to_string());
            }
        }
    }

    /// Shows the prompt of an agent, once it was read.
    pub(super) fn open_prompt(&mut self, agent: AgentId) {
        self.requests.push(DashboardRequest::ReadPrompt(agent.clone()));
        self.mode = Mode::Prompt(PromptView::new(agent));
    }

    /// Closes the view of a prompt that was answered elsewhere.
    fn close_answered_prompt(&mut self) {
        let Mode::Prompt(view) = &self.mode else { return };
        let seen = self.view.find(&view.agent).and_then(|agent| agent.observed.as_ref());
        let is_other = |state| !matches!(state, AgentState::WaitingApproval | AgentState::Unknown);
        let is_over = |since| seen.is_some_and(|seen| is_other(seen.state) && seen.at > since);
        if matches!(view.content, PromptContent::Shown { since, .. } if is_over(since)) {
            let agent = view.agent.clone();
            self.mode = Mode::Browse;
            self.say(format!("the prompt of {agent} was answered"));
        }
    }

    fn on_ended(&mut self, job: &AgentJob, success: bool, output: Vec<String>) {
        self.jobs.retain(|(running, _)| running != job);
        let last = output.iter().rev().find(|line| !line.trim().is_empty());
        let last = last.map(|line| Text::line(line).to_string()).unwrap_or_default();
        if success {
            self.say(if last.is_empty() { format!("{}: done", job.title()) } else { last });
        } else if matches!(self.mode, Mode::Browse) {
            let title = format!("{} failed", job.title());
            self.mode = Mode::Output { title, lines: output, scroll: 0 };
        } else {
            self.alarm(format!("{} failed: {last}", job.title()));
        }
    }

    /// Starts a command, unless the same one is running.
    pub(super) fn run(&mut self, job: AgentJob) {
        if self.jobs.iter().any(|(running, _)| *running == job) {
            self.say(format!("{} is already running", job.title()));
            return;
        }
        self.jobs.push((job.clone(), String::new()));
        self.requests.push(DashboardRequest::Run(job));
    }

    /// A command for an agent of the session.
    pub(super) fn job(&self, action: AgentAction, agent: &AgentId) -> AgentJob {
        let branch = self.view.find(agent).and_then(AgentView::branch).map(ToString::to_string);
        AgentJob { action, agent: agent.clone(), name: branch.unwrap_or_else(|| agent.to_string()) }
    }

    /// Asks for the pane that is to be shown. Returns whether that has changed.
    pub(super) fn follow_preview(&mut self) -> bool {
        let wanted = if self.shows_preview() && self.mode != Mode::Hidden && !self.mode.covers_panels() {
            self.current_agent().filter(|agent| agent.is_started()).map(|agent| agent.id.clone())
        } else {
            None
        };
        if self.preview.as_ref().map(|(agent, _)| agent) == wanted.as_ref() {
            return false;
        }
        self.preview = wanted.clone().map(|agent| (agent, Vec::new()));
        self.requests.push(DashboardRequest::Preview(wanted));
        true
    }

    fn on_settled(&mut self, settled: &OpenQuestion) {
        let asker = &settled.asker;
        self.dismissed.remove(&settled.seq);
        if self.drafts.remove(&settled.seq).is_some_and(|draft| draft.sent) {
            self.say(format!("answered {asker}"));
        } else if matches!(&self.mode, Mode::Reply { question, .. } if question.seq == settled.seq) {
            self.say(format!("{asker} was answered elsewhere; Enter sends your answer too, Esc discards it"));
        }
    }

    pub(super) fn say(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: false });
    }

    pub(super) fn alarm(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: true });
    }
}
