//! The keys of the navigator.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{NavigatorCommand, NavigatorEffect, NavigatorState};
use super::view::{RunActivity, RunView, TaskStatusKind};

/// Rows that a page key moves.
const PAGE: usize = 10;

impl NavigatorState {
    /// Handles a key. Returns whether the screen has changed.
    pub(super) fn on_key(&mut self, key: KeyEvent, effects: &mut Vec<NavigatorEffect>) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let noticed = self.notice.take().is_some();
        let leaving = std::mem::take(&mut self.leaving);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let changed = match key.code {
            KeyCode::Char('l') if control => {
                effects.push(NavigatorEffect::Repaint);
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
            code => self.move_selection(code),
        };
        changed || noticed || leaving
    }

    fn leave(&mut self, again: bool, effects: &mut Vec<NavigatorEffect>) -> bool {
        if !self.is_working() || again {
            effects.push(NavigatorEffect::Quit);
            return false;
        }
        self.leaving = true;
        let task = self.run().map(|run| run.task.clone()).unwrap_or_default();
        self.say(&format!("task {task} keeps running: press q again to leave"), false);
        true
    }

    fn run(&self) -> Option<&RunView> {
        self.view.as_ref()?.run.as_ref()
    }

    fn start(&mut self, effects: &mut Vec<NavigatorEffect>) -> bool {
        let Some((tag, task)) = self.selected_task() else {
            self.say("no task to start", false);
            return true;
        };
        let (tag, id) = (tag.name.clone(), task.id.clone());
        let closed = matches!(task.status.category, TaskStatusKind::Done | TaskStatusKind::Dropped);
        let status = task.status.text.to_string();
        match self.run() {
            Some(run) if run.activity == RunActivity::Working => {
                let running = run.task.clone();
                self.say(&format!("task {running} is running: p pauses it"), false);
            }
            Some(RunView {
                activity: RunActivity::Paused { .. }, has_branch: true, task, tag: own, ..
            }) => {
                if (own, task) == (&tag, &id) {
                    effects.push(NavigatorEffect::Command(NavigatorCommand::Resume));
                    return false;
                }
                let text =
                    format!("task {task} is not finished: p resumes it, git paw autopilot abort drops it");
                self.say(&text, false);
            }
            _ if closed => self.say(&format!("task {id} is {status}"), false),
            _ => effects.push(NavigatorEffect::Command(NavigatorCommand::Start { task: id, tag })),
        }
        self.notice.is_some()
    }

    fn pause_or_resume(&mut self, effects: &mut Vec<NavigatorEffect>) -> bool {
        match self.run().map(|run| &run.activity) {
            Some(RunActivity::Working) => effects.push(NavigatorEffect::Command(NavigatorCommand::Pause)),
            Some(RunActivity::Paused { .. }) => {
                effects.push(NavigatorEffect::Command(NavigatorCommand::Resume));
            }
            Some(RunActivity::Finished) | None => {
                self.say("nothing is running: s starts the selected task", false);
                return true;
            }
        }
        false
    }

    fn open_or_close(&mut self) -> bool {
        let rows = self.rows();
        let Some(row) = rows.get(self.selected_index(&rows)) else { return false };
        let key = row.key.of_task();
        let none = self.selected_task().is_none_or(|(_, task)| task.subtasks.is_empty());
        if none {
            self.say(
                &format!("task {} has no subtasks: git paw tasks expand {0} creates them", key.task),
                false,
            );
            return true;
        }
        if !self.open.remove(&key) {
            self.open.insert(key.clone());
        }
        self.selected = Some(key);
        self.keep_selection();
        true
    }

    fn turn(&mut self, by: usize) -> bool {
        let tags = self.tags().len();
        if tags < 2 {
            return false;
        }
        self.select_tag((self.tag_index() + by) % tags);
        self.keep_selection();
        true
    }

    fn move_selection(&mut self, code: KeyCode) -> bool {
        let rows = self.rows();
        let (from, last) = (self.selected_index(&rows), rows.len().saturating_sub(1));
        let to = match code {
            KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (from + 1).min(last),
            KeyCode::PageUp => from.saturating_sub(PAGE),
            KeyCode::PageDown => (from + PAGE).min(last),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => return false,
        };
        self.selected = rows.get(to).map(|row| row.key.clone());
        self.last_index = to;
        true
    }
}
