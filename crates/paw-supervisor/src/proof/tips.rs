//! Which tips of branches are proven, for views of a session.

use paw_broker::Message;
use paw_core::{AgentId, BranchName};
use paw_host::files::Dirs;
use paw_host::git::Repo;
use paw_view::{BranchTip, SessionView, ViewEvent};

use super::{ProofError, ProofStore};

/// Adds the tips of the members' branches to a view, compared with the main branch. If that fails, the rest of the view is still
/// shown; without its tip no branch is shown as proven.
pub fn add_tips(view: &mut SessionView, repo: &Repo, dirs: &Dirs) {
    let base = repo.git().find_default_branch().ok().flatten();
    add(view, repo, dirs, base.as_ref());
}

/// Like [`add_tips`], without the comparison, which takes longer than everything else.
pub fn add_uncompared_tips(view: &mut SessionView, repo: &Repo, dirs: &Dirs) {
    add(view, repo, dirs, None);
}

fn add(view: &mut SessionView, repo: &Repo, dirs: &Dirs, base: Option<&BranchName>) {
    let members = view.agents.iter().filter_map(|agent| Some((agent.id.clone(), agent.branch()?.clone())));
    match load_tips(&members.collect::<Vec<_>>(), repo, dirs, base) {
        Ok(tips) => {
            view.apply(ViewEvent::Tips(tips));
        }
        Err(error) => tracing::warn!(target: "paw::proof", "cannot read the signed proofs: {error}"),
    }
}

/// Whether a tip may have moved or been proven since this message was sent.
pub fn is_about_tips(message: &Message) -> bool {
    matches!(
        message,
        Message::Verified(_) | Message::Artifact(_) | Message::Feedback(_) | Message::AdvancedMain(_)
    )
}

/// The tips of these agents' branches, compared with `base`.
pub fn load_tips(
    members: &[(AgentId, BranchName)],
    repo: &Repo,
    dirs: &Dirs,
    base: Option<&BranchName>,
) -> Result<Vec<(AgentId, BranchTip)>, ProofError> {
    if members.is_empty() {
        return Ok(Vec::new());
    }
    let branches: Vec<&BranchName> = members.iter().map(|(_, branch)| branch).collect();
    let commits = repo.git().compare_tips(&branches, base)?;
    let store = ProofStore::open(repo, dirs);
    let mut tips = Vec::new();
    for (agent, branch) in members {
        if let Some((commit, compared)) = commits.get(branch) {
            let proven = store.is_proven(commit)?;
            let (ahead, behind) = (compared.map(|it| it.ahead), compared.map(|it| it.behind));
            tips.push((agent.clone(), BranchTip { ahead, behind, ..BranchTip::new(commit, proven) }));
        }
    }
    Ok(tips)
}
