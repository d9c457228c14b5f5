//! A directory with the files of one tree of a repository, apart from its worktrees.
//!
//! It has a repository of its own that reads the objects of the original one: programs that run there find a commit and
//! an index, but cannot move the original's refs. Whatever was changed in it, the next checkout restores the tree.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use super::{Git, GitError, ScratchError, path, run, text};
use crate::files::{Access, FileError, create_dir, write_atomic};
use crate::process::Exit;

/// The settings of the original repository that decide how files are checked out.
const COPIED_SETTINGS: &str =
    r"^(core\.(autocrlf|eol|symlinks|filemode|ignorecase|precomposeunicode)|filter\..*|lfs\..*)$";

#[derive(Debug)]
pub struct TreeCheckout {
    dir: PathBuf,
    /// The index as the last checkout left it. `None` if another process may have changed it.
    index: Option<u64>,
}

impl TreeCheckout {
    /// Opens or creates the checkout at `dir`, for the repository that `git` runs in.
    pub fn open(dir: &Path, git: &Git, common_dir: &Path) -> Result<Self, ScratchError> {
        create_dir(dir)?;
        let format = git.line(["rev-parse", "--show-object-format"])?;
        let own = dir.join(".git");
        // A repository that another process put here is replaced.
        if fs::symlink_metadata(&own).is_ok_and(|metadata| !metadata.is_dir()) {
            fs::remove_file(&own).map_err(FileError::when("remove", &own))?;
        }
        for part in ["objects/info", "refs", "info"] {
            create_dir(&own.join(part))?;
        }
        let write = |name: &str, text: &[u8]| write_atomic(&own.join(name), text, Access::Usual);
        write("config", config(git, common_dir, &format)?.as_bytes())?;
        let mut theirs =
            std::os::unix::ffi::OsStringExt::into_vec(common_dir.join("objects").into_os_string());
        theirs.push(b'\n');
        write("objects/info/alternates", &theirs)?;
        for name in ["shallow", "info/exclude", "info/attributes"] {
            match fs::read(common_dir.join(name)) {
                Ok(bytes) => write(name, &bytes)?,
                Err(_) => drop(fs::remove_file(own.join(name))),
            }
        }
        let refs =
            ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"];
        write("packed-refs", &git.plumb(None, refs)?)?;
        Ok(Self { dir: dir.to_path_buf(), index: None })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the tracked files those of `tree`, and removes all others except ignored ones. `head` becomes HEAD.
    pub fn check_out(&mut self, tree: &str, head: &str) -> Result<(), ScratchError> {
        let git = Git::at(&self.dir);
        write_atomic(&self.dir.join(".git/HEAD"), format!("{head}\n").as_bytes(), Access::Usual)?;
        if self.index.is_none() || self.index != self.index_digest() {
            // Without a trusted index, every file is compared by its content.
            drop(fs::remove_file(self.index_file()));
            git.plumb(None, ["read-tree", tree])?;
            let refresh = git.plumbing(None, ["update-index", "-q", "--refresh"]);
            let output = refresh.capture().map_err(GitError::from)?;
            if !matches!(output.exit, Exit::Code(0 | 1)) {
                return Err(super::failed(&refresh, &output).into());
            }
        }
        git.plumb(None, ["read-tree", "--reset", "-u", tree])?;
        git.plumb(None, ["clean", "-ffdq"])?;
        self.index = self.index_digest();
        Ok(())
    }

    /// Tracked files that differ from the tree that was checked out last.
    pub fn changed(&self) -> Result<Vec<PathBuf>, GitError> {
        let git = Git::at(&self.dir);
        let args =
            ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];
        let listing = git.plumb(None, args)?;
        Ok(listing.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path).collect())
    }

    /// Ignored files and directories. A directory that is ignored as a whole is one entry.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        list_ignored(&Git::at(&self.dir))
    }

    fn index_file(&self) -> PathBuf {
        self.dir.join(".git/index")
    }

    fn index_digest(&self) -> Option<u64> {
        let bytes = fs::read(self.index_file()).ok()?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Some(hasher.finish())
    }
}

/// Ignored files and directories of a worktree. A directory that is ignored as a whole is one entry.
pub fn list_ignored(git: &Git) -> Result<Vec<PathBuf>, GitError> {
    let args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    let listing = git.plumb(None, args)?;
    let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| path(name.strip_suffix(b"/").unwrap_or(name))).collect())
}

impl Git {
    /// Writes the tree that a commit of exactly these paths on top of `base` would have. Uses the index file `index`;
    /// the worktree's own index is neither read nor changed.
    pub fn write_worktree_tree(
        &self,
        index: &Path,
        base: &str,
        paths: &[PathBuf],
    ) -> Result<String, GitError> {
        use std::os::unix::ffi::OsStrExt as _;
        drop(fs::remove_file(index));
        self.plumb(Some(index), ["read-tree", base])?;
        if !paths.is_empty() {
            let list: Vec<u8> =
                paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            run(&self.plumbing(Some(index), args).input(list))?;
        }
        self.write_index_tree(index)
    }

    /// The tree of a commit or tree.
    pub fn tree_of(&self, name: &str) -> Result<String, GitError> {
        Ok(text(&self.plumb(None, ["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")])?))
    }
}

fn config(git: &Git, common_dir: &Path, format: &str) -> Result<String, GitError> {
    let sha256 = format == "sha256";
    let mut config = format!("[core]\n\trepositoryformatversion = {}\n\tbare = false\n", u8::from(sha256));
    if sha256 {
        config.push_str("[extensions]\n\tobjectformat = sha256\n");
    }
    config.push_str("[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n[gc]\n\tauto = 0\n");
    let storage = common_dir.join("lfs");
    config.push_str(&setting("lfs.storage", &storage.to_string_lossy()));
    let listing = git.find(["config", "--local", "--includes", "-z", "--get-regexp", COPIED_SETTINGS])?;
    for entry in listing.unwrap_or_default().split('\0').filter(|entry| !entry.is_empty()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        config.push_str(&setting(key, value));
    }
    Ok(config)
}

/// `[section "subsection"]` and its key, quoted for git's parser.
fn setting(key: &str, value: &str) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let (Some((section, _)), Some((before, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return String::new();
    };
    let header = match before.split_once('.') {
        Some((_, sub)) => format!("[{section} \"{}\"]", escaped(sub)),
        None => format!("[{section}]"),
    };
    format!("{header}\n\t{name} = \"{}\"\n", escaped(value).replace('\n', "\\n").replace('\t', "\\t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_quoted_for_gits_parser() {
        assert_eq!(setting("core.eol", "lf"), "[core]\n\teol = \"lf\"\n");
        assert_eq!(
            setting("filter.my \"x\".clean", "sed \"s/\\t/ /\""),
            "[filter \"my \\\"x\\\"\"]\n\tclean = \"sed \\\"s/\\\\t/ /\\\"\"\n"
        );
        assert_eq!(setting("odd", "x"), "");
    }
}
