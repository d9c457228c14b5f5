//! Commits and changes of a project.

use std::path::Path;

use paw_core::text;
use paw_host::git::Git;
use serde::Serialize;

use super::{ProjectError, find_commit};
use crate::approval::is_private;

const MOST_COMMITS: usize = 200;
/// The largest patch in one answer.
const MOST_BYTES: usize = 128 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectCommit {
    pub commit: String,
    pub author: String,
    pub at: String,
    pub subject: String,
}

impl ProjectCommit {
    /// The newest commits of a branch, newest first.
    pub fn newest(dir: &Path, revision: Option<&str>, limit: usize) -> Result<Vec<Self>, ProjectError> {
        let git = Git::at(dir);
        let tip = find_commit(&git, revision.unwrap_or("HEAD"))?;
        let count = format!("--max-count={}", limit.clamp(1, MOST_COMMITS));
        let format = "--format=%H%x00%an%x00%aI%x00%s";
        let listing = git.plumb(None, ["rev-list", "--no-commit-header", &count, format, &tip])?;
        let line = |line: &str| {
            let mut fields = line.splitn(4, '\0').map(|field| text::line(field).into_owned());
            let mut next = || fields.next();
            Some(Self { commit: next()?, author: next()?, at: next()?, subject: next()? })
        };
        Ok(String::from_utf8_lossy(&listing).lines().filter_map(line).collect())
    }
}

/// The change from one commit to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProjectDiff {
    pub base: String,
    pub commit: String,
    pub files: Vec<String>,
    pub patch: String,
    pub truncated: bool,
}

impl ProjectDiff {
    /// The change of a branch since it left `base`, by default the default branch.
    pub fn find(dir: &Path, revision: &str, base: Option<&str>) -> Result<Self, ProjectError> {
        let git = Git::at(dir);
        let commit = find_commit(&git, revision)?;
        let base = match base {
            Some(base) => find_commit(&git, base)?,
            None => git
                .find_default_branch()?
                .map_or(Ok(commit.clone()), |main| find_commit(&git, &main.full_ref()))?,
        };
        let found = git.find(["merge-base", &base, &commit])?.unwrap_or(base);
        let base = if found == commit {
            // A commit of the base itself: what it changed.
            git.find_object(&format!("{commit}^"), "commit").ok().flatten().unwrap_or(found)
        } else {
            found
        };
        let fixed = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];
        let names = git.plumb(None, fixed.iter().chain(&["-z", "--name-only", &base, &commit]).copied())?;
        let names =
            names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(String::from_utf8_lossy);
        let (shown, hidden): (Vec<_>, Vec<_>) = names.partition(|name| !is_private(Path::new(name.as_ref())));
        let excluded = hidden.iter().map(|name| format!(":(exclude,literal,top){name}"));
        let sides = ["--patch", &base, &commit, "--"];
        let words = fixed.iter().chain(&sides).map(|word| (*word).to_owned());
        let patch = git.plumb(None, words.chain(excluded))?;
        let truncated = patch.len() > MOST_BYTES;
        let patch = String::from_utf8_lossy(&patch[..patch.len().min(MOST_BYTES)]);
        let files = shown.iter().map(|name| text::line(name).into_owned()).collect();
        Ok(Self { base, commit, files, patch: text::block(&patch).into_owned(), truncated })
    }
}
