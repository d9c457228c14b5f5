//! What git ignores in one worktree: `.gitignore` files, `info/exclude` and `core.excludesFile`, and the tracked files
//! that count although a rule names them.

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
    /// For the whole worktree, the stronger ones first.
    global: Vec<Gitignore>,
    /// Tracked all the same.
    forced: BTreeSet<PathBuf>,
    /// Our own files.
    excluded: Vec<PathBuf>,
}

impl IgnoreRules {
    pub(super) fn load(root: &Path, common_dir: &Path, excluded: &[PathBuf]) -> Result<Self, GitError> {
        let git = Git::at(root);
        let files = [Some(common_dir.join("info/exclude")), find_excludes_file(&git)?];
        let global = files.into_iter().flatten().map(|file| for_root(root, &file)).collect();
        let forced = git.plumb(None, ["ls-files", "-z", "-c", "-i", "--exclude-standard"])?;
        let forced = forced.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(Self {
            root: root.to_path_buf(),
            local: HashMap::new(),
            global,
            forced: forced.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect(),
            excluded: excluded.to_vec(),
        })
    }

    /// Reads the rules that a directory brings along.
    pub(super) fn enter(&mut self, dir: &Path) {
        let file = self.root.join(dir).join(".gitignore");
        if file.is_file() {
            self.local.insert(dir.to_path_buf(), for_root(&self.root.join(dir), &file));
        } else {
            self.local.remove(dir);
        }
    }

    /// Whether a change of this file is nobody's business. The directories above it are watched, so not ignored.
    pub(super) fn hides_file(&self, path: &Path) -> bool {
        is_excluded(path, &self.excluded) || (self.names(path, false) && !self.forced.contains(path))
    }

    /// Whether nothing below this directory matters.
    pub(super) fn hides_dir(&self, path: &Path) -> bool {
        is_excluded(path, &self.excluded) || (self.names(path, true) && !self.holds_forced(path))
    }

    /// The deepest file that says anything about a path decides, and in it the last line.
    fn names(&self, path: &Path, is_dir: bool) -> bool {
        // A directory that is watched only for the tracked files in it hides the others.
        if path.parent().is_some_and(|parent| parent != Path::new("") && self.names(parent, true)) {
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

    fn holds_forced(&self, dir: &Path) -> bool {
        self.forced.range(dir.to_path_buf()..).next().is_some_and(|path| path.starts_with(dir))
    }
}

fn for_root(root: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    // A line that cannot be understood is left out; git does the same.
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
