//! The state of the dashboard, and how updates change it. `keys` handles keys.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use paw_core::AgentId;
use paw_view::{AgentView, MessageView, OpenQuestion, SessionView};
use ratatui::layout::Rect;

use super::changes::ChangesView;
use super::event::{
    AgentAction, AgentJob, DashboardEffect, DashboardEvent, DashboardOptions, DashboardRequest,
};
use super::filter::Filter;
use super::layout::{self, Panel, PanelArea, PanelRequest, ScreenLayout};
use super::need::{NeedKey, NeedRow};
use super::prompt_view::PromptView;
use super::selection::{Selection, first_row};
use crate::age;
use crate::line_input::LineInput;
use crate::text::{Text, wrap};

/// Rows of a pane shown below the other panels.
const PREVIEW_ROWS: usize = 16;

/// The shortest time between two changes of ages in minutes.
const MINUTES_TOGETHER: SignedDuration = SignedDuration::from_secs(10);

/// What the dashboard shows and how it handles keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Browse,
    Hidden,
    Help {
        scroll: usize,
    },
    Detail {
        subject: DetailSubject,
        scroll: usize,
    },
    Search {
        input: LineInput,
        before: String,
    },
    Reply {
        question: OpenQuestion,
        input: LineInput,
    },
    Tell {
        agent: AgentId,
        input: LineInput,
    },
    /// Asks before something is run.
    Confirm {
        job: AgentJob,
    },
    Prompt(PromptView),
    Changes(ChangesView),
    /// The output of a command.
    Output {
        title: String,
        lines: Vec<String>,
        scroll: usize,
    },
}

impl Mode {
    /// Whether the panels are hidden.
    pub(super) fn covers_panels(&self) -> bool {
        matches!(
            self,
            Self::Help { .. }
                | Self::Detail { .. }
                | Self::Prompt(_)
                | Self::Changes(_)
                | Self::Output { .. }
        )
    }
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
    /// The time of the latest event.
    pub(super) clock: Timestamp,
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
    pub(super) need: Selection<NeedKey>,
    /// If nothing is selected, the newest message stays visible.
    pub(super) message: Selection<u64>,
    pub(super) mode: Mode,
    pub(super) notice: Option<Notice>,
    /// Whether the selected agent's pane is shown; unset until the user decides.
    pub(super) wants_preview: Option<bool>,
    /// The agent whose pane was asked for, and its rows.
    pub(super) preview: Option<(AgentId, Vec<String>)>,
    /// The running commands, with the last line of each.
    pub(super) jobs: Vec<(AgentJob, String)>,
    /// Requests that follow from updates.
    pub(super) requests: Vec<DashboardRequest>,
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
            clock: now,
            view,
            disconnected: None,
            drafts: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            filter: Filter::default(),
            show_messages: options.show_messages,
            focused: Panel::Agents,
            agent: Selection::default(),
            conflict: Selection::default(),
            need: Selection::default(),
            message: Selection::default(),
            mode: Mode::Browse,
            notice: None,
            wants_preview: None,
            preview: None,
            jobs: Vec::new(),
            requests: Vec::new(),
            options,
        }
    }

    /// Applies an event and returns its effects. No effects means that the screen is up to date.
    pub fn on_event(&mut self, event: DashboardEvent, now: Timestamp) -> Vec<DashboardEffect> {
        self.clock = now;
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
        let changed = self.follow_preview() || changed;
        effects.extend(self.requests.drain(..).map(DashboardEffect::Request));
        if changed || self.next_wake().is_some_and(|wake| wake <= now) {
            self.now = now;
            effects.push(DashboardEffect::Redraw);
        }
        effects
    }

    /// When a visible age changes next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.mode == Mode::Hidden || self.mode.covers_panels() {
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
                    agents[seen].iter().filter_map(|agent| agent.since()).collect()
                }
                Panel::Needs => {
                    let needs = self.needs();
                    let seen = seen(needs.len(), self.selected(Panel::Needs));
                    needs[seen].iter().filter_map(|need| need.since).collect()
                }
                Panel::Conflicts => {
                    let groups = self.view.conflict_groups();
                    let seen = seen(groups.len(), self.selected(Panel::Conflicts));
                    groups[seen].iter().map(|group| group.since).collect()
                }
                Panel::Messages | Panel::Preview => Vec::new(),
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

    /// Large screens show the pane of the selected agent unless the user hides it.
    pub(super) fn shows_preview(&self) -> bool {
        self.wants_preview.unwrap_or(layout::is_wide(self.size))
    }

    /// The agent that keys act on: the selected one, or the one that the selected row is about.
    pub(super) fn current_agent(&self) -> Option<&AgentView> {
        let index = self.selected(self.focus());
        let id = match self.focus() {
            Panel::Needs => self.needs().get(index).map(|need| need.agent.clone()),
            Panel::Messages => self.shown().get(index).map(|message| message.from.clone()),
            Panel::Conflicts => self
                .view
                .conflict_groups()
                .get(index)
                .and_then(|group| group.agents.first().copied())
                .cloned(),
            Panel::Agents | Panel::Preview => None,
        };
        match id {
            Some(id) => self.view.find(&id),
            None => self.agents().get(self.selected(Panel::Agents)).copied(),
        }
    }

    /// The listed agents: those that wait for the user first, the longest waiting at the top; then the supervisor and the
    /// others by name.
    pub(super) fn agents(&self) -> Vec<&AgentView> {
        let needs = self.view.needs();
        let place = |agent: &AgentView| needs.iter().position(|need| need.agent_id == agent.id);
        let mut agents: Vec<_> = self.view.listed().collect();
        agents.sort_by_key(|agent| (place(agent).unwrap_or(usize::MAX), !agent.is_supervisor(), &agent.id));
        agents
    }

    /// The messages that match the filter, oldest first.
    pub(super) fn shown(&self) -> Vec<&MessageView> {
        self.view.messages.iter().filter(|message| self.filter.shows(message)).collect()
    }

    /// The panels with selectable rows, in order.
    pub(super) fn panels(&self) -> Vec<Panel> {
        let mut panels = vec![Panel::Agents];
        panels.extend((!self.needs().is_empty()).then_some(Panel::Needs));
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
            Panel::Needs => self.needs().len(),
            Panel::Conflicts => self.view.conflict_groups().len(),
            Panel::Messages => self.shown().len(),
            Panel::Preview => 0,
        }
    }

    /// The selected row of a panel.
    pub(super) fn selected(&self, panel: Panel) -> usize {
        match panel {
            Panel::Agents => self.agent.index(self.agents().iter().map(|agent| agent.id.clone())),
            Panel::Needs => self.need.index(self.needs().iter().map(NeedRow::key)),
            Panel::Conflicts => {
                let groups = self.view.conflict_groups();
                self.conflict.index(groups.iter().map(|group| group.key().to_owned()))
            }
            Panel::Preview => 0,
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
            Panel::Needs => self.needs().len(),
            Panel::Conflicts => self.view.conflict_groups().len(),
            Panel::Messages => usize::from(self.options.message_lines.max(1)),
            Panel::Preview => PREVIEW_ROWS,
        };
        let request = |panel| PanelRequest { panel, rows: u16::try_from(rows(panel)).unwrap_or(u16::MAX) };
        let preview = self.shows_preview().then_some(Panel::Preview);
        // In one column, the pane takes the place of the messages.
        let replaced = preview.filter(|_| !layout::is_wide(self.size) && self.focus() != Panel::Messages);
        let is_shown = |panel: &Panel| replaced.is_none() || *panel != Panel::Messages;
        let requests: Vec<_> =
            self.panels().into_iter().filter(is_shown).chain(preview).map(request).collect();
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
            Panel::Needs | Panel::Conflicts | Panel::Preview => false,
        };
        usize::from(height.saturating_sub(u16::from(taken)))
    }

    /// Lines at the bottom for writing a text or for a question to the user: a title, a text and the input.
    fn reply_rows(&self) -> u16 {
        let text = match &self.mode {
            Mode::Reply { question, .. } => Text::line(&question.text).to_string(),
            Mode::Tell { .. } => String::new(),
            Mode::Confirm { job } => consequence(job).to_owned(),
            _ => return 0,
        };
        let lines = wrap(&text, usize::from(self.size.0.saturating_sub(2)));
        let lines = lines.iter().filter(|line| !line.is_empty()).count();
        u16::try_from(lines.min(6)).unwrap_or(6) + 2
    }
}

/// What happens if the user confirms.
pub(super) fn consequence(job: &AgentJob) -> &'static str {
    match job.action {
        AgentAction::Merge => "All gates run on the branch; main moves only if they pass.",
        AgentAction::Pause => {
            "The broker stops, and everyone is detached. The agents keep running; git paw start resumes the session."
        }
        AgentAction::Remove => {
            "Ends its CLI, closes its pane and removes its worktree. The branch stays. Refused if changes are not committed."
        }
        AgentAction::Verify | AgentAction::Tell(_) => "",
    }
}
