//! Branches and rescued work, between the hub and a host.

use std::collections::BTreeSet;
use std::path::Path;

use paw_core::paths::PawDir;
use paw_core::receipt::ClusterReceipt;
use paw_core::{AgentId, BranchName, ErrorReport};
use paw_host::files::{self, Access};
use paw_host::git::{BranchLocation, Git, GitError, Repo};
use paw_worktree::advance::{self, AdvanceResult, BranchHolder};
use paw_worktree::rescue::{self, RefusedRescue};

use super::HubError;
use crate::remote::RemoteHost;

/// Why a branch moved, in its reflog.
const FETCH_REFLOG: &str = "git paw: fetched from another machine";

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

/// Brings a branch from its host, with the files of the worktree that has it checked out here, see [`move_branch`].
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
    move_branch(repo, branch, (&old, &new), "it was rewritten on another machine")
}

/// Moves a branch of the hub to a commit of its host. Where it is checked out, it only moves forward, with the files, and only
/// if none of them was changed. Where it is not, a tip that is left behind is stored first, for `git paw undo`.
pub(crate) fn move_branch(
    repo: &Repo,
    branch: &BranchName,
    (old, new): (&str, &str),
    why_left: &str,
) -> Result<(), HubError> {
    let git = repo.git();
    if old == new {
        return Ok(());
    }
    require_free(repo, branch)?;
    let in_use = |why: String| HubError::InUse { branch: branch.clone(), why };
    if git.is_ancestor(old, new)? {
        return match advance::fast_forward(repo, branch, (old, new), FETCH_REFLOG)? {
            AdvanceResult::Done => Ok(()),
            // Another command may have fetched it at the same time.
            AdvanceResult::Moved if git.find_tip(branch)?.as_deref() == Some(new) => Ok(()),
            AdvanceResult::Moved => Err(in_use("it is moved by another command".to_owned())),
            AdvanceResult::Refused(why) => Err(in_use(why)),
        };
    }
    if let BranchHolder::CheckedOut(path) = advance::find_holder(repo, branch)? {
        let why = format!("it was rewritten there and is checked out at {}", path.display());
        return Err(in_use(why));
    }
    rescue::store_tip(repo, branch, why_left)?;
    git.run(["update-ref", "-m", FETCH_REFLOG, branch.full_ref().as_str(), new, old])?;
    Ok(())
}

/// Fails if a worktree here has the branch checked out and cannot be brought along.
pub(crate) fn require_free(repo: &Repo, branch: &BranchName) -> Result<(), HubError> {
    match advance::find_obstacle(repo, branch)? {
        Some(why) => Err(HubError::InUse { branch: branch.clone(), why }),
        None => Ok(()),
    }
}

/// Brings the work that a host kept before a removal, for `git paw undo`: harmless work of the agents that it has or had in this
/// session. Everything else stays there, and is returned the first time.
pub fn fetch_rescues(
    repo: &Repo,
    host: &RemoteHost,
    cluster: Option<&ClusterReceipt>,
) -> Result<Vec<RefusedRescue>, HubError> {
    let path = host.path.as_deref().unwrap_or(Path::new(""));
    let staged = format!("refs/paw/fetched/{}/", host.name);
    let fetched = repo.git().fetch_from((&host.target, path), [format!("+{}*:{staged}*", rescue::REFS)]);
    fetched.map_err(|error| explain(host, error))?;
    let file = PawDir::of(&repo.common_dir).judged_rescues(&host.name);
    let text = files::load_text(&file)?;
    let before = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(BTreeSet::new);
    let mut judged = before.clone();
    let agents = cluster.and_then(|cluster| Some(&cluster.hosts.get(&host.name)?.agents));
    let is_wanted = |branch: &BranchName| {
        agents.is_some_and(|agents| agents.contains(&AgentId::for_branch(branch, |_| false)))
    };
    let refused = rescue::take_fetched(repo, &staged, &mut judged, is_wanted)?;
    if judged != before {
        files::write_atomic(&file, &serde_json::to_vec(&judged).unwrap_or_default(), Access::Private)?;
    }
    Ok(refused)
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
