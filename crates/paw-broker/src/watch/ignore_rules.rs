//! What git ignores in one worktree: `.gitignore` files, `info/exclude` and `core.excludesFile`, except for tracked files
//! that match a rule.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use paw_host::git::{Git, GitError, is_excluded};

#[derive(Debug)]
pub(super) struct IgnoreRules {
    root: PathBuf,
    /// By directory, relative to the root.
    local: HashMap<PathBuf, Gitignore>,
    /// For the whole worktree, in order of precedence.
    global: Vec<Gitignore>,
    /// Tracked files that match a rule.
    tracked: BTreeSet<PathBuf>,
    /// Files of git paw.
    excluded: Vec<PathBuf>,
}

impl IgnoreRules {
    pub(super) fn load(root: &Path, common_dir: &Path, excluded: &[PathBuf]) -> Result<Self, GitError> {
        let git = Git::at(root);
        let files = [Some(common_dir.join("info/exclude")), find_excludes_file(&git)?];
        let global = files.into_iter().flatten().map(|file| load_rules(root, &file)).collect();
        let tracked = git.plumb(None, ["ls-files", "-z", "-c", "-i", "--exclude-standard"])?;
        let tracked = tracked.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(Self {
            root: root.to_path_buf(),
            local: HashMap::new(),
            global,
            tracked: tracked.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect(),
            excluded: excluded.to_vec(),
        })
    }

    /// Reads the `.gitignore` of a directory.
    pub(super) fn enter(&mut self, dir: &Path) {
        let file = self.root.join(dir).join(".gitignore");
        if file.is_file() {
            self.local.insert(dir.to_path_buf(), load_rules(&self.root.join(dir), &file));
        } else {
            self.local.remove(dir);
        }
    }

    /// Whether to ignore changes of this file. Its parent directories are watched, so they are not ignored.
    pub(super) fn ignores_file(&self, path: &Path) -> bool {
        is_excluded(path, &self.excluded) || (self.matches(path, false) && !self.tracked.contains(path))
    }

    /// Whether to ignore everything below this directory.
    pub(super) fn ignores_dir(&self, path: &Path) -> bool {
        is_excluded(path, &self.excluded) || (self.matches(path, true) && !self.contains_tracked(path))
    }

    /// Whether a rule matches. The deepest file with a match decides, and in it the last line.
    fn matches(&self, path: &Path, is_dir: bool) -> bool {
        // An ignored directory that is watched only for its tracked files.
        if path.parent().is_some_and(|parent| parent != Path::new("") && self.matches(parent, true)) {
            return true;
        }
        let absolute = self.root.join(path);
        let local = path.ancestors().skip(1).filter_map(|dir| self.local.get(dir));
        for rules in local.chain(&self.global) {
            match rules.matched(&absolute, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }

    fn contains_tracked(&self, dir: &Path) -> bool {
        self.tracked.range(dir.to_path_buf()..).next().is_some_and(|path| path.starts_with(dir))
    }
}

fn load_rules(root: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    // Invalid lines are skipped, as in git.
    let _ = builder.add(file);
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn find_excludes_file(git: &Git) -> Result<Option<PathBuf>, GitError> {
    if let Some(named) = git.find(["config", "--type=path", "--get", "core.excludesFile"])? {
        return Ok(Some(PathBuf::from(named)));
    }
    let base = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    Ok(base.map(|base| base.join("git/ignore")))
}
