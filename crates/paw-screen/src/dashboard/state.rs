//! The view, what the person does with it, and how updates change both. Keys are in `browse`.

use std::collections::{BTreeMap, BTreeSet};

use crossterm::event::KeyEvent;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use paw_core::AgentId;
use paw_view::{AgentView, MessageView, Question, SessionView, ViewEvent};
use ratatui::layout::Rect;

use super::filter::Filter;
use super::input::Input;
use super::layout::{self, Area, Panel, Plan, Want};
use super::look::Look;
use super::select::{Cursor, first_row};
use crate::age;
use crate::text::{Text, wrap};

/// What happens to the dashboard.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Key(KeyEvent),
    Paste(String),
    Resize {
        columns: u16,
        rows: u16,
    },
    Update(Update),
    /// The time of [`State::next_wake`] has come.
    Wake,
}

/// Something that did not come from the keyboard.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    View(ViewEvent),
    /// An answer could not be sent; its question is still open.
    AnswerFailed {
        question: u64,
        reason: Text,
    },
    /// The connection to the broker is lost, and why.
    Lost(Text),
    /// The broker answers again.
    Found,
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Something that can be seen has changed.
    Redraw,
    /// Paint every cell anew: the terminal may show something else.
    Repaint,
    /// Publish an answer.
    Answer(Answer),
    /// Close the view for good.
    Quit,
}

/// What a person answered to which question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The sequence number of the question.
    pub question: u64,
    pub asker: AgentId,
    /// The question, word for word.
    pub quoted: String,
    pub text: String,
}

/// Where the view is at home, which decides what `q` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In the process of the broker: closing the view must not end it.
    Session,
    /// Attached from another terminal: closing the view ends only the view.
    Attached,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub home: Home,
    pub look: Look,
    /// The panel of messages is open from the start.
    pub show_messages: bool,
    /// The most lines that messages take from the other panels. In a column of their own they have all of it.
    pub message_lines: u16,
    /// Times of messages are told in this zone.
    pub zone: TimeZone,
}

/// What the keyboard is for at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    Hidden,
    Help { scroll: usize },
    Detail { subject: Subject, scroll: usize },
    Search { input: Input, before: String },
    Reply { question: Question, input: Input },
}

/// What a detail view is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Agent(AgentId),
    Conflict(String),
    Message(u64),
}

/// An answer that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) text: String,
    /// It was sent, and the view has not seen it yet.
    pub(super) sent: bool,
}

/// A remark at the bottom, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) alarming: bool,
}

#[derive(Debug)]
pub struct State {
    pub(super) options: Options,
    pub(super) size: (u16, u16),
    /// The time of what is on the screen.
    pub(super) now: Timestamp,
    pub(super) view: SessionView,
    pub(super) lost: Option<Text>,
    /// By the number of the question.
    pub(super) drafts: BTreeMap<u64, Draft>,
    /// Questions that the person took off the screen.
    pub(super) dismissed: BTreeSet<u64>,
    pub(super) filter: Filter,
    pub(super) show_messages: bool,
    pub(super) focused: Panel,
    pub(super) agent: Cursor<AgentId>,
    pub(super) conflict: Cursor<String>,
    pub(super) question: Cursor<u64>,
    /// Nothing chosen: the newest one, for ever.
    pub(super) message: Cursor<u64>,
    pub(super) mode: Mode,
    pub(super) notice: Option<Notice>,
}

impl State {
    pub fn new(options: Options, view: SessionView, columns: u16, rows: u16, now: Timestamp) -> Self {
        Self {
            size: (columns, rows),
            now,
            view,
            lost: None,
            drafts: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            filter: Filter::default(),
            show_messages: options.show_messages,
            focused: Panel::Agents,
            agent: Cursor::default(),
            conflict: Cursor::default(),
            question: Cursor::default(),
            message: Cursor::default(),
            mode: Mode::Browse,
            notice: None,
            options,
        }
    }

    /// Takes in what happened and says what to do. Nothing to do means that the screen is right as it is.
    pub fn on_event(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let changed = match event {
            Event::Key(key) => self.on_key(key, &mut effects),
            Event::Paste(raw) => self.on_paste(&raw),
            Event::Resize { columns, rows } => {
                let before = std::mem::replace(&mut self.size, (columns, rows));
                before != self.size
            }
            Event::Update(update) => self.on_update(update) && self.mode != Mode::Hidden,
            Event::Wake => false,
        };
        if changed || self.next_wake().is_some_and(|wake| wake <= now) {
            self.now = now;
            effects.push(Effect::Redraw);
        }
        effects
    }

    /// When a text on the screen changes by itself: the next age that reads differently.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if matches!(self.mode, Mode::Hidden | Mode::Help { .. } | Mode::Detail { .. }) {
            return None;
        }
        let plan = self.plan();
        let ages = plan.panels.iter().flat_map(|area| {
            let room = self.room(*area);
            let seen = |rows: usize, chosen: usize| {
                let first = first_row(chosen, rows, room);
                first..(first + room).min(rows)
            };
            match area.panel {
                Panel::Agents => {
                    let agents = self.agents();
                    let seen = seen(agents.len(), self.chosen(Panel::Agents));
                    agents[seen].iter().filter_map(|agent| agent.last_seen()).collect()
                }
                Panel::Questions => {
                    let questions = self.questions();
                    let seen = seen(questions.len(), self.chosen(Panel::Questions));
                    questions[seen].iter().map(|question| question.at).collect()
                }
                Panel::Conflicts => {
                    let seen = seen(self.view.conflicts.len(), self.chosen(Panel::Conflicts));
                    self.view.conflicts[seen].iter().map(|conflict| conflict.since).collect()
                }
                Panel::Messages => Vec::new(),
            }
        });
        ages.map(|since| age::next_change(since, self.now)).min()
    }

    /// Nothing is shown but that nothing is shown.
    pub fn is_hidden(&self) -> bool {
        self.mode == Mode::Hidden
    }

    fn on_update(&mut self, update: Update) -> bool {
        match update {
            Update::View(event) => {
                let changes = self.view.apply(event);
                for question in &changes.settled {
                    self.on_settled(question);
                }
                changes.changed
            }
            Update::AnswerFailed { question, reason } => {
                if let Some(draft) = self.drafts.get_mut(&question) {
                    draft.sent = false;
                }
                self.alarm(format!("answer not sent: {reason}"));
                true
            }
            Update::Lost(reason) => {
                let before = self.lost.replace(reason);
                before != self.lost
            }
            Update::Found => self.lost.take().is_some(),
        }
    }

    fn on_settled(&mut self, settled: &Question) {
        let asker = &settled.asker;
        self.dismissed.remove(&settled.seq);
        if self.drafts.remove(&settled.seq).is_some_and(|draft| draft.sent) {
            self.say(format!("answered {asker}"));
        } else if matches!(&self.mode, Mode::Reply { question, .. } if question.seq == settled.seq) {
            self.say(format!("{asker} was answered elsewhere; Enter sends yours too, Esc drops it"));
        }
    }

    /// The agents on the screen: the supervisor first, then by name.
    pub(super) fn agents(&self) -> Vec<&AgentView> {
        let mut agents: Vec<_> = self.view.listed().collect();
        agents.sort_by_key(|agent| (!agent.is_supervisor(), &agent.id));
        agents
    }

    /// The open questions on the screen, oldest first.
    pub(super) fn questions(&self) -> Vec<&Question> {
        self.view.questions.iter().filter(|question| !self.dismissed.contains(&question.seq)).collect()
    }

    pub(super) fn say(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: false });
    }

    pub(super) fn alarm(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: true });
    }

    /// The messages that pass the filter, oldest first.
    pub(super) fn shown(&self) -> Vec<&MessageView> {
        self.view.messages.iter().filter(|message| self.filter.shows(message)).collect()
    }

    /// The panels on the screen, in order.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let mut panels = vec![Panel::Agents];
        panels.extend((!self.questions().is_empty()).then_some(Panel::Questions));
        panels.extend((!self.view.conflicts.is_empty()).then_some(Panel::Conflicts));
        panels.extend(self.show_messages.then_some(Panel::Messages));
        panels
    }

    /// The panel that keys move in; a panel that went away gives the keys back.
    pub(super) fn focus(&self) -> Panel {
        if self.panels().contains(&self.focused) { self.focused } else { Panel::Agents }
    }

    pub(super) fn count(&self, panel: Panel) -> usize {
        match panel {
            Panel::Agents => self.agents().len(),
            Panel::Questions => self.questions().len(),
            Panel::Conflicts => self.view.conflicts.len(),
            Panel::Messages => self.shown().len(),
        }
    }

    /// The chosen row of a panel.
    pub(super) fn chosen(&self, panel: Panel) -> usize {
        match panel {
            Panel::Agents => self.agent.place(self.agents().iter().map(|agent| agent.id.clone())),
            Panel::Questions => self.question.place(self.questions().iter().map(|question| question.seq)),
            Panel::Conflicts => {
                self.conflict.place(self.view.conflicts.iter().map(|conflict| conflict.key.clone()))
            }
            Panel::Messages => {
                let shown = self.shown();
                let newest = shown.len().saturating_sub(1);
                if self.message.is_put() {
                    self.message.place(shown.iter().map(|message| message.seq))
                } else {
                    newest
                }
            }
        }
    }

    /// Who gets which part of the screen at the moment.
    pub(super) fn plan(&self) -> Plan {
        let screen = Rect::new(0, 0, self.size.0, self.size.1);
        let rows = |panel| match panel {
            // One more for the names of the columns, or to say that there are no agents.
            Panel::Agents => self.agents().len() + 1,
            Panel::Questions => self.questions().len(),
            Panel::Conflicts => self.view.conflicts.len(),
            Panel::Messages => usize::from(self.options.message_lines.max(1)),
        };
        let want = |panel| Want { panel, rows: u16::try_from(rows(panel)).unwrap_or(u16::MAX) };
        let wants: Vec<_> = self.panels().into_iter().map(want).collect();
        layout::plan(screen, &wants, self.focus(), self.reply_rows())
    }

    /// The table of agents names its columns when no agent has to make way for that.
    pub(super) fn names_columns(&self, height: u16) -> bool {
        let agents = self.view.listed().count();
        agents > 0 && (usize::from(height) > agents || height >= 6)
    }

    /// The types of messages are listed when enough messages stay in sight.
    pub(super) fn names_kinds(height: u16) -> bool {
        height >= 5
    }

    /// Lines of an area that hold things to choose from.
    pub(super) fn room(&self, area: Area) -> usize {
        let height = area.rows.height;
        let taken = match area.panel {
            Panel::Agents => self.names_columns(height),
            Panel::Messages => Self::names_kinds(height),
            Panel::Questions | Panel::Conflicts => false,
        };
        usize::from(height.saturating_sub(u16::from(taken)))
    }

    /// Lines for writing an answer: a title, the question, the line itself.
    fn reply_rows(&self) -> u16 {
        let Mode::Reply { question, .. } = &self.mode else { return 0 };
        let asked = Text::line(&question.text);
        let lines = wrap(asked.as_str(), usize::from(self.size.0.saturating_sub(2))).len();
        u16::try_from(lines.min(6)).unwrap_or(6) + 2
    }
}
