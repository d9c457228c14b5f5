//! The keys of the dashboard.

mod act;
mod text;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use paw_view::{MessageKind, NeedKind};

use super::draw::overlay;
use super::event::{DashboardEffect, DashboardHost};
use super::filter::{Filter, kind_of_key};
use super::layout::Panel;
use super::need::NeedRow;
use super::scroll::{moved, scrolled};
use super::state::{DashboardState, DetailSubject, Mode};
use crate::line_input::LineInput;

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
                Mode::Output { title, lines, scroll } => self.on_overlay_key(key, scroll, |scroll| {
                    Mode::Output { title: title.clone(), lines: lines.clone(), scroll }
                }),
                Mode::Search { input, before } => self.on_search_key(key, input, before),
                Mode::Reply { question, input } => self.on_reply_key(key, question, input),
                Mode::Tell { agent, input } => self.on_tell_key(key, agent, input),
                Mode::Confirm { job } => self.on_confirm_key(key, job),
                Mode::Prompt(view) => self.on_prompt_key(key, view, effects),
                Mode::Changes(view) => self.on_changes_key(key, view),
            },
        };
        changed || noticed
    }

    pub(super) fn on_paste(&mut self, raw: &str) -> bool {
        match &mut self.mode {
            Mode::Reply { input, .. } | Mode::Tell { input, .. } => input.insert(raw),
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
            KeyCode::Esc => {
                let open = self.filter.is_open() && !self.message.is_set();
                self.open_filter();
                return !open;
            }
            KeyCode::Char('l') => self.show_messages = !self.show_messages,
            KeyCode::Char('p') => self.wants_preview = Some(!self.shows_preview()),
            KeyCode::Char('o') => return self.filter_by_selected_agent(),
            KeyCode::Char('i') => return self.open_details(),
            KeyCode::Char('n') => self.select_next_need(),
            KeyCode::Char('a' | 'd') => self.show_prompt(),
            KeyCode::Char('r') => self.reply_to_fitting(),
            KeyCode::Char('x') => return self.dismiss(),
            KeyCode::Char(letter @ ('c' | 't' | 'v' | 'm' | 'P' | 'X')) => self.act(letter),
            KeyCode::Char(digit @ '0'..='9') => {
                self.filter.toggle(kind_of_key(digit).unwrap_or(MessageKind::Status));
                self.show_messages = true;
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(self.panels().len() - 1),
            KeyCode::Enter => return self.open(effects),
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
            Panel::Needs => {
                let key = self.needs().get(index).map(NeedRow::key);
                self.need.set(index, key);
            }
            Panel::Conflicts => {
                let groups = self.view.conflict_groups();
                let key = groups.get(index).map(|group| group.key().to_owned());
                self.conflict.set(index, key);
            }
            Panel::Preview => {}
            Panel::Messages => {
                let shown = self.shown();
                let newest = index + 1 >= shown.len();
                let key = shown.get(index).map(|message| message.seq).filter(|_| !newest);
                self.message.set(index, key);
            }
        }
    }

    /// Goes to the selected agent, or opens what is selected.
    fn open(&mut self, effects: &mut Vec<DashboardEffect>) -> bool {
        let index = self.selected(self.focus());
        match self.focus() {
            Panel::Agents | Panel::Preview => self.jump(effects),
            Panel::Needs => match self.needs().into_iter().nth(index) {
                Some(NeedRow { question: Some(question), .. }) => self.reply(question),
                Some(NeedRow { kind: NeedKind::Approval, agent, .. }) => self.open_prompt(agent),
                Some(row) => self.jump_to(row.agent, effects),
                None => return false,
            },
            Panel::Conflicts | Panel::Messages => return self.open_details(),
        }
        true
    }

    fn open_details(&mut self) -> bool {
        let index = self.selected(self.focus());
        let subject = match self.focus() {
            Panel::Conflicts => self
                .view
                .conflict_groups()
                .get(index)
                .map(|group| DetailSubject::Conflict(group.key().to_owned())),
            Panel::Messages => self.shown().get(index).map(|message| DetailSubject::Message(message.seq)),
            Panel::Agents | Panel::Needs | Panel::Preview => {
                self.current_agent().map(|agent| DetailSubject::Agent(agent.id.clone()))
            }
        };
        let Some(subject) = subject else { return false };
        self.mode = Mode::Detail { subject, scroll: 0 };
        true
    }

    /// Selects the agent that has waited longest, or the next one after the selected one.
    fn select_next_need(&mut self) {
        let needs = self.needs();
        if needs.is_empty() {
            self.say("no agent waits for you".to_owned());
            return;
        }
        let next = if self.focus() == Panel::Needs { self.selected(Panel::Needs) + 1 } else { 0 };
        self.focused = Panel::Needs;
        self.select(Panel::Needs, next % needs.len());
    }

    fn filter_by_selected_agent(&mut self) -> bool {
        let Some(selected) = self.current_agent().map(|agent| agent.id.clone()) else { return false };
        let again = self.filter.agent() == Some(&selected);
        self.filter.only((!again).then_some(selected));
        self.show_messages = true;
        true
    }

    /// Hides a question on this screen.
    fn dismiss(&mut self) -> bool {
        let index = self.selected(Panel::Needs);
        let row = self.needs().into_iter().nth(index).filter(|_| self.focus() == Panel::Needs);
        match row {
            Some(NeedRow { question: Some(question), .. }) => {
                self.dismissed.insert(question.seq);
                self.say(format!("dismissed on this screen; {} was not notified", question.asker));
            }
            Some(row) => self.say(format!("{} still waits; only questions can be dismissed", row.agent)),
            None => return false,
        }
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
        self.mode = Mode::Detail { subject: subject.clone(), scroll };
        self.reply_to(subject);
        true
    }
}
