//! The state of the navigator, and how a new view changes it. `keys` handles keys.

use std::collections::HashSet;

use crossterm::event::KeyEvent;

use super::rows::{self, RowKey, TaskRow};
use super::view::{NavigatorView, TagView, TaskView};
use crate::dashboard::Theme;
use crate::text::Text;

/// An input of the navigator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NavigatorEvent {
    Key(KeyEvent),
    Resize,
    View(Box<NavigatorView>),
    /// The result of a command.
    CommandResult {
        text: String,
        alarming: bool,
    },
}

/// An output of the navigator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NavigatorEffect {
    /// The screen has changed.
    Redraw,
    /// Clear the terminal and draw every cell, because other output may have overwritten it.
    Repaint,
    Command(NavigatorCommand),
    Quit,
}

/// A command for the executor pane next to the navigator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NavigatorCommand {
    Start { task: String, tag: String },
    Pause,
    Resume,
}

/// A message above the keys, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: Text,
    pub(super) alarming: bool,
}

#[derive(Debug)]
pub struct NavigatorState {
    pub(super) theme: Theme,
    /// `None` until the first view arrives.
    pub(super) view: Option<NavigatorView>,
    /// The tag that the user selected.
    pub(super) tag: Option<String>,
    pub(super) open: HashSet<RowKey>,
    pub(super) selected: Option<RowKey>,
    pub(super) last_index: usize,
    pub(super) notice: Option<Notice>,
    /// `q` was pressed while a task is running.
    pub(super) leaving: bool,
    /// The tag and task of the last run.
    run_of: Option<(String, String)>,
}

impl NavigatorState {
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            view: None,
            tag: None,
            open: HashSet::new(),
            selected: None,
            last_index: 0,
            notice: None,
            leaving: false,
            run_of: None,
        }
    }

    pub fn on_event(&mut self, event: NavigatorEvent) -> Vec<NavigatorEffect> {
        let mut effects = Vec::new();
        let changed = match event {
            NavigatorEvent::Key(key) => self.on_key(key, &mut effects),
            NavigatorEvent::Resize => true,
            NavigatorEvent::View(view) => self.on_view(*view),
            NavigatorEvent::CommandResult { text, alarming } => {
                self.say(&text, alarming);
                true
            }
        };
        if changed && !effects.contains(&NavigatorEffect::Quit) {
            effects.push(NavigatorEffect::Redraw);
        }
        effects
    }

    fn on_view(&mut self, view: NavigatorView) -> bool {
        if self.view.as_ref() == Some(&view) {
            return false;
        }
        let first = self.view.is_none();
        let run_of = view.run.as_ref().map(|run| (run.tag.clone(), run.task.clone()));
        self.view = Some(view);
        // Select the task of a run that has just started.
        if run_of.is_some() && run_of != self.run_of && (first || self.is_working()) {
            self.show_run();
        }
        self.run_of = run_of;
        self.keep_selection();
        true
    }

    pub(super) fn is_working(&self) -> bool {
        self.view.as_ref().is_some_and(NavigatorView::is_working)
    }

    /// The task that is running right now.
    pub fn running_task(&self) -> Option<&str> {
        let run = self.view.as_ref()?.run.as_ref()?;
        (run.activity == super::view::RunActivity::Working).then_some(run.task.as_str())
    }

    fn show_run(&mut self) {
        let Some(run) = self.view.as_ref().and_then(|view| view.run.as_ref()) else { return };
        let (tag, task) = (run.tag.clone(), run.task.clone());
        let key = RowKey { task, nth: 0, subtask: None };
        let tags = self.tags();
        let Some(index) = tags.iter().position(|one| one.name == tag) else { return };
        if tags[index].tasks.iter().any(|one| one.id == key.task) {
            self.select_tag(index);
            self.open.insert(key.clone());
            self.selected = Some(key);
        }
    }

    pub(super) fn tags(&self) -> &[TagView] {
        self.view.as_ref().map(|view| view.tags.as_slice()).unwrap_or_default()
    }

    /// The index of the visible tag: the selected one, else the default one, else the first.
    pub(super) fn tag_index(&self) -> usize {
        let named = |name: &str| self.tags().iter().position(|tag| tag.name == name);
        let selected = self.tag.as_deref().and_then(named);
        selected.or_else(|| named(&self.view.as_ref()?.tag)).unwrap_or(0)
    }

    pub(super) fn shown_tag(&self) -> Option<&TagView> {
        self.tags().get(self.tag_index())
    }

    pub(super) fn select_tag(&mut self, index: usize) {
        let Some(name) = self.tags().get(index).map(|tag| tag.name.clone()) else { return };
        if self.shown_tag().is_none_or(|shown| shown.name != name) {
            self.open.clear();
            self.selected = None;
            self.last_index = 0;
        }
        self.tag = Some(name);
    }

    pub(super) fn rows(&self) -> Vec<TaskRow> {
        self.shown_tag().map(|tag| rows::rows(tag, &self.open)).unwrap_or_default()
    }

    pub(super) fn selected_index(&self, rows: &[TaskRow]) -> usize {
        rows::selected_index(rows, self.selected.as_ref(), self.last_index)
    }

    /// Keeps the selection on its row after the list has changed.
    pub(super) fn keep_selection(&mut self) {
        let rows = self.rows();
        self.last_index = self.selected_index(&rows);
        self.selected = rows.get(self.last_index).map(|row| row.key.clone());
    }

    /// The task of the selected row.
    pub(super) fn selected_task(&self) -> Option<(&TagView, &TaskView)> {
        let rows = self.rows();
        let row = rows.get(self.selected_index(&rows))?;
        let tag = self.shown_tag()?;
        Some((tag, tag.tasks.get(row.task)?))
    }

    pub(super) fn say(&mut self, text: &str, alarming: bool) {
        self.notice = Some(Notice { text: Text::line(text), alarming });
    }
}
