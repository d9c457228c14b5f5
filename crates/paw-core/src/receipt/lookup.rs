//! Finds the agent that a person means.

use crate::error::{Diagnostic, ErrorCode, ErrorReport};
use crate::name::HostName;

/// A name that is not the name of exactly one agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentLookupError {
    #[error("the session has no agent '{name}'")]
    Unknown { name: String, known: Vec<String> },
    #[error("'{name}' matches several agents: {}", matches.join(", "))]
    Ambiguous { name: String, matches: Vec<String> },
    #[error("{name} runs on the host '{host}', and this command works only for agents on this machine")]
    Elsewhere { name: String, host: HostName },
}

impl Diagnostic for AgentLookupError {
    fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::NotFound, self);
        match self {
            Self::Unknown { known, .. } => report.hint(format!("agents: {}", known.join(", "))),
            Self::Ambiguous { .. } => report.hint("type more of the name"),
            Self::Elsewhere { name, .. } => report.hint(format!("'git paw attach {name}' shows it")),
        }
    }
}

/// The index of the agent with this id or branch; else of the only one whose id, branch, or last part of the branch starts
/// with `name`. `agents` are pairs of id and branch.
pub fn find_agent(name: &str, agents: &[(&str, &str)]) -> Result<usize, AgentLookupError> {
    let exact = |is: &dyn Fn(&(&str, &str)) -> bool| agents.iter().position(is);
    if let Some(index) = exact(&|agent| agent.0 == name).or_else(|| exact(&|agent| agent.1 == name)) {
        return Ok(index);
    }
    let starts = |(id, branch): &(&str, &str)| {
        let last = branch.rsplit('/').next().unwrap_or_default();
        !name.is_empty() && [*id, *branch, last].iter().any(|text| text.starts_with(name))
    };
    let matches: Vec<usize> = (0..agents.len()).filter(|index| starts(&agents[*index])).collect();
    let branches = |indices: &[usize]| indices.iter().map(|index| agents[*index].1.to_owned()).collect();
    match matches.as_slice() {
        [only] => Ok(*only),
        [] => {
            let known = agents.iter().map(|(_, branch)| (*branch).to_owned()).collect();
            Err(AgentLookupError::Unknown { name: name.to_owned(), known })
        }
        several => Err(AgentLookupError::Ambiguous { name: name.to_owned(), matches: branches(several) }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AGENTS: [(&str, &str); 4] = [
        ("feat-api", "feat/api"),
        ("feat-api-2", "feat/api_2"),
        ("fix-login", "fix/login"),
        ("docs", "docs"),
    ];

    #[test]
    fn an_agent_is_found_by_id_branch_and_unique_prefix() {
        for (name, index) in
            [("feat-api", 0), ("feat/api", 0), ("feat/api_", 1), ("fix", 2), ("login", 2), ("d", 3)]
        {
            assert_eq!(find_agent(name, &AGENTS), Ok(index), "{name}");
        }
    }

    #[test]
    fn an_ambiguous_or_unknown_name_is_refused_with_the_candidates() {
        let error = find_agent("feat", &AGENTS).unwrap_err();
        assert_eq!(error.to_string(), "'feat' matches several agents: feat/api, feat/api_2");
        for name in ["", "x", "ogin"] {
            assert!(matches!(find_agent(name, &AGENTS), Err(AgentLookupError::Unknown { .. })), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_full_id_always_finds_its_agent(ids in proptest::collection::btree_set("[a-c]{1,3}", 1..6)) {
            let agents: Vec<_> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
            for (index, id) in ids.iter().enumerate() {
                prop_assert_eq!(find_agent(id, &agents), Ok(index));
            }
        }
    }
}
