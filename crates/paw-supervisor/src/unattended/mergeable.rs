//! Which verified branches can be merged. Pure.

use paw_core::AgentId;

use crate::merge::order::MergeDependency;

/// Splits the verified agents into those whose dependencies are verified, and the others, each with the agent it waits
/// for. Dependencies outside of the session are ignored.
pub fn mergeable(
    verified: &[AgentId],
    session: &[AgentId],
    edges: &[MergeDependency],
) -> (Vec<AgentId>, Vec<(AgentId, AgentId)>) {
    let mut able = verified.to_vec();
    let mut waiting = Vec::new();
    loop {
        let unmet = |agent: &AgentId| {
            let needs = edges.iter().filter(|edge| edge.dependent == *agent && session.contains(&edge.on));
            needs.map(|edge| edge.on.clone()).find(|on| !able.contains(on))
        };
        let Some((at, on)) = able.iter().enumerate().find_map(|(at, agent)| Some((at, unmet(agent)?))) else {
            return (able, waiting);
        };
        waiting.push((able.remove(at), on));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<AgentId> {
        names.iter().map(|name| AgentId::new(*name).unwrap()).collect()
    }

    fn edge(dependent: &str, on: &str) -> MergeDependency {
        MergeDependency { dependent: AgentId::new(dependent).unwrap(), on: AgentId::new(on).unwrap() }
    }

    #[test]
    fn work_that_depends_on_unverified_work_is_not_mergeable() {
        let session = ids(&["a", "b", "c", "d"]);
        let edges = [edge("b", "a"), edge("c", "b"), edge("d", "supervisor")];
        let (able, waiting) = mergeable(&ids(&["b", "c", "d"]), &session, &edges);
        assert_eq!(able, ids(&["d"]));
        assert_eq!(
            waiting,
            [("b", "a"), ("c", "b")]
                .map(|(one, on)| { (AgentId::new(one).unwrap(), AgentId::new(on).unwrap()) })
        );
        let (able, waiting) = mergeable(&session, &session, &edges);
        assert_eq!((able, waiting), (session, Vec::new()));
    }
}
