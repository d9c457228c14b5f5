//! The directory that specs are in. Nothing outside of it is read, and what cannot be read is told.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::{BranchName, text};

use super::{SpecEntry, SpecError, SpecFormat};
use crate::untrusted_text::{self, front_matter};

/// A prompt larger than this was not written for anybody to read.
const LARGEST_PROMPT: usize = 1024 * 1024;
/// More parts of one spec than this are not read.
const MOST_PARTS: usize = 100;

pub(super) struct Folder {
    /// A real path: links that leave it can be told.
    root: PathBuf,
    format: SpecFormat,
    warnings: Vec<String>,
}

/// A directory or a file that may be a spec.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SpecFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// A spec that was read but not yet checked.
pub(super) struct SpecDraft<'a> {
    pub(super) id: String,
    pub(super) unit: &'a str,
    pub(super) branch: String,
    pub(super) cli: Option<String>,
    pub(super) prompt: String,
    pub(super) owned_files: Vec<String>,
    pub(super) path: &'a Path,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

impl Folder {
    pub(super) fn open(repo_root: &Path, dir: &Path, format: SpecFormat) -> Result<Self, SpecError> {
        let missing = || SpecError::NoDirectory { dir: dir.to_path_buf(), format };
        let unreadable = |source| SpecError::Unreadable { dir: dir.to_path_buf(), source };
        let repo_root = repo_root.canonicalize().map_err(unreadable)?;
        let root = repo_root.join(dir).canonicalize().map_err(|_| missing())?;
        if !root.starts_with(&repo_root) {
            return Err(SpecError::Outside { dir: dir.to_path_buf() });
        }
        if !root.is_dir() {
            return Err(missing());
        }
        Ok(Self { root, format, warnings: Vec::new() })
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    pub(super) fn warn(&mut self, name: &str, problem: &str) {
        self.warnings.push(text::line(&format!("spec '{name}': {problem}")).into_owned());
    }

    /// The directories in the folder itself, by name.
    pub(super) fn directories(&mut self) -> Result<Vec<SpecFile>, SpecError> {
        self.items(Kind::Directory)
    }

    /// The `.md` files in the folder itself, by name without that ending.
    pub(super) fn markdown_files(&mut self) -> Result<Vec<SpecFile>, SpecError> {
        let files = self.items(Kind::File)?;
        let stem = |item: SpecFile| {
            let name = item.name.strip_suffix(".md").filter(|name| !name.is_empty())?.to_owned();
            Some(SpecFile { name, path: item.path })
        };
        Ok(files.into_iter().filter_map(stem).collect())
    }

    /// The directories in one of the folder's directories. There may be none.
    pub(super) fn directories_in(&mut self, dir: &Path) -> Vec<SpecFile> {
        self.parts(dir, Kind::Directory)
    }

    /// The files in one of the folder's directories. There may be none.
    pub(super) fn files_in(&mut self, dir: &Path) -> Vec<SpecFile> {
        self.parts(dir, Kind::File)
    }

    fn items(&mut self, kind: Kind) -> Result<Vec<SpecFile>, SpecError> {
        let root = self.root.clone();
        self.list(&root, kind).map_err(|source| SpecError::Unreadable { dir: root, source })
    }

    fn parts(&mut self, dir: &Path, kind: Kind) -> Vec<SpecFile> {
        let mut parts = self.list(dir, kind).unwrap_or_default();
        if parts.len() > MOST_PARTS {
            let name = dir.strip_prefix(&self.root).unwrap_or(dir).display().to_string();
            self.warn(&name, &format!("only {MOST_PARTS} of its {} parts are read", parts.len()));
            parts.truncate(MOST_PARTS);
        }
        parts
    }

    fn list(&mut self, dir: &Path, kind: Kind) -> std::io::Result<Vec<SpecFile>> {
        let mut items = Vec::new();
        for entry in fs::read_dir(dir)? {
            let name = entry?.file_name();
            let path = dir.join(&name);
            let Some(name) = name.to_str() else {
                self.warn(&name.to_string_lossy(), "its name is not UTF-8: passed over");
                continue;
            };
            let Ok(real) = path.canonicalize() else { continue };
            let is_kind = if kind == Kind::Directory { real.is_dir() } else { real.is_file() };
            if name.starts_with('.') || !is_kind {
                continue;
            }
            if !real.starts_with(&self.root) {
                self.warn(name, "it leads out of the directory of the specs: passed over");
                continue;
            }
            items.push(SpecFile { name: name.to_owned(), path: real });
        }
        items.sort();
        Ok(items)
    }

    /// The text of a file, or nothing when there is none or when it cannot be taken, which is told.
    pub(super) fn read(&mut self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        match untrusted_text::read(path, Some(&self.root)) {
            Ok(Some(text)) => {
                if text.damaged {
                    self.warn(&name, "it is not UTF-8: its odd bytes are replaced");
                }
                Some(text.text)
            }
            Ok(None) => None,
            Err(problem) => {
                self.warn(&name, &format!("not read: {problem}"));
                None
            }
        }
    }

    /// Takes a text apart; broken front matter is told.
    pub(super) fn split<'a>(&mut self, name: &str, text: &'a str) -> front_matter::SplitText<'a> {
        let parts = front_matter::split(text);
        if let Some(problem) = &parts.problem {
            self.warn(name, problem);
        }
        parts
    }

    /// The spec, if it can be one; if not, that is told.
    pub(super) fn check(&mut self, draft: SpecDraft<'_>) -> Option<SpecEntry> {
        let branch = match BranchName::new(draft.branch) {
            Ok(branch) => branch,
            Err(problem) => {
                self.warn(&draft.id, &format!("passed over: {problem}"));
                return None;
            }
        };
        if draft.prompt.len() > LARGEST_PROMPT {
            self.warn(&draft.id, "passed over: it has more than 1 MiB of text");
            return None;
        }
        Some(SpecEntry {
            id: draft.id,
            unit: draft.unit.to_owned(),
            branch,
            cli: draft.cli,
            prompt: draft.prompt.trim().to_owned(),
            owned_files: draft.owned_files,
            path: draft.path.to_path_buf(),
            kind: self.format,
        })
    }
}
