//! Lists, adds and removes worktrees.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use paw_core::BranchName;

use super::{Git, GitError, path, run};
use crate::locks::WorktreesLock;

/// One entry of `git worktree list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitWorktree {
    pub path: PathBuf,
    pub head: Head,
    /// The checked out commit; `None` on an unborn branch.
    pub commit: Option<String>,
    /// The reason of the lock, which may be empty.
    pub locked: Option<String>,
    /// Why git would prune it, usually because its directory is gone.
    pub prunable: Option<String>,
}

/// What is checked out in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Branch(BranchName),
    /// A branch whose name is not UTF-8.
    Unreadable(Vec<u8>),
    Detached,
    Bare,
}

impl GitWorktree {
    pub fn branch(&self) -> Option<&BranchName> {
        match &self.head {
            Head::Branch(branch) => Some(branch),
            Head::Unreadable(_) | Head::Detached | Head::Bare => None,
        }
    }
}

impl Git {
    /// All worktrees, the main checkout first.
    pub fn worktrees(&self) -> Result<Vec<GitWorktree>, GitError> {
        Ok(parse(&self.run(["worktree", "list", "--porcelain", "-z"])?))
    }

    /// Creates a worktree with a detached HEAD. `options` are passed to `git worktree add`.
    pub fn add_detached_worktree(
        &self,
        dir: &Path,
        commit: &str,
        options: &[&str],
        _lock: &WorktreesLock,
    ) -> Result<(), GitError> {
        let mut args: Vec<OsString> = ["worktree", "add", "--quiet", "--detach"].map(Into::into).into();
        args.extend(options.iter().map(Into::into));
        args.extend(["--".into(), dir.into(), commit.into()]);
        self.plumb(None, args).map(drop)
    }

    /// Deletes and unregisters a worktree, even if it is dirty or locked.
    pub fn remove_worktree(&self, dir: &Path, lock: &WorktreesLock) -> Result<(), GitError> {
        let args: [OsString; 6] =
            ["worktree".into(), "remove".into(), "--force".into(), "--force".into(), "--".into(), dir.into()];
        run(&self.command(args).holding(lock.lock())).map(drop)
    }

    /// Unregisters every worktree whose directory is gone, except locked ones.
    pub fn prune_worktrees(&self, _lock: &WorktreesLock) -> Result<(), GitError> {
        self.run(["worktree", "prune"]).map(drop)
    }

    /// Updates the links of worktrees after the repository was moved.
    pub fn repair_worktrees(&self, _lock: &WorktreesLock) -> Result<(), GitError> {
        self.run(["worktree", "repair"]).map(drop)
    }

    pub fn unlock_worktree(&self, dir: &Path, _lock: &WorktreesLock) -> Result<(), GitError> {
        let args: [OsString; 4] = ["worktree".into(), "unlock".into(), "--".into(), dir.into()];
        self.run(args).map(drop)
    }

    /// Deletes a branch and its configuration, merged or not.
    pub fn delete_branch(&self, branch: &BranchName) -> Result<(), GitError> {
        self.run(["branch", "--quiet", "-D", "--", branch.as_str()]).map(drop)
    }
}

/// Attributes end with NUL; an empty attribute ends an entry.
fn parse(listing: &[u8]) -> Vec<GitWorktree> {
    let mut worktrees: Vec<GitWorktree> = Vec::new();
    for attribute in listing.split(|byte| *byte == 0) {
        let (name, value) = match attribute.iter().position(|byte| *byte == b' ') {
            Some(at) => (&attribute[..at], &attribute[at + 1..]),
            None => (attribute, &b""[..]),
        };
        if name == b"worktree" {
            worktrees.push(GitWorktree {
                path: path(value),
                head: Head::Detached,
                commit: None,
                locked: None,
                prunable: None,
            });
        } else if let Some(current) = worktrees.last_mut() {
            match name {
                b"HEAD" => current.commit = commit(value),
                b"branch" => current.head = head(value),
                b"bare" => current.head = Head::Bare,
                b"locked" => current.locked = Some(String::from_utf8_lossy(value).into_owned()),
                b"prunable" => current.prunable = Some(String::from_utf8_lossy(value).into_owned()),
                _ => {}
            }
        }
    }
    worktrees
}

fn commit(oid: &[u8]) -> Option<String> {
    let unborn = oid.iter().all(|digit| *digit == b'0');
    (!unborn).then(|| String::from_utf8_lossy(oid).into_owned())
}

fn head(full_ref: &[u8]) -> Head {
    let name = full_ref.strip_prefix(b"refs/heads/").unwrap_or(full_ref);
    let readable = std::str::from_utf8(name).ok().and_then(|name| BranchName::new(name).ok());
    readable.map_or_else(|| Head::Unreadable(name.to_vec()), Head::Branch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_worktree_list_with_every_attribute_is_parsed() {
        let listing = b"worktree /a\nb\0HEAD 1234\0branch refs/heads/main\0\0\
            worktree /w x\0HEAD 1234\0detached\0locked\0\0\
            worktree /y\0HEAD 1234\0branch refs/heads/feat/y\0locked usb disk\0prunable gone\0\0\
            worktree /z\0HEAD 1234\0branch refs/heads/\xff\0\0\
            worktree /bare\0bare\0\0";
        let found = parse(listing);
        let branch = |name: &str| Head::Branch(BranchName::new(name).unwrap());
        assert_eq!((found.len(), found[0].commit.as_deref()), (5, Some("1234")));
        assert_eq!((found[0].path.as_path(), &found[0].head), (Path::new("/a\nb"), &branch("main")));
        assert_eq!((found[1].head.clone(), found[1].locked.as_deref()), (Head::Detached, Some("")));
        assert_eq!(found[2].locked.as_deref(), Some("usb disk"));
        assert_eq!((found[2].prunable.as_deref(), &found[2].head), (Some("gone"), &branch("feat/y")));
        assert_eq!(found[3].head, Head::Unreadable(b"\xff".to_vec()));
        assert_eq!(found[4].head, Head::Bare);
    }

    proptest! {
        #[test]
        fn parsing_any_worktree_list_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&bytes);
        }
    }
}
