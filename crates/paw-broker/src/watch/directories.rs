//! The watched directories and their roles.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use paw_core::AgentId;
use paw_core::text::plural_irregular;

/// The role of a watched directory. A directory may have several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DirRole {
    Files(AgentId),
    /// Git's administrative directory of one worktree, or its `logs`.
    Admin(AgentId),
    /// The git directory that all worktrees share.
    Common,
    Refs,
}

/// Why a directory cannot be watched.
#[derive(Debug)]
pub(super) enum WatchFailure {
    Gone,
    NoneLeft(String),
}

/// All watched directories, on one file system watcher.
#[derive(Debug)]
pub(super) struct WatchedDirs {
    system: Result<RecommendedWatcher, String>,
    roles: HashMap<PathBuf, BTreeSet<DirRole>>,
    max: usize,
}

impl WatchedDirs {
    pub(super) fn new(system: notify::Result<RecommendedWatcher>, max: usize) -> Self {
        Self { system: system.map_err(|error| error.to_string()), roles: HashMap::new(), max }
    }

    pub(super) fn has(&self, dir: &Path) -> bool {
        self.roles.contains_key(dir)
    }

    pub(super) fn roles(&self, dir: &Path) -> BTreeSet<DirRole> {
        self.roles.get(dir).cloned().unwrap_or_default()
    }

    pub(super) fn with_role(&self, role: &DirRole) -> BTreeSet<PathBuf> {
        self.roles.iter().filter(|(_, roles)| roles.contains(role)).map(|(dir, _)| dir.clone()).collect()
    }

    pub(super) fn below(&self, dir: &Path) -> Vec<PathBuf> {
        self.roles.keys().filter(|path| path.starts_with(dir)).cloned().collect()
    }

    pub(super) fn watch(&mut self, dir: &Path, role: DirRole) -> Result<(), WatchFailure> {
        if let Some(roles) = self.roles.get_mut(dir) {
            roles.insert(role);
            return Ok(());
        }
        let system = self.system.as_mut().map_err(|error| WatchFailure::NoneLeft(error.clone()))?;
        if self.roles.len() >= self.max {
            return Err(WatchFailure::NoneLeft(format!(
                "already watching {}",
                plural_irregular(self.roles.len(), "directory", "directories")
            )));
        }
        match system.watch(dir, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.roles.entry(dir.to_path_buf()).or_default().insert(role);
                Ok(())
            }
            Err(error) if is_gone(&error) => Err(WatchFailure::Gone),
            Err(error) => Err(WatchFailure::NoneLeft(error.to_string())),
        }
    }

    /// Watches a directory of refs and all directories below it. They are few.
    pub(super) fn watch_refs(&mut self, dir: &Path) {
        let mut left = vec![dir.to_path_buf()];
        while let Some(dir) = left.pop() {
            if self.watch(&dir, DirRole::Refs).is_ok() {
                let entries = std::fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok);
                left.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
            }
        }
    }

    pub(super) fn unwatch(&mut self, dir: &Path, role: &DirRole) {
        let Some(roles) = self.roles.get_mut(dir) else { return };
        roles.remove(role);
        if roles.is_empty() {
            self.roles.remove(dir);
            if let Ok(system) = &mut self.system {
                // A deleted directory has no watch.
                let _ = system.unwatch(dir);
            }
        }
    }

    pub(super) fn unwatch_where(&mut self, leaves: impl Fn(&DirRole) -> bool) {
        let of = |(dir, roles): (&PathBuf, &BTreeSet<DirRole>)| {
            let leaving = roles.iter().filter(|role| leaves(role));
            leaving.map(|role| (dir.clone(), role.clone())).collect::<Vec<_>>()
        };
        let leaving: Vec<(PathBuf, DirRole)> = self.roles.iter().flat_map(of).collect();
        for (dir, role) in leaving {
            self.unwatch(&dir, &role);
        }
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}
