//! What keys do.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{Effect, Order, State};
use super::view::{Life, Run, Standing};

/// Rows that a page key moves.
const PAGE: usize = 10;

impl State {
    /// Whether something that can be seen has changed.
    pub(super) fn on_key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let noticed = self.notice.take().is_some();
        let leaving = std::mem::take(&mut self.leaving);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let changed = match key.code {
            KeyCode::Char('l') if control => {
                effects.push(Effect::Repaint);
                true
            }
            KeyCode::Char('c') if control => self.leave(leaving, effects),
            _ if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => false,
            KeyCode::Char('q') => self.leave(leaving, effects),
            KeyCode::Char('s') => self.start(effects),
            KeyCode::Char('p') => self.pause_or_resume(effects),
            KeyCode::Enter | KeyCode::Char(' ') => self.open_or_close(),
            KeyCode::Right | KeyCode::Tab => self.turn(1),
            KeyCode::Left | KeyCode::BackTab => self.turn(self.tags().len().saturating_sub(1)),
            code => self.move_chosen(code),
        };
        changed || noticed || leaving
    }

    fn leave(&mut self, again: bool, effects: &mut Vec<Effect>) -> bool {
        if !self.is_working() || again {
            effects.push(Effect::Quit);
            return false;
        }
        self.leaving = true;
        let task = self.run().map(|run| run.task.clone()).unwrap_or_default();
        self.say(&format!("task {task} goes on: q again leaves"), false);
        true
    }

    fn run(&self) -> Option<&Run> {
        self.picture.as_ref()?.run.as_ref()
    }

    fn start(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some((tag, task)) = self.chosen_task() else {
            self.say("there is no task to start", false);
            return true;
        };
        let (tag, id) = (tag.name.clone(), task.id.clone());
        let closed = matches!(task.status.life, Life::Done | Life::Dropped);
        let status = task.status.text.to_string();
        match self.run() {
            Some(run) if run.standing == Standing::Working => {
                let running = run.task.clone();
                self.say(&format!("task {running} is running: p pauses it"), false);
            }
            Some(Run { standing: Standing::Paused { .. }, has_branch: true, task, tag: own, .. }) => {
                if (own, task) == (&tag, &id) {
                    effects.push(Effect::Order(Order::Resume));
                    return false;
                }
                let text = format!(
                    "task {task} is not finished: p goes on with it, git paw autopilot abort gives it up"
                );
                self.say(&text, false);
            }
            _ if closed => self.say(&format!("task {id} is {status}"), false),
            _ => effects.push(Effect::Order(Order::Start { task: id, tag })),
        }
        self.notice.is_some()
    }

    fn pause_or_resume(&mut self, effects: &mut Vec<Effect>) -> bool {
        match self.run().map(|run| &run.standing) {
            Some(Standing::Working) => effects.push(Effect::Order(Order::Pause)),
            Some(Standing::Paused { .. }) => effects.push(Effect::Order(Order::Resume)),
            Some(Standing::Over) | None => {
                self.say("nothing is running: s starts the chosen task", false);
                return true;
            }
        }
        false
    }

    fn open_or_close(&mut self) -> bool {
        let rows = self.rows();
        let Some(row) = rows.get(self.place(&rows)) else { return false };
        let key = row.key.of_task();
        let none = self.chosen_task().is_none_or(|(_, task)| task.subtasks.is_empty());
        if none {
            self.say(
                &format!("task {} has no subtasks: git paw tasks expand {0} makes some", key.task),
                false,
            );
            return true;
        }
        if !self.open.remove(&key) {
            self.open.insert(key.clone());
        }
        self.chosen = Some(key);
        self.keep_place();
        true
    }

    fn turn(&mut self, by: usize) -> bool {
        let tags = self.tags().len();
        if tags < 2 {
            return false;
        }
        self.choose_tag((self.tag_place() + by) % tags);
        self.keep_place();
        true
    }

    fn move_chosen(&mut self, code: KeyCode) -> bool {
        let rows = self.rows();
        let (from, last) = (self.place(&rows), rows.len().saturating_sub(1));
        let to = match code {
            KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (from + 1).min(last),
            KeyCode::PageUp => from.saturating_sub(PAGE),
            KeyCode::PageDown => (from + PAGE).min(last),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => return false,
        };
        self.chosen = rows.get(to).map(|row| row.key.clone());
        self.stood = to;
        true
    }
}
