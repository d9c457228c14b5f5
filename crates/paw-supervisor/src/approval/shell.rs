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
    pub(super) branch: Option<&'a str>,
    pub(super) trunk: Option<&'a str>,
    pub(super) broker_port: Option<u16>,
    /// Variables that the line sets, with their values.
    pub(super) variables: BTreeMap<String, ShellWord>,
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
        if !cwd.starts_with(&bounds.root) {
            return Err("the shell is not in the worktree".to_owned());
        }
        Ok(Self {
            bounds,
            dirs: vec![cwd],
            branch: place.branch.as_deref(),
            trunk: place.trunk.as_deref(),
            broker_port: place.broker_port,
            variables: BTreeMap::new(),
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

    pub(super) fn change_directory(&mut self, words: &[ShellWord]) -> Result<String, String> {
        let [_, target] = words else { return Err("`cd` without exactly one directory".to_owned()) };
        if target.text.starts_with('-') || target.glob || target.unknown || target.tree.is_some() {
            return Err(format!("`cd` to {}", quoted(&target.text)));
        }
        self.check_path(&target.text, false, PathAccess::Read)?;
        for dir in self.dirs.clone() {
            let reached = self.bounds.check(&dir, &target.text, PathAccess::Read)?;
            if reached != self.bounds.root && path::could_be_repository(&reached) {
                return Err(format!("{} could be another repository", quoted(&target.text)));
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
