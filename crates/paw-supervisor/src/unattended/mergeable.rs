//! Whose verified work can be merged. Pure.

use paw_core::AgentId;

use crate::merge::order::MergeDependency;

/// Those whose work waits for nothing that is not verified, and the others, each with whom it waits for. `edges` to
/// somebody who is not of the session count for nothing.
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
    fn work_that_waits_for_unverified_work_stays_out_and_so_does_what_waits_for_it() {
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
