//! The rows of the panel "needs you": what agents wait for, the oldest first.

use jiff::Timestamp;
use paw_core::AgentId;
use paw_view::{NeedKind, OpenQuestion};

use super::state::DashboardState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NeedRow {
    pub(super) agent: AgentId,
    pub(super) kind: NeedKind,
    pub(super) text: String,
    pub(super) since: Option<Timestamp>,
    /// A question that is answered with a text.
    pub(super) question: Option<OpenQuestion>,
}

/// Identifies a row while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NeedKey {
    Question(u64),
    Agent(AgentId),
}

impl NeedRow {
    pub(super) fn key(&self) -> NeedKey {
        match &self.question {
            Some(question) => NeedKey::Question(question.seq),
            None => NeedKey::Agent(self.agent.clone()),
        }
    }

    /// What to do about it.
    pub(super) fn verb(&self) -> &'static str {
        match self.kind {
            NeedKind::Approval => "approve",
            NeedKind::Answer => "answer",
            NeedKind::Input => "type",
            NeedKind::Prompt => "prompt",
            NeedKind::Exited => "exited",
            NeedKind::RateLimit => "limited",
        }
    }
}

impl DashboardState {
    /// Everything that waits for the user, except questions that were dismissed.
    pub(super) fn needs(&self) -> Vec<NeedRow> {
        let others = self.view.needs().into_iter().filter(|need| need.kind != NeedKind::Answer);
        let others = others.map(|need| NeedRow {
            agent: need.agent_id,
            kind: need.kind,
            text: need.text,
            since: need.since,
            question: None,
        });
        let questions = self.questions().into_iter().map(|question| NeedRow {
            agent: question.asker.clone(),
            kind: NeedKind::Answer,
            text: question.text.clone(),
            since: Some(question.at),
            question: Some(question.clone()),
        });
        let mut rows: Vec<NeedRow> = others.chain(questions).collect();
        rows.sort_by_key(|row| (row.since.unwrap_or(Timestamp::MAX), row.kind));
        rows
    }

    /// The open questions that are answered with a text and were not dismissed, oldest first.
    pub(super) fn questions(&self) -> Vec<&OpenQuestion> {
        let shown =
            |question: &&OpenQuestion| !question.is_approval() && !self.dismissed.contains(&question.seq);
        self.view.open_questions().filter(shown).collect()
    }
}
