//! The state of the dashboard, and how updates change it. `keys` handles keys.

use std::collections::{BTreeMap, BTreeSet};

use crossterm::event::KeyEvent;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_view::{AgentView, MessageView, OpenQuestion, SessionView, ViewEvent};
use ratatui::layout::Rect;

use super::filter::Filter;
use super::input::LineInput;
use super::layout::{self, Panel, PanelArea, PanelRequest, ScreenLayout};
use super::selection::{Selection, first_row};
use super::theme::Theme;
use crate::age;
use crate::text::{Text, wrap};

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
    /// The time of [`DashboardState::next_wake`] has come.
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
}

/// An output of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DashboardEffect {
    /// The screen has changed.
    Redraw,
    /// Clear the terminal and draw every cell, because other output may have overwritten it.
    Repaint,
    /// Publish an answer.
    Answer(OperatorAnswer),
    /// Close the dashboard.
    Quit,
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

/// The shortest time between two changes of ages in minutes.
const MINUTES_TOGETHER: SignedDuration = SignedDuration::from_secs(10);

/// Where the dashboard is shown, which decides what `q` does.
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

/// What the dashboard shows and how it handles keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    Hidden,
    Help { scroll: usize },
    Detail { subject: DetailSubject, scroll: usize },
    Search { input: LineInput, before: String },
    Reply { question: OpenQuestion, input: LineInput },
}

/// The subject of the detail view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DetailSubject {
    Agent(AgentId),
    Conflict(String),
    Message(u64),
}

/// An answer that was not published yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AnswerDraft {
    pub(super) text: String,
    /// The answer was sent, but the view does not contain it yet.
    pub(super) sent: bool,
}

/// A message at the bottom, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) alarming: bool,
}

#[derive(Debug)]
pub struct DashboardState {
    pub(super) options: DashboardOptions,
    pub(super) size: (u16, u16),
    /// The time for which ages are displayed.
    pub(super) now: Timestamp,
    pub(super) view: SessionView,
    pub(super) disconnected: Option<Text>,
    /// By the sequence number of the question.
    pub(super) drafts: BTreeMap<u64, AnswerDraft>,
    /// Questions that the user dismissed.
    pub(super) dismissed: BTreeSet<u64>,
    pub(super) filter: Filter,
    pub(super) show_messages: bool,
    pub(super) focused: Panel,
    pub(super) agent: Selection<AgentId>,
    pub(super) conflict: Selection<String>,
    pub(super) question: Selection<u64>,
    /// If nothing is selected, the newest message stays visible.
    pub(super) message: Selection<u64>,
    pub(super) mode: Mode,
    pub(super) notice: Option<Notice>,
}

impl DashboardState {
    pub fn new(
        options: DashboardOptions,
        view: SessionView,
        columns: u16,
        rows: u16,
        now: Timestamp,
    ) -> Self {
        Self {
            size: (columns, rows),
            now,
            view,
            disconnected: None,
            drafts: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            filter: Filter::default(),
            show_messages: options.show_messages,
            focused: Panel::Agents,
            agent: Selection::default(),
            conflict: Selection::default(),
            question: Selection::default(),
            message: Selection::default(),
            mode: Mode::Browse,
            notice: None,
            options,
        }
    }

    /// Applies an event and returns its effects. No effects means that the screen is up to date.
    pub fn on_event(&mut self, event: DashboardEvent, now: Timestamp) -> Vec<DashboardEffect> {
        let mut effects = Vec::new();
        let changed = match event {
            DashboardEvent::Key(key) => self.on_key(key, &mut effects),
            DashboardEvent::Paste(raw) => self.on_paste(&raw),
            DashboardEvent::Resize { columns, rows } => {
                let before = std::mem::replace(&mut self.size, (columns, rows));
                before != self.size
            }
            DashboardEvent::Update(update) => self.on_update(update) && self.mode != Mode::Hidden,
            DashboardEvent::Wake => false,
        };
        if changed || self.next_wake().is_some_and(|wake| wake <= now) {
            self.now = now;
            effects.push(DashboardEffect::Redraw);
        }
        effects
    }

    /// When a visible age changes next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if matches!(self.mode, Mode::Hidden | Mode::Help { .. } | Mode::Detail { .. }) {
            return None;
        }
        let plan = self.plan();
        let ages = plan.panels.iter().flat_map(|area| {
            let room = self.room(*area);
            let seen = |rows: usize, selected: usize| {
                let first = first_row(selected, rows, room);
                first..(first + room).min(rows)
            };
            match area.panel {
                Panel::Agents => {
                    let agents = self.agents();
                    let seen = seen(agents.len(), self.selected(Panel::Agents));
                    agents[seen].iter().filter_map(|agent| agent.last_seen()).collect()
                }
                Panel::Questions => {
                    let questions = self.questions();
                    let seen = seen(questions.len(), self.selected(Panel::Questions));
                    questions[seen].iter().map(|question| question.at).collect()
                }
                Panel::Conflicts => {
                    let seen = seen(self.view.conflicts.len(), self.selected(Panel::Conflicts));
                    self.view.conflicts[seen].iter().map(|conflict| conflict.since).collect()
                }
                Panel::Messages => Vec::new(),
            }
        });
        let ages: Vec<Timestamp> = ages.collect();
        let next = ages.iter().map(|since| age::next_change(*since, self.now)).min()?;
        let shows_seconds = ages.iter().any(|since| self.now.duration_since(*since).as_mins() == 0);
        // Minutes of many agents end at different times; the screen is not drawn again for each of them.
        let soonest = self.now.saturating_add(MINUTES_TOGETHER).unwrap_or(next);
        Some(if shows_seconds { next } else { next.max(soonest) })
    }

    /// Whether the view is hidden.
    pub fn is_hidden(&self) -> bool {
        self.mode == Mode::Hidden
    }

    fn on_update(&mut self, update: DashboardUpdate) -> bool {
        match update {
            DashboardUpdate::View(event) => {
                let changes = self.view.apply(event);
                for question in &changes.settled {
                    self.on_settled(question);
                }
                changes.changed
            }
            DashboardUpdate::AnswerFailed { question, reason } => {
                if let Some(draft) = self.drafts.get_mut(&question) {
                    draft.sent = false;
                }
                self.alarm(format!("answer not sent: {reason}"));
                true
            }
            DashboardUpdate::Disconnected(reason) => {
                let before = self.disconnected.replace(reason);
                before != self.disconnected
            }
            DashboardUpdate::Connected => self.disconnected.take().is_some(),
        }
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

    /// The listed agents: the supervisor first, then by name.
    pub(super) fn agents(&self) -> Vec<&AgentView> {
        let mut agents: Vec<_> = self.view.listed().collect();
        agents.sort_by_key(|agent| (!agent.is_supervisor(), &agent.id));
        agents
    }

    /// The open questions that were not dismissed, oldest first.
    pub(super) fn questions(&self) -> Vec<&OpenQuestion> {
        self.view.questions.iter().filter(|question| !self.dismissed.contains(&question.seq)).collect()
    }

    pub(super) fn say(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: false });
    }

    pub(super) fn alarm(&mut self, text: String) {
        self.notice = Some(Notice { text, alarming: true });
    }

    /// The messages that match the filter, oldest first.
    pub(super) fn shown(&self) -> Vec<&MessageView> {
        self.view.messages.iter().filter(|message| self.filter.shows(message)).collect()
    }

    /// The visible panels, in order.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let mut panels = vec![Panel::Agents];
        panels.extend((!self.questions().is_empty()).then_some(Panel::Questions));
        panels.extend((!self.view.conflicts.is_empty()).then_some(Panel::Conflicts));
        panels.extend(self.show_messages.then_some(Panel::Messages));
        panels
    }

    /// The focused panel, or the agents if that panel is no longer visible.
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

    /// The selected row of a panel.
    pub(super) fn selected(&self, panel: Panel) -> usize {
        match panel {
            Panel::Agents => self.agent.index(self.agents().iter().map(|agent| agent.id.clone())),
            Panel::Questions => self.question.index(self.questions().iter().map(|question| question.seq)),
            Panel::Conflicts => {
                self.conflict.index(self.view.conflicts.iter().map(|conflict| conflict.key.clone()))
            }
            Panel::Messages => {
                let shown = self.shown();
                let newest = shown.len().saturating_sub(1);
                if self.message.is_set() {
                    self.message.index(shown.iter().map(|message| message.seq))
                } else {
                    newest
                }
            }
        }
    }

    /// The current layout of the screen.
    pub(super) fn plan(&self) -> ScreenLayout {
        let screen = Rect::new(0, 0, self.size.0, self.size.1);
        let rows = |panel| match panel {
            // One more for the column names, or for the text that there are no agents.
            Panel::Agents => self.agents().len() + 1,
            Panel::Questions => self.questions().len(),
            Panel::Conflicts => self.view.conflicts.len(),
            Panel::Messages => usize::from(self.options.message_lines.max(1)),
        };
        let request = |panel| PanelRequest { panel, rows: u16::try_from(rows(panel)).unwrap_or(u16::MAX) };
        let requests: Vec<_> = self.panels().into_iter().map(request).collect();
        layout::plan(screen, &requests, self.focus(), self.reply_rows())
    }

    /// Whether the agents table has room for column names.
    pub(super) fn names_columns(&self, height: u16) -> bool {
        let agents = self.view.listed().count();
        agents > 0 && (usize::from(height) > agents || height >= 6)
    }

    /// Whether there is room for the list of message types.
    pub(super) fn names_kinds(height: u16) -> bool {
        height >= 5
    }

    /// The number of selectable rows in an area.
    pub(super) fn room(&self, area: PanelArea) -> usize {
        let height = area.rows.height;
        let taken = match area.panel {
            Panel::Agents => self.names_columns(height),
            Panel::Messages => Self::names_kinds(height),
            Panel::Questions | Panel::Conflicts => false,
        };
        usize::from(height.saturating_sub(u16::from(taken)))
    }

    /// Lines for writing an answer: a title, the question and the input.
    fn reply_rows(&self) -> u16 {
        let Mode::Reply { question, .. } = &self.mode else { return 0 };
        let asked = Text::line(&question.text);
        let lines = wrap(asked.as_str(), usize::from(self.size.0.saturating_sub(2))).len();
        u16::try_from(lines.min(6)).unwrap_or(6) + 2
    }
}
