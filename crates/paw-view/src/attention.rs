//! Which agents wait for the user, and why.

use jiff::Timestamp;
use paw_core::AgentId;
use serde::Serialize;

use crate::agent::{AgentState, AgentView, CliState, PromptDelivery};
use crate::question::OpenQuestion;
use crate::session::SessionView;

/// What an agent needs from the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    pub agent_id: AgentId,
    pub kind: NeedKind,
    /// The text of the agent or its CLI.
    pub text: String,
    /// Missing if unknown.
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A command or an edit waits for approval.
    Approval,
    /// A question waits for an answer.
    Answer,
    /// The CLI waits for input in its pane.
    Input,
    /// The first prompt of the agent was not delivered.
    Prompt,
    /// The CLI has exited.
    Exited,
    /// Rate-limited by its provider.
    RateLimit,
}

impl SessionView {
    /// Everything that waits for the user, one need per agent, the longest waiting first.
    pub fn needs(&self) -> Vec<Need> {
        // A supervisor needs something even before its first message, for example its prompt.
        let supervisor = AgentId::supervisor();
        let silent = self.supervisor.as_ref().filter(|_| self.find(&supervisor).is_none());
        let silent = silent.map(|_| AgentView::new(supervisor));
        let mut needs: Vec<Need> =
            self.agents.iter().chain(&silent).filter_map(|agent| self.need_of(agent)).collect();
        // Needs without a time come last.
        needs.sort_by_key(|need| (need.since.unwrap_or(Timestamp::MAX), need.kind));
        needs
    }

    /// The questions that still wait. An approval is over once its agent was seen doing something else.
    pub fn open_questions(&self) -> impl Iterator<Item = &OpenQuestion> {
        let is_over = |question: &OpenQuestion| {
            let seen = self.find(&question.asker).and_then(|agent| agent.observed.as_ref());
            seen.is_some_and(|seen| {
                !matches!(seen.state, AgentState::WaitingApproval | AgentState::Unknown)
                    && seen.at > question.at
            })
        };
        self.questions.iter().filter(move |question| !(question.is_approval() && is_over(question)))
    }

    /// What an agent needs most.
    pub fn need_of(&self, agent: &AgentView) -> Option<Need> {
        let need = |kind, text: &str, since| {
            Some(Need { agent_id: agent.id.clone(), kind, text: text.to_owned(), since })
        };
        let seen = agent.observed.as_ref();
        let is = |state| seen.filter(|seen| seen.state == state);
        if let Some(seen) = is(AgentState::WaitingApproval) {
            let text = seen.waits_for.as_deref().unwrap_or(&seen.reason);
            return need(NeedKind::Approval, text, Some(seen.since));
        }
        if let Some(open) = self.open_questions().find(|question| question.asker == agent.id) {
            let kind = if open.is_approval() { NeedKind::Approval } else { NeedKind::Answer };
            return need(kind, &open.text, Some(open.at));
        }
        if let Some(seen) = is(AgentState::WaitingInput) {
            return need(NeedKind::Input, &seen.reason, Some(seen.since));
        }
        let (prompt, process) = match (&agent.member, &self.supervisor) {
            (Some(member), _) => (member.prompt.as_ref(), member.process),
            (None, Some(supervisor)) if agent.is_supervisor() => {
                (Some(&supervisor.prompt), Some(supervisor.state))
            }
            (None, _) => (None, None),
        };
        if let Some(PromptDelivery::Failed { prompt_problem }) = prompt {
            return need(NeedKind::Prompt, prompt_problem, seen.map(|seen| seen.since));
        }
        if let Some(seen) = is(AgentState::Exited) {
            return need(NeedKind::Exited, &seen.reason, Some(seen.since));
        }
        if process == Some(CliState::Ended) {
            return need(NeedKind::Exited, "only a shell is left in its pane", None);
        }
        is(AgentState::RateLimited).and_then(|seen| need(NeedKind::RateLimit, &seen.reason, Some(seen.since)))
    }
}
