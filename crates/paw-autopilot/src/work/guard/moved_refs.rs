//! Which movements of refs count. Other agents and the user move refs of the same repository, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paw_host::git::Git;

use super::RepositoryGuard;
use crate::work::{ActiveRun, ProjectContext, WorkError};

/// What moved.
#[derive(Debug, Default)]
pub(super) struct MovedRefs {
    /// A movement that ends the turn.
    pub(super) forbidden: Option<String>,
    /// The default branch moved to commits that existed before.
    pub(super) base: bool,
}

/// Every ref of the repository and of remotes on this machine.
pub(super) fn load_refs(
    context: &ProjectContext,
    config: &BTreeMap<String, Vec<String>>,
) -> Result<BTreeMap<String, String>, WorkError> {
    let mut refs = BTreeMap::new();
    let listing = context.git.plumb(None, ["for-each-ref", "--format=%(objectname) %(refname)"])?;
    for (oid, name) in lines(&listing) {
        refs.insert(name, oid);
    }
    for (remote, url) in local_remotes(config) {
        // A remote that is gone or broken has no refs to compare.
        if let Ok(listing) = context.git.plumb(None, ["ls-remote", "--quiet", &url]) {
            refs.extend(lines(&listing).map(|(oid, name)| (format!("{remote}:{name}"), oid)));
        }
    }
    Ok(refs)
}

/// Remotes that are directories: asking them is cheap.
fn local_remotes(config: &BTreeMap<String, Vec<String>>) -> Vec<(String, String)> {
    let url = |(key, values): (&String, &Vec<String>)| {
        let name = key.strip_prefix("remote.")?;
        let name = name.strip_suffix(".url").or_else(|| name.strip_suffix(".pushurl"))?;
        let url = values.last()?;
        let path = url.strip_prefix("file://").unwrap_or(url);
        Path::new(path).is_absolute().then(|| (name.to_owned(), url.clone()))
    };
    config.iter().filter_map(url).collect()
}

/// Object and name, separated by a space or a tab.
fn lines(listing: &[u8]) -> impl Iterator<Item = (String, String)> {
    let text = String::from_utf8_lossy(listing).into_owned();
    let parsed: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_once([' ', '\t']))
        .map(|(oid, name)| (oid.to_owned(), name.to_owned()))
        .collect();
    parsed.into_iter()
}

pub(super) fn judge(
    work: &ActiveRun,
    before: &RepositoryGuard,
    now: &RepositoryGuard,
) -> Result<MovedRefs, WorkError> {
    let mut moved = MovedRefs::default();
    if before.refs == now.refs {
        return Ok(moved);
    }
    let own = work.run.branch.as_ref().map(paw_core::BranchName::full_ref).unwrap_or_default();
    let base = work.run.request.default_branch.as_ref().map(paw_core::BranchName::full_ref);
    let mut elsewhere = branches_elsewhere(&work.context)?;
    elsewhere.retain(|name| Some(name) != base.as_ref());
    let changed = now.refs.iter().filter(|(name, oid)| before.refs.get(*name) != Some(*oid) && **name != own);
    for (name, oid) in changed {
        let is_base = Some(name) == base.as_ref();
        if name.starts_with("refs/replace/") {
            moved.forbidden = Some(format!("{name} replaces an object (git replace -d deletes it)"));
        } else if let Some(remote) = find_remote(name) {
            if !work.notes.pushed && is_pushed(work, before, oid)? {
                moved.forbidden = Some(format!("another process pushed the branch to {remote}"));
            }
        } else if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
            // An agent in another worktree commits to its own branch.
            if !elsewhere.contains(name) && is_new(&work.context.git, before, now, &elsewhere, oid)? {
                let shown = name.trim_start_matches("refs/heads/").trim_start_matches("refs/");
                let short: String = oid.chars().take(7).collect();
                moved.forbidden = Some(format!("{shown} was moved to {short}, a commit of this turn"));
            } else if is_base {
                moved.base = true;
            }
        }
    }
    if let Some(base) = base.filter(|base| before.refs.contains_key(base) && !now.refs.contains_key(base)) {
        moved.forbidden = Some(format!("{} was deleted", base.trim_start_matches("refs/heads/")));
    }
    Ok(moved)
}

/// The remote and branch of a ref that belongs to a remote.
fn find_remote(name: &str) -> Option<String> {
    if let Some(tracking) = name.strip_prefix("refs/remotes/") {
        return Some(tracking.to_owned());
    }
    let (remote, rest) = name.split_once(':')?;
    Some(format!("{remote}/{}", rest.trim_start_matches("refs/heads/")))
}

/// Whether a remote got a commit of this run, or one that was made in this turn. A fetch brings older ones.
fn is_pushed(work: &ActiveRun, before: &RepositoryGuard, oid: &str) -> Result<bool, WorkError> {
    let git = &work.context.git;
    if git.find_object(oid, "commit")?.is_none() {
        return Ok(false);
    }
    let made = git.line(["log", "-1", "--format=%ct", oid])?.parse::<i64>().unwrap_or_default();
    let of_run = match &work.run.head {
        Some(head) if *head != work.notes.base => git.is_ancestor(head, oid)?,
        _ => false,
    };
    Ok(of_run || made >= before.at)
}

/// Whether a commit was not in the repository before: neither on a branch, nor fetched, nor made in another worktree.
fn is_new(
    git: &Git,
    before: &RepositoryGuard,
    now: &RepositoryGuard,
    elsewhere: &BTreeSet<String>,
    oid: &str,
) -> Result<bool, WorkError> {
    let earlier = before.refs.iter().filter(|(name, _)| name.starts_with("refs/"));
    let fetched = |name: &str| name.starts_with("refs/remotes/") || elsewhere.contains(name);
    let fetched = now.refs.iter().filter(|(name, _)| fetched(name));
    let known: BTreeSet<&str> = earlier.chain(fetched).map(|(_, oid)| oid.as_str()).collect();
    if known.contains(oid) {
        return Ok(false);
    }
    let excluded = known.iter().map(|known| format!("^{known}"));
    let input = [oid.to_owned()].into_iter().chain(excluded).collect::<Vec<_>>().join("\n") + "\n";
    let args = ["rev-list", "--max-count=1", "--ignore-missing", "--stdin"];
    let output = git.plumbing(None, args).input(input).capture()?;
    Ok(!output.exit.success() || !output.stdout.is_empty())
}

/// Branches that are checked out in other worktrees.
fn branches_elsewhere(context: &ProjectContext) -> Result<BTreeSet<String>, WorkError> {
    let top = context.top.canonicalize().unwrap_or_else(|_| context.top.clone());
    let others = context.git.worktrees()?.into_iter().filter(|entry| entry.path != top);
    Ok(others.filter_map(|entry| entry.branch().map(paw_core::BranchName::full_ref)).collect())
}
