//! Keys while a text is written: a search, an answer, an instruction.

use crossterm::event::{KeyCode, KeyEvent};
use paw_core::AgentId;
use paw_view::{MessageKind, OpenQuestion};

use crate::dashboard::event::{AgentAction, DashboardRequest, OperatorAnswer};
use crate::dashboard::layout::Panel;
use crate::dashboard::state::{AnswerDraft, DashboardState, DetailSubject, Mode};
use crate::line_input::LineInput;

impl DashboardState {
    pub(super) fn on_search_key(&mut self, key: KeyEvent, mut input: LineInput, before: String) -> bool {
        match key.code {
            KeyCode::Enter => {
                self.focused = Panel::Messages;
                true
            }
            KeyCode::Esc => {
                self.filter.search_for(&before);
                true
            }
            _ => {
                let meant = input.on_key(key);
                self.filter.search_for(input.text());
                self.mode = Mode::Search { input, before };
                meant
            }
        }
    }

    pub(super) fn on_reply_key(
        &mut self,
        key: KeyEvent,
        question: OpenQuestion,
        mut input: LineInput,
    ) -> bool {
        match key.code {
            KeyCode::Esc => self.keep_draft(question.seq, input.text(), false),
            KeyCode::Enter if input.text().trim().is_empty() => {
                self.say("the answer is empty; Esc goes back".to_owned());
                self.mode = Mode::Reply { question, input };
            }
            KeyCode::Enter => {
                let text = input.text().trim().to_owned();
                self.keep_draft(question.seq, &text, true);
                self.say(format!("sending to {} …", question.asker));
                self.requests.push(DashboardRequest::Answer(OperatorAnswer {
                    question: question.seq,
                    asker: question.asker,
                    quoted: question.text,
                    text,
                }));
            }
            _ => {
                let meant = input.on_key(key);
                self.mode = Mode::Reply { question, input };
                return meant;
            }
        }
        true
    }

    pub(super) fn on_tell_key(&mut self, key: KeyEvent, agent: AgentId, mut input: LineInput) -> bool {
        match key.code {
            KeyCode::Esc => {}
            KeyCode::Enter if input.text().trim().is_empty() => {
                self.say("the text is empty; Esc goes back".to_owned());
                self.mode = Mode::Tell { agent, input };
            }
            KeyCode::Enter => {
                let job = self.job(AgentAction::Tell(input.text().trim().to_owned()), &agent);
                self.run(job);
            }
            _ => {
                let meant = input.on_key(key);
                self.mode = Mode::Tell { agent, input };
                return meant;
            }
        }
        true
    }

    /// Answers the selected question, else the selected agent's, else the oldest. An approval is not answered with a text:
    /// its prompt is shown.
    pub(super) fn reply_to_fitting(&mut self) {
        let row = self
            .needs()
            .into_iter()
            .nth(self.selected(Panel::Needs))
            .filter(|_| self.focus() == Panel::Needs);
        let fitting = row.and_then(|row| row.question).or_else(|| {
            let agent = self.current_agent()?;
            self.questions().into_iter().find(|question| question.asker == agent.id).cloned()
        });
        if fitting.is_none() && self.is_at_prompt() {
            return self.show_prompt();
        }
        match fitting.or_else(|| self.questions().first().copied().cloned()) {
            Some(question) => self.reply(question),
            None => self.say("no agent is waiting for an answer".to_owned()),
        }
    }

    /// Answers the question that a detail view shows. An answered question can be answered again.
    pub(super) fn reply_to(&mut self, subject: &DetailSubject) {
        let asked = match subject {
            DetailSubject::Agent(id) => {
                self.questions().into_iter().find(|question| question.asker == *id).cloned()
            }
            DetailSubject::Message(seq) => {
                let message = self.view.messages.iter().find(|message| message.seq == *seq);
                let message = message.filter(|message| message.kind == MessageKind::Question);
                message.map(|message| OpenQuestion {
                    seq: *seq,
                    at: message.at,
                    asker: message.from.clone(),
                    text: message.text.clone(),
                })
            }
            DetailSubject::Conflict(_) => None,
        };
        match asked {
            Some(question) if question.is_approval() => self.open_prompt(question.asker),
            Some(question) => self.reply(question),
            None => self.say("no open question here".to_owned()),
        }
    }

    pub(super) fn reply(&mut self, question: OpenQuestion) {
        let draft = self.drafts.get(&question.seq).map(|draft| draft.text.as_str());
        let input = LineInput::of(draft.unwrap_or_default());
        self.mode = Mode::Reply { question, input };
    }

    /// Keeps the text for when the user returns to the question, or if it could not be sent.
    fn keep_draft(&mut self, question: u64, text: &str, sent: bool) {
        let is_open = |seq: &u64| self.view.questions.iter().any(|open| open.seq == *seq);
        self.drafts.retain(|seq, _| is_open(seq));
        if is_open(&question) {
            self.drafts.insert(question, AnswerDraft { text: text.to_owned(), sent });
        }
    }
}
