//! The agents and branches of a merge.

use paw_core::receipt::{AgentLookupError, find_agent};
use paw_core::{AgentId, BranchName, Receipt};

use super::MergeError;

/// An agent with the branch it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeMember {
    pub agent: AgentId,
    pub branch: BranchName,
}

/// The agents of a session, in its order; those on other machines last.
pub fn members_of(receipt: &Receipt) -> Vec<MergeMember> {
    let members = receipt.agent_ids().into_iter().zip(&receipt.worktrees);
    let members = members.map(|(agent, row)| MergeMember { agent, branch: row.branch.clone() });
    let remote = receipt.remote_agents().iter();
    let remote = remote.map(|row| MergeMember { agent: row.agent_id.clone(), branch: row.branch.clone() });
    members.chain(remote).collect()
}

/// The agent of a branch; for a branch of no member, an id made from its name.
pub fn agent_of(members: &[MergeMember], branch: &BranchName) -> AgentId {
    let member = members.iter().find(|member| member.branch == *branch);
    member.map_or_else(|| AgentId::slug(branch), |member| member.agent.clone())
}

/// The members of the session, or those named in `only` by branch, agent or a unique prefix. A named branch may be outside of
/// the session.
pub fn choose_members(
    session: Option<Vec<MergeMember>>,
    only: &[String],
    base: &BranchName,
    exists: impl Fn(&BranchName) -> bool,
) -> Result<Vec<MergeMember>, MergeError> {
    if only.is_empty() {
        let mut members = session.ok_or(MergeError::NoSession)?;
        members.retain(|member| member.branch != *base);
        return Ok(members);
    }
    let session = session.unwrap_or_default();
    let mut chosen: Vec<MergeMember> = Vec::new();
    for name in only {
        let is_it = |member: &&MergeMember| member.branch.as_str() == name || member.agent.as_str() == name;
        let by_branch = session.iter().find(|member| member.branch.as_str() == name);
        let outside = BranchName::new(name.as_str()).ok().filter(&exists);
        let by_prefix = || if outside.is_some() { Ok(None) } else { find_by_prefix(name, &session) };
        let member = if let Some(member) = by_branch.or_else(|| session.iter().find(is_it)) {
            member.clone()
        } else if let Some(member) = by_prefix()? {
            member.clone()
        } else {
            let branch = outside.ok_or_else(|| MergeError::Unknown(name.clone()))?;
            let taken = |id: &AgentId| session.iter().chain(&chosen).any(|member| member.agent == *id);
            MergeMember { agent: AgentId::for_branch(&branch, taken), branch }
        };
        if member.branch == *base {
            return Err(MergeError::IntoItself(member.branch));
        }
        if !chosen.iter().any(|other| other.branch == member.branch) {
            chosen.push(member);
        }
    }
    Ok(chosen)
}

fn find_by_prefix<'a>(name: &str, session: &'a [MergeMember]) -> Result<Option<&'a MergeMember>, MergeError> {
    let names: Vec<_> =
        session.iter().map(|member| (member.agent.as_str(), member.branch.as_str())).collect();
    match find_agent(name, &names) {
        Ok(index) => Ok(session.get(index)),
        Err(AgentLookupError::Unknown { .. }) => Ok(None),
        Err(ambiguous) => Err(ambiguous.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(name: &str) -> BranchName {
        BranchName::new(name).unwrap()
    }

    fn member(agent: &str, name: &str) -> MergeMember {
        MergeMember { agent: AgentId::new(agent).unwrap(), branch: branch(name) }
    }

    fn session() -> Vec<MergeMember> {
        vec![member("feat-a", "feat/a"), member("feat-b", "feat/b"), member("main", "main")]
    }

    fn names(only: &[&str]) -> Result<Vec<String>, MergeError> {
        let only: Vec<_> = only.iter().map(|name| (*name).to_owned()).collect();
        let chosen =
            choose_members(Some(session()), &only, &branch("main"), |branch| branch.as_str() == "topic")?;
        Ok(chosen.into_iter().map(|member| format!("{}={}", member.agent, member.branch)).collect())
    }

    #[test]
    fn without_names_all_branches_of_the_session_except_the_base_are_chosen() {
        assert_eq!(names(&[]).unwrap(), ["feat-a=feat/a", "feat-b=feat/b"]);
    }

    #[test]
    fn a_member_is_named_by_branch_agent_or_local_branch_and_chosen_once() {
        assert_eq!(names(&["feat-b", "feat/b", "topic"]).unwrap(), ["feat-b=feat/b", "topic=topic"]);
    }

    #[test]
    fn a_member_is_named_by_a_unique_prefix_and_an_ambiguous_one_is_refused() {
        assert_eq!(names(&["b"]).unwrap(), ["feat-b=feat/b"]);
        assert!(matches!(names(&["feat"]), Err(MergeError::Ambiguous(_))));
        assert_eq!(names(&["topic"]).unwrap(), ["topic=topic"], "a branch outside of the session");
    }

    #[test]
    fn unknown_names_and_the_base_branch_are_refused() {
        assert!(matches!(names(&["gone"]), Err(MergeError::Unknown(name)) if name == "gone"));
        assert!(matches!(names(&["--force"]), Err(MergeError::Unknown(_))));
        assert!(matches!(names(&["main"]), Err(MergeError::IntoItself(_))));
    }

    #[test]
    fn without_a_session_a_merge_requires_branch_names() {
        assert!(matches!(choose_members(None, &[], &branch("main"), |_| true), Err(MergeError::NoSession)));
    }
}
