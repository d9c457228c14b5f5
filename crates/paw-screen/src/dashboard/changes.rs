//! The view of an agent's work: the changed files, and the patch of the selected one.

use std::path::PathBuf;

use crossterm::event::KeyCode;
use paw_core::AgentId;

use super::scroll::{moved, scrolled};

/// Everything that an agent has changed since its branch left the main branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkChanges {
    /// The commit at which the work began.
    pub base: String,
    /// Whether everything is committed.
    pub committed: bool,
    pub files: Vec<ChangedFile>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: PathBuf,
    /// The path before a rename.
    pub old_path: Option<PathBuf>,
    /// `A`, `D`, `M` or `R`, as git shows it.
    pub kind: char,
    /// Lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

impl ChangedFile {
    pub(super) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// The state of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangesView {
    pub(super) agent: AgentId,
    pub(super) content: ChangesContent,
    /// The selected file.
    pub(super) file: usize,
    /// Whether keys move in the patch instead of the list.
    pub(super) in_patch: bool,
    /// The patch of the selected file. Missing while it is read.
    pub(super) patch: Option<Vec<String>>,
    /// The first visible line of the patch.
    pub(super) scroll: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangesContent {
    Reading,
    Failed(String),
    Read(WorkChanges),
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangesStep {
    Ignored,
    Redraw,
    Close,
    ReadAgain,
    ReadPatch(ChangedFile),
}

impl ChangesView {
    pub(super) fn new(agent: AgentId) -> Self {
        let content = ChangesContent::Reading;
        Self { agent, content, file: 0, in_patch: false, patch: None, scroll: 0 }
    }

    pub(super) fn files(&self) -> &[ChangedFile] {
        match &self.content {
            ChangesContent::Read(changes) => &changes.files,
            ChangesContent::Reading | ChangesContent::Failed(_) => &[],
        }
    }

    /// Shows what was read, and returns the file whose patch is needed. The selected file stays selected.
    pub(super) fn set(&mut self, found: Result<WorkChanges, String>) -> Option<ChangedFile> {
        let selected = self.files().get(self.file).map(ChangedFile::name);
        self.content = match found {
            Ok(changes) => ChangesContent::Read(changes),
            Err(reason) => ChangesContent::Failed(reason),
        };
        let index = self.files().iter().position(|file| Some(file.name()) == selected);
        self.file = index.unwrap_or(0);
        self.scroll = index.map_or(0, |_| self.scroll);
        self.files().get(self.file).cloned()
    }

    pub(super) fn set_patch(&mut self, path: &str, lines: Vec<String>) -> bool {
        let is_selected = self.files().get(self.file).is_some_and(|file| file.name() == path);
        if is_selected {
            self.patch = Some(lines);
        }
        is_selected
    }

    /// `list` and `room` are the visible rows of the list and of the patch.
    pub(super) fn on_key(&mut self, code: KeyCode, list: usize, room: usize) -> ChangesStep {
        match code {
            KeyCode::Esc | KeyCode::Backspace if self.in_patch => self.in_patch = false,
            KeyCode::Esc | KeyCode::Char('q' | 'c') => return ChangesStep::Close,
            KeyCode::Enter | KeyCode::Tab | KeyCode::Right | KeyCode::Left => self.in_patch = !self.in_patch,
            KeyCode::Char('R') => return ChangesStep::ReadAgain,
            KeyCode::Char('n' | ']') => return self.select(self.file + 1),
            KeyCode::Char('p' | '[') => return self.select(self.file.saturating_sub(1)),
            KeyCode::Char('J') => return self.scroll_by(KeyCode::Down, room),
            KeyCode::Char('K') => return self.scroll_by(KeyCode::Up, room),
            // The list is short and the patch is long, so pages always move the patch.
            KeyCode::PageDown | KeyCode::PageUp | KeyCode::Char(' ') => return self.scroll_by(code, room),
            code if self.in_patch => return self.scroll_by(code, room),
            code => {
                return match moved(self.file, self.files().len(), list, code) {
                    Some(file) => self.select(file),
                    None => ChangesStep::Ignored,
                };
            }
        }
        ChangesStep::Redraw
    }

    fn scroll_by(&mut self, code: KeyCode, room: usize) -> ChangesStep {
        let lines = self.patch.as_ref().map_or(0, Vec::len);
        match scrolled(self.scroll, lines, room, code) {
            Some(scroll) => {
                self.scroll = scroll;
                ChangesStep::Redraw
            }
            None => ChangesStep::Ignored,
        }
    }

    fn select(&mut self, file: usize) -> ChangesStep {
        let file = file.min(self.files().len().saturating_sub(1));
        let Some(selected) = self.files().get(file).filter(|_| file != self.file).cloned() else {
            return ChangesStep::Ignored;
        };
        self.file = file;
        self.scroll = 0;
        self.patch = None;
        ChangesStep::ReadPatch(selected)
    }
}
