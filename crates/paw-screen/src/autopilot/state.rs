//! What the navigator knows, and how a new picture changes it. Keys are in `keys`.

use std::collections::HashSet;

use crossterm::event::KeyEvent;

use super::rows::{self, Key, Row};
use super::view::{Picture, Tag, Task};
use crate::dashboard::Look;
use crate::text::Text;

/// What happens to the navigator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Key(KeyEvent),
    Resize,
    Picture(Box<Picture>),
    /// What became of an order.
    Said {
        text: String,
        alarming: bool,
    },
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Something that can be seen has changed.
    Redraw,
    /// Paint every cell anew: the terminal may show something else.
    Repaint,
    Order(Order),
    Quit,
}

/// What the pane beside the navigator is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Start { task: String, tag: String },
    Pause,
    Resume,
}

/// A remark above the keys, until the next one is pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: Text,
    pub(super) alarming: bool,
}

#[derive(Debug)]
pub struct State {
    pub(super) look: Look,
    /// Nothing until the first one has come.
    pub(super) picture: Option<Picture>,
    /// The tag that somebody has chosen.
    pub(super) tag: Option<String>,
    pub(super) open: HashSet<Key>,
    pub(super) chosen: Option<Key>,
    pub(super) stood: usize,
    pub(super) notice: Option<Notice>,
    /// `q` was pressed while a task runs.
    pub(super) leaving: bool,
    /// The task whose run was seen last.
    run_of: Option<(String, String)>,
}

impl State {
    pub fn new(look: Look) -> Self {
        Self {
            look,
            picture: None,
            tag: None,
            open: HashSet::new(),
            chosen: None,
            stood: 0,
            notice: None,
            leaving: false,
            run_of: None,
        }
    }

    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        let changed = match event {
            Event::Key(key) => self.on_key(key, &mut effects),
            Event::Resize => true,
            Event::Picture(picture) => self.on_picture(*picture),
            Event::Said { text, alarming } => {
                self.say(&text, alarming);
                true
            }
        };
        if changed && !effects.contains(&Effect::Quit) {
            effects.push(Effect::Redraw);
        }
        effects
    }

    fn on_picture(&mut self, picture: Picture) -> bool {
        if self.picture.as_ref() == Some(&picture) {
            return false;
        }
        let first = self.picture.is_none();
        let run_of = picture.run.as_ref().map(|run| (run.tag.clone(), run.task.clone()));
        self.picture = Some(picture);
        // A run that has begun is what people came to see.
        if run_of.is_some() && run_of != self.run_of && (first || self.is_working()) {
            self.show_run();
        }
        self.run_of = run_of;
        self.keep_place();
        true
    }

    pub(super) fn is_working(&self) -> bool {
        self.picture.as_ref().is_some_and(Picture::is_working)
    }

    /// The task that somebody works on right now.
    pub fn running_task(&self) -> Option<&str> {
        let run = self.picture.as_ref()?.run.as_ref()?;
        (run.standing == super::view::Standing::Working).then_some(run.task.as_str())
    }

    fn show_run(&mut self) {
        let Some(run) = self.picture.as_ref().and_then(|picture| picture.run.as_ref()) else { return };
        let (tag, task) = (run.tag.clone(), run.task.clone());
        let key = Key { task, nth: 0, subtask: None };
        let tags = self.tags();
        let Some(place) = tags.iter().position(|one| one.name == tag) else { return };
        if tags[place].tasks.iter().any(|one| one.id == key.task) {
            self.choose_tag(place);
            self.open.insert(key.clone());
            self.chosen = Some(key);
        }
    }

    pub(super) fn tags(&self) -> &[Tag] {
        self.picture.as_ref().map(|picture| picture.tags.as_slice()).unwrap_or_default()
    }

    /// The place of the tag that is shown: the chosen one, else the one that is meant, else the first.
    pub(super) fn tag_place(&self) -> usize {
        let named = |name: &str| self.tags().iter().position(|tag| tag.name == name);
        let chosen = self.tag.as_deref().and_then(named);
        chosen.or_else(|| named(&self.picture.as_ref()?.tag)).unwrap_or(0)
    }

    pub(super) fn shown_tag(&self) -> Option<&Tag> {
        self.tags().get(self.tag_place())
    }

    pub(super) fn choose_tag(&mut self, place: usize) {
        let Some(name) = self.tags().get(place).map(|tag| tag.name.clone()) else { return };
        if self.shown_tag().is_none_or(|shown| shown.name != name) {
            self.open.clear();
            self.chosen = None;
            self.stood = 0;
        }
        self.tag = Some(name);
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        self.shown_tag().map(|tag| rows::rows(tag, &self.open)).unwrap_or_default()
    }

    pub(super) fn place(&self, rows: &[Row]) -> usize {
        rows::place(rows, self.chosen.as_ref(), self.stood)
    }

    /// Remembers which row is chosen before the list changes.
    pub(super) fn keep_place(&mut self) {
        let rows = self.rows();
        self.stood = self.place(&rows);
        self.chosen = rows.get(self.stood).map(|row| row.key.clone());
    }

    /// The task of the chosen row.
    pub(super) fn chosen_task(&self) -> Option<(&Tag, &Task)> {
        let rows = self.rows();
        let row = rows.get(self.place(&rows))?;
        let tag = self.shown_tag()?;
        Some((tag, tag.tasks.get(row.task)?))
    }

    pub(super) fn say(&mut self, text: &str, alarming: bool) {
        self.notice = Some(Notice { text: Text::line(text), alarming });
    }
}
