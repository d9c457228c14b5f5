//! The repository that a directory belongs to.

use std::path::{Path, PathBuf};

use super::{Git, GitError, discover, path, run};
use crate::files::{self, FileError};

/// A repository as seen from one of its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// The main checkout, or the git directory itself when the repository is bare.
    pub root: PathBuf,
    /// The current worktree: the main checkout or a linked one. `None` in a bare repository and inside `.git`.
    pub worktree: Option<PathBuf>,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    pub bare: bool,
}

/// Waits until the objects and refs of a repository are on the disk, including those of earlier commands: by default, git does
/// not sync loose objects. Call it before deleting the only other copy of anything.
pub fn sync_repository(common_dir: &Path) -> Result<(), FileError> {
    files::sync_file_systems(&[common_dir, &common_dir.join("objects")])
}

impl Repo {
    /// Finds the repository of `dir`. For a linked worktree, `root` is its main checkout.
    pub fn discover(dir: &Path) -> Result<Self, GitError> {
        discover::find_usual_repository(dir).map_or_else(|| Self::ask_git(dir), Ok)
    }

    fn ask_git(dir: &Path) -> Result<Self, GitError> {
        let git = Git::at(dir);
        let command = git.command(
            ["rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree"]
                .into_iter()
                .chain(["--git-dir", "--git-common-dir", "--show-toplevel"]),
        );
        let output = command.capture()?;
        let answers: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'\n').collect();
        if answers.len() < 4 {
            return Err(if has_repository_above(dir) {
                super::failed(&command, &output)
            } else {
                GitError::NotARepository(dir.to_path_buf())
            });
        }
        let (bare, inside) = (answers[0] == b"true", answers[1] == b"true");
        // The last value ends with a newline, too. If a path contains a newline, query each path separately.
        let (git_dir, common_dir, worktree) = match &answers[2..] {
            [git_dir, common_dir, []] if !inside => (path(git_dir), path(common_dir), None),
            [git_dir, common_dir, top, []] if inside => (path(git_dir), path(common_dir), Some(path(top))),
            _ => (
                one_path(&git, "--git-dir")?,
                one_path(&git, "--git-common-dir")?,
                if inside { Some(one_path(&git, "--show-toplevel")?) } else { None },
            ),
        };
        let root = match &worktree {
            Some(worktree) if git_dir == common_dir => worktree.clone(),
            _ => main_checkout(&common_dir)?,
        };
        Ok(Self { bare: bare || root == common_dir, root, worktree, common_dir })
    }

    /// Runs git in the main checkout.
    pub fn git(&self) -> Git {
        Git::at(&self.root)
    }
}

fn one_path(git: &Git, question: &str) -> Result<PathBuf, GitError> {
    let answer = run(&git.command(["rev-parse", "--path-format=absolute", question]))?;
    Ok(path(answer.strip_suffix(b"\n").unwrap_or(&answer)))
}

/// Distinguishes "no repository" from "git refuses it" (another owner, a broken file) without parsing git's messages.
fn has_repository_above(dir: &Path) -> bool {
    dir.ancestors()
        .any(|dir| dir.join(".git").exists() || (dir.join("HEAD").exists() && dir.join("objects").exists()))
}

/// The main checkout of a git directory. A submodule names it in its configuration.
fn main_checkout(common_dir: &Path) -> Result<PathBuf, GitError> {
    let git = Git::at(common_dir);
    if let Some(named) = git.find(["config", "--get", "core.worktree"])? {
        let named = common_dir.join(named);
        return Ok(named.canonicalize().unwrap_or(named));
    }
    let bare = git.find(["config", "--type=bool", "--get", "core.bare"])?.as_deref() == Some("true");
    match common_dir.parent() {
        Some(parent) if !bare && common_dir.ends_with(".git") => Ok(parent.to_path_buf()),
        _ => Ok(common_dir.to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use paw_testkit::{Sandbox, git};

    use super::*;

    #[test]
    fn a_repository_is_found_as_git_finds_it() {
        let sandbox = Sandbox::new();
        let root = sandbox.root();
        let app = sandbox.repo("app").root;
        let other = sandbox.repo("other").root;
        fs::create_dir_all(app.join("deep/er")).unwrap();
        symlink(&app, root.join("link")).unwrap();
        let at = |dir: &Path, args: &[&str]| drop(git(dir, args.iter().copied()));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        at(&app, &["worktree", "add", "--quiet", "-b", "linked", &text(&root.join("linked"))]);
        at(&root, &["clone", "--quiet", "--bare", &text(&app), "bare.git"]);
        at(&root, &["clone", "--quiet", "--separate-git-dir", "apart", &text(&app), "separate"]);
        at(&other, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &text(&app), "sub"]);
        at(
            &root.join("bare.git"),
            &["worktree", "add", "--quiet", "-b", "of-bare", &text(&root.join("of-bare"))],
        );
        let moved = sandbox.repo("moved").root;
        at(&moved, &["config", "core.worktree", &text(&root.join("elsewhere"))]);
        fs::create_dir(root.join("elsewhere")).unwrap();
        let dirs = [
            "app",
            "app/deep/er",
            "link",
            "link/deep",
            "linked",
            "app/.git",
            "app/.git/objects",
            "bare.git",
            "separate",
            "other",
            "other/sub",
            "of-bare",
            "moved",
        ];
        let usual = ["app", "app/deep/er", "link", "link/deep", "linked", "other"];
        for dir in dirs {
            let path = root.join(dir);
            let asked = Repo::ask_git(&path).unwrap();
            let found = discover::find_usual_repository(&path);
            assert_eq!(found.is_some(), usual.contains(&dir), "{dir}");
            assert_eq!(found.unwrap_or_else(|| asked.clone()), asked, "{dir}");
        }
        assert!(Repo::discover(&root.join("elsewhere")).is_err());
    }
}
