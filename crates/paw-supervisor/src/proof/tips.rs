//! Which tips of branches are proven, for views of a session.

use paw_core::{AgentId, BranchName};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_view::{BranchTip, SessionView, ViewEvent};

use super::{ProofError, ProofStore};

/// Adds the tips of the members' branches to a view. If that fails, the rest of the view is still shown; without its tip no
/// branch is shown as proven.
pub fn add_tips(view: &mut SessionView, repo: &Repo, dirs: &Dirs) {
    let members = view.agents.iter().filter_map(|agent| Some((agent.id.clone(), agent.branch()?.clone())));
    match load_tips(&members.collect::<Vec<_>>(), repo, dirs) {
        Ok(tips) => {
            view.apply(ViewEvent::Tips(tips));
        }
        Err(error) => tracing::warn!(target: "paw::proof", "cannot read the signed proofs: {error}"),
    }
}

/// The tips of these agents' branches.
pub fn load_tips(
    members: &[(AgentId, BranchName)],
    repo: &Repo,
    dirs: &Dirs,
) -> Result<Vec<(AgentId, BranchTip)>, ProofError> {
    if members.is_empty() {
        return Ok(Vec::new());
    }
    let branches: Vec<&BranchName> = members.iter().map(|(_, branch)| branch).collect();
    let commits = repo.git().find_tips(&branches)?;
    let store = ProofStore::open(repo, dirs);
    let mut tips = Vec::new();
    for (agent, branch) in members {
        if let Some(commit) = commits.get(branch) {
            let proven = store.is_proven(commit)?;
            tips.push((agent.clone(), BranchTip { commit: commit.clone(), proven }));
        }
    }
    Ok(tips)
}
