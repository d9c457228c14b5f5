//! Who takes part in a merge.

use paw_core::{AgentId, BranchName, Receipt};

use super::MergeError;

/// An agent with the branch it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub agent: AgentId,
    pub branch: BranchName,
}

/// The agents of a session, in its order.
pub fn members_of(receipt: &Receipt) -> Vec<Member> {
    let members = receipt.agent_ids().into_iter().zip(&receipt.worktrees);
    members.map(|(agent, row)| Member { agent, branch: row.branch.clone() }).collect()
}

/// Whose branch it is. One that is no member's goes by a name made of the branch.
pub fn agent_of(members: &[Member], branch: &BranchName) -> AgentId {
    let member = members.iter().find(|member| member.branch == *branch);
    member.map_or_else(|| AgentId::slug(branch), |member| member.agent.clone())
}

/// Those of the session, or only those that were named: by branch, or by agent. A named branch need not be the
/// session's.
pub fn choose(
    session: Option<Vec<Member>>,
    only: &[String],
    base: &BranchName,
    exists: impl Fn(&BranchName) -> bool,
) -> Result<Vec<Member>, MergeError> {
    if only.is_empty() {
        let mut members = session.ok_or(MergeError::NoSession)?;
        members.retain(|member| member.branch != *base);
        return Ok(members);
    }
    let session = session.unwrap_or_default();
    let mut chosen: Vec<Member> = Vec::new();
    for name in only {
        let is_it = |member: &&Member| member.branch.as_str() == name || member.agent.as_str() == name;
        let by_branch = session.iter().find(|member| member.branch.as_str() == name);
        let member = if let Some(member) = by_branch.or_else(|| session.iter().find(is_it)) {
            member.clone()
        } else {
            let branch = BranchName::new(name.as_str()).ok().filter(&exists);
            let branch = branch.ok_or_else(|| MergeError::Unknown(name.clone()))?;
            let taken = |id: &AgentId| session.iter().chain(&chosen).any(|member| member.agent == *id);
            Member { agent: AgentId::for_branch(&branch, taken), branch }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(name: &str) -> BranchName {
        BranchName::new(name).unwrap()
    }

    fn member(agent: &str, name: &str) -> Member {
        Member { agent: AgentId::new(agent).unwrap(), branch: branch(name) }
    }

    fn session() -> Vec<Member> {
        vec![member("feat-a", "feat/a"), member("feat-b", "feat/b"), member("main", "main")]
    }

    fn names(only: &[&str]) -> Result<Vec<String>, MergeError> {
        let only: Vec<_> = only.iter().map(|name| (*name).to_owned()).collect();
        let chosen = choose(Some(session()), &only, &branch("main"), |branch| branch.as_str() == "topic")?;
        Ok(chosen.into_iter().map(|member| format!("{}={}", member.agent, member.branch)).collect())
    }

    #[test]
    fn without_names_the_whole_session_takes_part_but_not_the_branch_merged_into() {
        assert_eq!(names(&[]).unwrap(), ["feat-a=feat/a", "feat-b=feat/b"]);
    }

    #[test]
    fn a_name_is_a_branch_an_agent_or_any_local_branch_and_counts_once() {
        assert_eq!(names(&["feat-b", "feat/b", "topic"]).unwrap(), ["feat-b=feat/b", "topic=topic"]);
    }

    #[test]
    fn what_nobody_knows_and_the_branch_itself_are_refused() {
        assert!(matches!(names(&["gone"]), Err(MergeError::Unknown(name)) if name == "gone"));
        assert!(matches!(names(&["--force"]), Err(MergeError::Unknown(_))));
        assert!(matches!(names(&["main"]), Err(MergeError::IntoItself(_))));
    }

    #[test]
    fn without_a_session_branches_have_to_be_named() {
        assert!(matches!(choose(None, &[], &branch("main"), |_| true), Err(MergeError::NoSession)));
    }
}
