//! The state of the shell before a command of the line runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::CommandContext;
use super::characters::quoted;
use super::file_tree::FileTree;
use super::path::{self, PathAccess, PathBounds};
use super::word::ShellWord;

/// The most directories a line may lead to.
const MOST_DIRECTORIES: usize = 16;

#[derive(Debug)]
pub(super) struct ShellState<'a> {
    pub(super) bounds: PathBounds,
    /// All directories the shell could be in, because a `cd` may fail.
    pub(super) dirs: Vec<PathBuf>,
    /// The directories that the last `cd` could have reached.
    pub(super) reached: Vec<PathBuf>,
    pub(super) branch: Option<&'a str>,
    pub(super) trunk: Option<&'a str>,
    pub(super) broker_port: Option<u16>,
    /// Variables that the line sets, with their values; `None` if it depends on which commands ran.
    pub(super) variables: BTreeMap<String, Option<ShellWord>>,
    /// Whether a directory was reached through a link, so that `..` leads elsewhere for the shell than for programs.
    pub(super) linked: bool,
    /// Whether an earlier command changed git's index or the last commit.
    pub(super) staged: bool,
    /// Whether an earlier command of this line wrote files.
    pub(super) wrote: bool,
    /// Whether an earlier command moved files, so that paths may lead elsewhere.
    pub(super) moved: bool,
}

impl<'a> ShellState<'a> {
    pub(super) fn new(place: &'a CommandContext) -> Result<Self, String> {
        let mut bounds = PathBounds::new(&place.worktree, place.home.as_deref())?;
        bounds.settings.clone_from(&place.settings);
        let cwd = path::resolve_links(&place.cwd)?;
        let Ok(inside) = cwd.strip_prefix(&bounds.root) else {
            return Err("the shell is not in the worktree".to_owned());
        };
        let linked = place.cwd != cwd && place.cwd.strip_prefix(&place.worktree) != Ok(inside);
        Ok(Self {
            bounds,
            dirs: vec![cwd],
            reached: Vec::new(),
            branch: place.branch.as_deref(),
            trunk: place.trunk.as_deref(),
            broker_port: place.broker_port,
            variables: BTreeMap::new(),
            linked,
            staged: false,
            wrote: false,
            moved: false,
        })
    }

    pub(super) fn check_path(&self, text: &str, glob: bool, access: PathAccess) -> Result<(), String> {
        if self.moved {
            return Err(format!("an earlier command may change where {} leads", quoted(text)));
        }
        for dir in &self.dirs {
            if glob {
                self.bounds.check_pattern(dir, text, access)?;
            } else {
                self.bounds.check(dir, text, access)?;
            }
        }
        Ok(())
    }

    /// Checks files that a command finds by itself. What an earlier command wrote cannot be checked.
    pub(super) fn check_tree(&self, tree: &FileTree, access: PathAccess) -> Result<(), String> {
        if self.moved || (self.wrote && (tree.follows || tree.splits)) {
            return Err("an earlier command may change which files are found".to_owned());
        }
        self.dirs.iter().try_for_each(|dir| tree.check(&self.bounds, dir, access))
    }

    /// Values of options are not paths. One that names a file which may not be used is asked about nevertheless.
    pub(super) fn check_existing(&self, text: &str) -> Result<(), String> {
        if text.contains('\n') || text.is_empty() || self.is_free(text) {
            return Ok(());
        }
        self.dirs.iter().try_for_each(|dir| self.bounds.check(dir, text, PathAccess::Read).map(drop))
    }

    /// Whether no file has this name.
    pub(super) fn is_free(&self, name: &str) -> bool {
        !self.dirs.iter().any(|dir| dir.join(name).symlink_metadata().is_ok())
    }

    /// Whether a file's path begins like this.
    pub(super) fn begins_name(&self, begin: &str) -> bool {
        let (above, name) = begin.rsplit_once('/').unwrap_or((".", begin));
        let begins = |dir: &PathBuf| {
            let mut names = std::fs::read_dir(dir.join(above)).into_iter().flatten().flatten();
            names.any(|entry| entry.file_name().to_string_lossy().starts_with(name))
        };
        self.dirs.iter().any(begins)
    }

    /// Commands that may not have run, or in another shell, leave variables with values that are not certain.
    pub(super) fn forget_changes(&mut self, before: &BTreeMap<String, Option<ShellWord>>) {
        for (name, value) in &mut self.variables {
            if before.get(name) != Some(value) {
                *value = None;
            }
        }
    }

    pub(super) fn change_directory(&mut self, words: &[ShellWord]) -> Result<String, String> {
        let [_, target] = words else { return Err("`cd` without exactly one directory".to_owned()) };
        if target.text.starts_with('-') || target.glob || target.unknown || target.tree.is_some() {
            return Err(format!("`cd` to {}", quoted(&target.text)));
        }
        self.check_path(&target.text, false, PathAccess::Read)?;
        self.reached.clear();
        let ascends = target.text.split('/').any(|part| part == "..");
        for dir in self.dirs.clone() {
            let reached = self.bounds.check(&dir, &target.text, PathAccess::Read)?;
            // A shell remembers the link and leaves the directory that contains it.
            let named = path::without_parents(&dir.join(&target.text));
            if ascends && (self.linked || path::resolve_links(&named)? != reached) {
                return Err(format!("`cd` to {} passes a link", quoted(&target.text)));
            }
            self.linked |= named != reached;
            if reached != self.bounds.root && path::could_be_repository(&reached) {
                return Err(format!("{} could be another repository", quoted(&target.text)));
            }
            if !self.reached.contains(&reached) {
                self.reached.push(reached.clone());
            }
            if !self.dirs.contains(&reached) {
                self.dirs.push(reached);
            }
        }
        if self.dirs.len() > MOST_DIRECTORIES {
            Err("too many directories".to_owned())
        } else {
            Ok("cd".to_owned())
        }
    }

    /// git reads the configuration of the repository it finds, which can run programs. It has to be the agent's own.
    pub(super) fn check_repository(&self) -> Result<(), String> {
        for dir in &self.dirs {
            let below = dir.ancestors().take_while(|above| *above != self.bounds.root.as_path());
            if below.clone().any(path::could_be_repository) || (self.wrote && below.count() > 0) {
                return Err("git could find another repository in that directory".to_owned());
            }
        }
        let missing = std::fs::symlink_metadata(self.bounds.root.join(".git")).is_err();
        if missing && path::could_be_repository(&self.bounds.root) {
            return Err("the worktree itself looks like a bare repository".to_owned());
        }
        Ok(())
    }

    /// Whether no file name begins like this pattern, as with `--include=*.rs`.
    pub(super) fn matches_nothing(&self, pattern: &str) -> bool {
        let begin = pattern.split(['*', '?', '[']).next().unwrap_or_default();
        let begins = |dir: &PathBuf| {
            let mut names =
                std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().starts_with(begin))
        };
        begin.starts_with("--")
            && begin.len() > 3
            && !begin.contains('/')
            && !self.wrote
            && !self.dirs.iter().any(begins)
    }

    /// The only directory the shell can be in.
    pub(super) fn only_directory(&self) -> Option<String> {
        match self.dirs.as_slice() {
            [only] if !self.moved => only.to_str().map(str::to_owned),
            _ => None,
        }
    }
}
