//! Branches and rescued work, between the hub and a host.

use std::path::Path;

use paw_core::{BranchName, ErrorReport};
use paw_host::git::{BranchLocation, Git, GitError, Repo};
use paw_worktree::rescue;

use super::HubError;
use crate::remote::RemoteHost;

/// The tip of a branch, which is created at the main checkout's commit if it does not exist anywhere.
pub(super) fn find_or_create(git: &Git, branch: &BranchName) -> Result<(String, bool), HubError> {
    let source = match git.find_branch(branch)? {
        BranchLocation::Local => {
            let tip = git.find_tip(branch)?.ok_or(HubError::NoCommit)?;
            return Ok((tip, false));
        }
        BranchLocation::Remote(remote) => format!("refs/remotes/{remote}/{branch}"),
        BranchLocation::Nowhere => "HEAD".to_owned(),
    };
    let tip = git.find_object(&source, "commit")?.ok_or(HubError::NoCommit)?;
    git.create_ref(&branch.full_ref(), &tip)?;
    Ok((tip, true))
}

/// Brings a branch from its host. If it was rewritten there, the tip that it had here is stored first, for `git paw undo`.
pub fn fetch_branch(repo: &Repo, host: &RemoteHost, branch: &BranchName) -> Result<(), HubError> {
    let (git, full) = (repo.git(), branch.full_ref());
    let incoming = format!("refs/paw/hosts/{}/{branch}", host.name);
    let path = host.path.as_deref().unwrap_or(Path::new(""));
    let fetched = git.fetch_from((&host.target, path), [format!("+{full}:{incoming}")]);
    fetched.map_err(|error| match &error {
        GitError::Failed { stderr, .. } if stderr.contains("couldn't find remote ref") => {
            HubError::NoBranch { host: host.name.clone(), branch: branch.clone() }
        }
        _ => explain(host, error),
    })?;
    let new = git.find_object(&incoming, "commit")?.ok_or(HubError::NoCommit)?;
    let Some(old) = git.find_tip(branch)? else {
        git.create_ref(&full, &new)?;
        return Ok(());
    };
    if old != new {
        if !git.is_ancestor(&old, &new)? {
            rescue::store_tip(repo, branch, "it was rewritten on another machine")?;
        }
        git.run(["update-ref", full.as_str(), new.as_str(), old.as_str()])?;
    }
    Ok(())
}

/// Brings the work that a host kept before a removal, for `git paw undo`.
pub fn fetch_rescues(repo: &Repo, host: &RemoteHost) -> Result<(), HubError> {
    let path = host.path.as_deref().unwrap_or(Path::new(""));
    let all = format!("{0}*:{0}*", rescue::REFS);
    repo.git().fetch_from((&host.target, path), [all]).map_err(|error| explain(host, error))
}

/// Stores refs of the hub in the clone of a host. git-paw receives them there, so that it can refuse a copy of the hub.
pub fn push(repo: &Repo, host: &RemoteHost, refs: impl IntoIterator<Item = String>) -> Result<(), HubError> {
    let path = host.path.as_deref().unwrap_or(Path::new(""));
    let pushed = repo.git().push_to((&host.target, path), &host.receiver(), refs);
    pushed.map_err(|error| explain(host, error))
}

/// A machine that cannot be reached, or refuses, is not a problem of git.
fn explain(host: &RemoteHost, error: GitError) -> HubError {
    match &error {
        GitError::Failed { stderr, .. } => match host.target.explain_git(stderr) {
            Some(lost) => {
                let printed = ErrorReport::find_printed(stderr);
                printed.map_or(lost.into(), |printed| host.refusal(printed).into())
            }
            None => error.into(),
        },
        GitError::NotARepository(_)
        | GitError::NotInstalled
        | GitError::Unexpected { .. }
        | GitError::Process(_) => error.into(),
    }
}
