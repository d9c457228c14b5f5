//! Which model a conversation was started with, for the daemon that continues it after a restart.

use std::fs;
use std::path::{Path, PathBuf};

use paw_host::files::{self, Access, FileError};
use paw_worktree::ConversationId;

/// One small file per conversation that wants a certain model.
#[derive(Debug)]
pub(crate) struct Models {
    dir: PathBuf,
}

impl Models {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { dir: data_dir.join("models") }
    }

    pub(crate) fn remember(&self, id: &ConversationId, model: &str) -> Result<(), FileError> {
        files::write_atomic(&self.file(id), model.as_bytes(), Access::Private)
    }

    pub(crate) fn find(&self, id: &ConversationId) -> Option<String> {
        files::load_text(&self.file(id)).ok().flatten()
    }

    pub(crate) fn forget(&self, id: &ConversationId) {
        let _ = fs::remove_file(self.file(id));
    }

    fn file(&self, id: &ConversationId) -> PathBuf {
        self.dir.join(id.as_str())
    }
}
