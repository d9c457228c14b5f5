//! Reads the directory of the specs, and nothing outside of it. Collects warnings about unreadable files.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::{BranchName, text};

use super::{SpecEntry, SpecError, SpecFormat};
use crate::untrusted_text::{self, front_matter};

/// Specs with more text are skipped.
const LARGEST_PROMPT: usize = 1024 * 1024;
/// The most parts of one spec that are read.
const MOST_PARTS: usize = 100;

pub(super) struct Folder {
    /// Canonical, so that links out of it can be detected.
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

    /// The directories in the folder, sorted by name.
    pub(super) fn directories(&mut self) -> Result<Vec<SpecFile>, SpecError> {
        self.items(Kind::Directory)
    }

    /// The `.md` files in the folder, sorted; their names without the extension.
    pub(super) fn markdown_files(&mut self) -> Result<Vec<SpecFile>, SpecError> {
        let files = self.items(Kind::File)?;
        let stem = |item: SpecFile| {
            let name = item.name.strip_suffix(".md").filter(|name| !name.is_empty())?.to_owned();
            Some(SpecFile { name, path: item.path })
        };
        Ok(files.into_iter().filter_map(stem).collect())
    }

    /// The directories in a subdirectory, which may not exist.
    pub(super) fn directories_in(&mut self, dir: &Path) -> Vec<SpecFile> {
        self.parts(dir, Kind::Directory)
    }

    /// The files in a subdirectory, which may not exist.
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
            self.warn(&name, &format!("only the first {MOST_PARTS} of its {} parts are used", parts.len()));
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
                self.warn(&name.to_string_lossy(), "skipped: its name is not UTF-8");
                continue;
            };
            let Ok(real) = path.canonicalize() else { continue };
            let is_kind = if kind == Kind::Directory { real.is_dir() } else { real.is_file() };
            if name.starts_with('.') || !is_kind {
                continue;
            }
            if !real.starts_with(&self.root) {
                self.warn(name, "skipped: it is a link out of the specs directory");
                continue;
            }
            items.push(SpecFile { name: name.to_owned(), path: real });
        }
        items.sort();
        Ok(items)
    }

    /// The text of a file, if it exists. Warns if it cannot be read.
    pub(super) fn read(&mut self, path: &Path) -> Option<String> {
        let name = path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        match untrusted_text::read(path, Some(&self.root)) {
            Ok(Some(text)) => {
                if text.damaged {
                    self.warn(&name, "not UTF-8: invalid bytes are replaced");
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

    /// Splits front matter and body. Warns about invalid front matter.
    pub(super) fn split<'a>(&mut self, name: &str, text: &'a str) -> front_matter::SplitText<'a> {
        let parts = front_matter::split(text);
        if let Some(problem) = &parts.problem {
            self.warn(name, problem);
        }
        parts
    }

    /// Turns a draft into a spec. Warns and returns `None` if it is not valid.
    pub(super) fn check(&mut self, draft: SpecDraft<'_>) -> Option<SpecEntry> {
        let branch = match BranchName::new(draft.branch) {
            Ok(branch) => branch,
            Err(problem) => {
                self.warn(&draft.id, &format!("skipped: {problem}"));
                return None;
            }
        };
        if draft.prompt.len() > LARGEST_PROMPT {
            self.warn(&draft.id, "skipped: it has more than 1 MiB of text");
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
