//! Branches: the list of all, where each exists, and the default branch.

use std::collections::BTreeSet;

use paw_core::BranchName;

use super::{Git, GitError};

/// Where a branch exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchLocation {
    Local,
    /// Only as a remote-tracking branch of this remote.
    Remote(String),
    Nowhere,
}

impl Git {
    /// All local and remote branches, sorted, deduplicated, without the names of remotes.
    pub fn branches(&self) -> Result<Vec<BranchName>, GitError> {
        let remotes = self.remotes()?;
        let names = self.run(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"])?;
        let names = names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        Ok(branch_names(names, &remotes).into_iter().collect())
    }

    /// The local branches, sorted.
    pub fn local_branches(&self) -> Result<Vec<BranchName>, GitError> {
        let names = self.run(["for-each-ref", "--format=%(refname)", "refs/heads"])?;
        let names = names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        Ok(branch_names(names, &[]).into_iter().collect())
    }

    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        Ok(self.line(["remote"])?.lines().map(str::to_owned).collect())
    }

    pub fn has_ref(&self, full_ref: &str) -> Result<bool, GitError> {
        Ok(self.find(["show-ref", "--verify", "--quiet", full_ref])?.is_some())
    }

    /// A local branch takes precedence over remote ones, and `origin` over other remotes.
    pub fn find_branch(&self, branch: &BranchName) -> Result<BranchLocation, GitError> {
        if self.has_ref(&branch.full_ref())? {
            return Ok(BranchLocation::Local);
        }
        let mut remotes = self.remotes()?;
        remotes.sort_by_key(|remote| remote != "origin");
        for remote in remotes {
            if self.has_ref(&format!("refs/remotes/{remote}/{branch}"))? {
                return Ok(BranchLocation::Remote(remote));
            }
        }
        Ok(BranchLocation::Nowhere)
    }

    /// The default branch: `origin/HEAD`, else the user's `init.defaultBranch`, `main` or `master` if they exist, else the
    /// current branch. `None` if HEAD is detached. In the repository's own settings `init.defaultBranch` has no meaning, and
    /// any agent could write it there.
    pub fn find_default_branch(&self) -> Result<Option<BranchName>, GitError> {
        let origin = self.find(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])?;
        if let Some(name) = origin.as_deref().and_then(|name| name.strip_prefix("refs/remotes/origin/")) {
            return Ok(BranchName::new(name).ok());
        }
        let listed = self.find(["config", "--show-scope", "--get-all", "init.defaultBranch"])?;
        let listed = listed.unwrap_or_default();
        let of_user = |line: &&str| !line.starts_with("local\t") && !line.starts_with("worktree\t");
        let configured = listed.lines().rfind(of_user).and_then(|line| line.split('\t').nth(1));
        let configured = configured.map(str::to_owned);
        for name in configured.into_iter().chain(["main".to_owned(), "master".to_owned()]) {
            if let Ok(branch) = BranchName::new(name)
                && self.has_ref(&branch.full_ref())?
            {
                return Ok(Some(branch));
            }
        }
        self.find_current_branch()
    }

    /// The branch that is checked out here; `None` if HEAD is detached. It may have no commits yet.
    pub fn find_current_branch(&self) -> Result<Option<BranchName>, GitError> {
        let head = self.find(["symbolic-ref", "--quiet", "HEAD"])?;
        Ok(head
            .as_deref()
            .and_then(|head| head.strip_prefix("refs/heads/"))
            .and_then(|name| BranchName::new(name).ok()))
    }
}

/// Omits names that are not UTF-8, which git paw cannot store.
fn branch_names<'a>(full_refs: impl Iterator<Item = &'a [u8]>, remotes: &[String]) -> BTreeSet<BranchName> {
    full_refs
        .filter_map(|name| std::str::from_utf8(name).ok())
        .filter_map(|name| match name.strip_prefix("refs/remotes/") {
            Some(tracking) => without_remote(tracking, remotes),
            None => name.strip_prefix("refs/heads/"),
        })
        .filter_map(|name| BranchName::new(name).ok())
        .collect()
}

/// A remote name may contain `/`, so the longest matching remote is removed. `HEAD` is not a branch.
fn without_remote<'a>(tracking: &'a str, remotes: &[String]) -> Option<&'a str> {
    let of = |remote: &String| tracking.strip_prefix(remote.as_str())?.strip_prefix('/');
    let branch = remotes.iter().filter_map(of).min_by_key(|rest| rest.len())?;
    (branch != "HEAD").then_some(branch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_names_are_stripped_even_with_a_slash_and_head_is_not_a_branch() {
        let remotes = ["origin".to_owned(), "team/fork".to_owned(), "team".to_owned()];
        let refs: [&[u8]; 7] = [
            b"refs/heads/main",
            b"refs/remotes/origin/main",
            b"refs/remotes/origin/HEAD",
            b"refs/remotes/team/fork/feat/x",
            b"refs/remotes/team/feat/y",
            b"refs/heads/\xff",
            b"refs/remotes/gone/z",
        ];
        let names: Vec<_> = branch_names(refs.into_iter(), &remotes).into_iter().map(String::from).collect();
        assert_eq!(names, ["feat/x", "feat/y", "main"]);
    }
}
