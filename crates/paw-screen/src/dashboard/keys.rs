//! The keys of the dashboard.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use paw_core::AgentId;
use paw_view::{MessageKind, OpenQuestion};

use super::draw::overlay;
use super::filter::{Filter, kind_of_key};
use super::input::LineInput;
use super::layout::Panel;
use super::state::{
    AnswerDraft, DashboardEffect, DashboardHost, DashboardState, DetailSubject, Mode, OperatorAnswer,
};

impl DashboardState {
    /// Handles a key. Returns whether the screen has changed.
    pub(super) fn on_key(&mut self, key: KeyEvent, effects: &mut Vec<DashboardEffect>) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let noticed = self.mode != Mode::Hidden && self.notice.take().is_some();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let changed = match key.code {
            KeyCode::Char('l') if control => {
                effects.push(DashboardEffect::Repaint);
                true
            }
            KeyCode::Char('c') if control && self.mode != Mode::Hidden => self.close(effects),
            _ => match std::mem::replace(&mut self.mode, Mode::Browse) {
                Mode::Browse => self.on_browse_key(key, effects),
                // The key that shows the view again has no other effect.
                Mode::Hidden => true,
                Mode::Help { scroll } => self.on_overlay_key(key, scroll, |scroll| Mode::Help { scroll }),
                Mode::Detail { subject, scroll } => self.on_detail_key(key, &subject, scroll),
                Mode::Search { input, before } => self.on_search_key(key, input, before),
                Mode::Reply { question, input } => self.on_reply_key(key, question, input, effects),
            },
        };
        changed || noticed
    }

    pub(super) fn on_paste(&mut self, raw: &str) -> bool {
        match &mut self.mode {
            Mode::Reply { input, .. } => input.insert(raw),
            Mode::Search { input, .. } => {
                input.insert(raw);
                let text = input.text().to_owned();
                self.filter.search_for(&text);
            }
            _ => return false,
        }
        true
    }

    fn close(&mut self, effects: &mut Vec<DashboardEffect>) -> bool {
        match self.options.host {
            DashboardHost::Session => {
                self.mode = Mode::Hidden;
                true
            }
            DashboardHost::Attached => {
                effects.push(DashboardEffect::Quit);
                false
            }
        }
    }

    fn on_browse_key(&mut self, key: KeyEvent, effects: &mut Vec<DashboardEffect>) -> bool {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return false;
        }
        match key.code {
            KeyCode::Char('q') => return self.close(effects),
            KeyCode::Char('?') => self.mode = Mode::Help { scroll: 0 },
            KeyCode::Char('/') => {
                self.show_messages = true;
                let before = self.filter.search().to_owned();
                self.mode = Mode::Search { input: LineInput::of(&before), before };
            }
            KeyCode::Char('a') => self.open_filter(),
            KeyCode::Esc => {
                let open = self.filter.is_open() && !self.message.is_set();
                self.open_filter();
                return !open;
            }
            KeyCode::Char('l') => self.show_messages = !self.show_messages,
            KeyCode::Char('o') => return self.filter_by_selected_agent(),
            KeyCode::Char('r') => return self.reply_to_fitting(),
            KeyCode::Char('d') => return self.dismiss(),
            KeyCode::Char(digit @ '0'..='9') => {
                self.filter.toggle(kind_of_key(digit).unwrap_or(MessageKind::Status));
                self.show_messages = true;
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(self.panels().len() - 1),
            KeyCode::Enter => return self.open(),
            _ => return self.move_selection(key.code),
        }
        true
    }

    fn open_filter(&mut self) {
        self.filter = Filter::default();
        self.message.set(0, None);
    }

    fn turn(&mut self, by: usize) {
        let panels = self.panels();
        let index = panels.iter().position(|panel| *panel == self.focus()).unwrap_or(0);
        self.focused = panels[(index + by) % panels.len()];
    }

    fn move_selection(&mut self, code: KeyCode) -> bool {
        let panel = self.focus();
        let rows = self.count(panel);
        let page =
            self.plan().panels.into_iter().find(|area| area.panel == panel).map_or(1, |area| self.room(area));
        let Some(index) = moved(self.selected(panel), rows, page, code) else { return false };
        self.select(panel, index);
        true
    }

    fn select(&mut self, panel: Panel, index: usize) {
        match panel {
            Panel::Agents => {
                let key = self.agents().get(index).map(|agent| agent.id.clone());
                self.agent.set(index, key);
            }
            Panel::Questions => {
                let key = self.questions().get(index).map(|question| question.seq);
                self.question.set(index, key);
            }
            Panel::Conflicts => {
                let key = self.view.conflicts.get(index).map(|conflict| conflict.key.clone());
                self.conflict.set(index, key);
            }
            Panel::Messages => {
                let shown = self.shown();
                let newest = index + 1 >= shown.len();
                let key = shown.get(index).map(|message| message.seq).filter(|_| !newest);
                self.message.set(index, key);
            }
        }
    }

    fn open(&mut self) -> bool {
        let panel = self.focus();
        let index = self.selected(panel);
        let subject = match panel {
            Panel::Agents => self.agents().get(index).map(|agent| DetailSubject::Agent(agent.id.clone())),
            Panel::Conflicts => {
                self.view.conflicts.get(index).map(|conflict| DetailSubject::Conflict(conflict.key.clone()))
            }
            Panel::Messages => self.shown().get(index).map(|message| DetailSubject::Message(message.seq)),
            Panel::Questions => {
                let question = self.questions().get(index).copied().cloned();
                return question.is_some_and(|question| self.reply(question));
            }
        };
        let Some(subject) = subject else { return false };
        self.mode = Mode::Detail { subject, scroll: 0 };
        true
    }

    fn filter_by_selected_agent(&mut self) -> bool {
        let selected = match self.focus() {
            Panel::Agents => self.agents().get(self.selected(Panel::Agents)).map(|agent| agent.id.clone()),
            Panel::Messages => {
                self.shown().get(self.selected(Panel::Messages)).map(|message| message.from.clone())
            }
            Panel::Questions | Panel::Conflicts => None,
        };
        let Some(selected) = selected else { return false };
        let again = self.filter.agent() == Some(&selected);
        self.filter.only((!again).then_some(selected));
        self.show_messages = true;
        true
    }

    /// Answers the selected question, else the selected agent's, else the oldest.
    fn reply_to_fitting(&mut self) -> bool {
        let index = self.selected(self.focus());
        let questions = self.questions();
        let fitting = match self.focus() {
            Panel::Questions => questions.get(index).copied(),
            Panel::Agents => self.agents().get(index).and_then(|agent| self.oldest_of(&agent.id)),
            Panel::Messages => {
                let seq = self.shown().get(index).map(|message| message.seq);
                questions.iter().find(|question| Some(question.seq) == seq).copied()
            }
            Panel::Conflicts => None,
        };
        if let Some(question) = fitting.or(questions.first().copied()).cloned() {
            return self.reply(question);
        }
        self.say("no agent is waiting for an answer".to_owned());
        true
    }

    fn oldest_of(&self, asker: &AgentId) -> Option<&OpenQuestion> {
        self.questions().into_iter().find(|question| question.asker == *asker)
    }

    fn reply(&mut self, question: OpenQuestion) -> bool {
        let draft = self.drafts.get(&question.seq).map(|draft| draft.text.as_str());
        let input = LineInput::of(draft.unwrap_or_default());
        self.mode = Mode::Reply { question, input };
        true
    }

    /// Keeps the text for when the user returns to the question, or if it could not be sent.
    fn keep_draft(&mut self, question: u64, text: &str, sent: bool) {
        let is_open = |seq: &u64| self.view.questions.iter().any(|open| open.seq == *seq);
        self.drafts.retain(|seq, _| is_open(seq));
        if is_open(&question) {
            self.drafts.insert(question, AnswerDraft { text: text.to_owned(), sent });
        }
    }

    fn dismiss(&mut self) -> bool {
        if self.focus() != Panel::Questions {
            return false;
        }
        let questions = self.questions();
        let Some(dismissed) = questions.get(self.selected(Panel::Questions)).copied().cloned() else {
            return false;
        };
        self.dismissed.insert(dismissed.seq);
        self.say(format!("dismissed on this screen; {} was not notified", dismissed.asker));
        true
    }

    fn on_overlay_key(&mut self, key: KeyEvent, scroll: usize, mode: impl Fn(usize) -> Mode) -> bool {
        match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') => true,
            code => {
                self.mode = mode(scroll);
                let (rows, room) = overlay::extent(self);
                // The scroll position is the first line, so it ends at the last page.
                let Some(scroll) = scrolled(scroll, rows, room, code) else { return false };
                self.mode = mode(scroll);
                true
            }
        }
    }

    fn on_detail_key(&mut self, key: KeyEvent, subject: &DetailSubject, scroll: usize) -> bool {
        let KeyCode::Char('r') = key.code else {
            return self
                .on_overlay_key(key, scroll, |scroll| Mode::Detail { subject: subject.clone(), scroll });
        };
        let about = match subject {
            DetailSubject::Agent(id) => self.oldest_of(id).cloned(),
            DetailSubject::Message(seq) => {
                self.questions().into_iter().find(|open| open.seq == *seq).cloned()
            }
            DetailSubject::Conflict(_) => None,
        };
        if let Some(question) = about.or_else(|| self.asked_again(subject)) {
            return self.reply(question);
        }
        self.mode = Mode::Detail { subject: subject.clone(), scroll };
        self.say("no open question here".to_owned());
        true
    }

    /// An answered question can be answered again from its message.
    fn asked_again(&self, subject: &DetailSubject) -> Option<OpenQuestion> {
        let DetailSubject::Message(seq) = subject else { return None };
        let message = self.view.messages.iter().find(|message| message.seq == *seq)?;
        let is_question = message.kind == MessageKind::Question;
        is_question.then(|| OpenQuestion {
            seq: *seq,
            at: message.at,
            asker: message.from.clone(),
            text: message.text.clone(),
        })
    }

    fn on_search_key(&mut self, key: KeyEvent, mut input: LineInput, before: String) -> bool {
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

    fn on_reply_key(
        &mut self,
        key: KeyEvent,
        question: OpenQuestion,
        mut input: LineInput,
        effects: &mut Vec<DashboardEffect>,
    ) -> bool {
        match key.code {
            KeyCode::Esc => {
                self.keep_draft(question.seq, input.text(), false);
                true
            }
            KeyCode::Enter if input.text().trim().is_empty() => {
                self.say("the answer is empty; Esc goes back".to_owned());
                self.mode = Mode::Reply { question, input };
                true
            }
            KeyCode::Enter => {
                let text = input.text().trim().to_owned();
                self.keep_draft(question.seq, &text, true);
                self.say(format!("sending to {} …", question.asker));
                effects.push(DashboardEffect::Answer(OperatorAnswer {
                    question: question.seq,
                    asker: question.asker,
                    quoted: question.text,
                    text,
                }));
                true
            }
            _ => {
                let meant = input.on_key(key);
                self.mode = Mode::Reply { question, input };
                meant
            }
        }
    }
}

/// The row to which a key moves the selection, or `None` for other keys.
fn moved(from: usize, rows: usize, page: usize, code: KeyCode) -> Option<usize> {
    let last = rows.saturating_sub(1);
    let page = page.max(2) - 1;
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (from + 1).min(last),
        KeyCode::PageUp => from.saturating_sub(page),
        KeyCode::PageDown | KeyCode::Char(' ') => (from + page).min(last),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    })
}

fn scrolled(scroll: usize, rows: usize, room: usize, code: KeyCode) -> Option<usize> {
    let end = rows.saturating_sub(room);
    moved(scroll.min(end), end + 1, room, code)
}
