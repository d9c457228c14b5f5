//! The order in which branches are merged: an agent comes after the agents it depends on. Pure.

use std::collections::{BTreeMap, BTreeSet};

use paw_core::AgentId;

/// `dependent` reported that it was blocked by `on`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MergeDependency {
    pub dependent: AgentId,
    pub on: AgentId,
}

/// The agents in merge order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeOrder {
    /// The agents outside of cycles, each after those it depends on, otherwise in the given order.
    pub sequence: Vec<AgentId>,
    /// The groups of agents that depend on each other.
    pub cycles: Vec<Vec<AgentId>>,
}

/// Sorts the agents by their dependencies. Dependencies on other agents are ignored.
pub fn order(agents: &[AgentId], edges: &[MergeDependency]) -> MergeOrder {
    let graph = Graph::new(agents, edges);
    let reached: Vec<BTreeSet<usize>> =
        (0..graph.needs.len()).map(|agent| graph.reached_from(agent)).collect();
    let in_cycle = |agent: usize| reached[agent].contains(&agent);
    let name = |agent: &usize| graph.agents[*agent].clone();

    let mut cycles: Vec<Vec<AgentId>> = Vec::new();
    let mut grouped = BTreeSet::new();
    for agent in (0..graph.agents.len()).filter(|agent| in_cycle(*agent)) {
        if grouped.contains(&agent) {
            continue;
        }
        let mutual = |other: &usize| reached[agent].contains(other) && reached[*other].contains(&agent);
        let group: Vec<usize> = (0..graph.agents.len()).filter(mutual).collect();
        cycles.push(group.iter().map(name).collect());
        grouped.extend(group);
    }

    let mut left: BTreeSet<usize> = (0..graph.agents.len()).filter(|agent| !in_cycle(*agent)).collect();
    let mut sequence = Vec::with_capacity(left.len());
    while let Some(next) = left.iter().copied().find(|agent| graph.needs[*agent].is_disjoint(&left)) {
        left.remove(&next);
        sequence.push(name(&next));
    }
    MergeOrder { sequence, cycles }
}

/// The dependencies, with agents as numbers.
struct Graph<'a> {
    agents: Vec<&'a AgentId>,
    needs: Vec<BTreeSet<usize>>,
}

impl<'a> Graph<'a> {
    fn new(agents: &'a [AgentId], edges: &[MergeDependency]) -> Self {
        let mut numbers = BTreeMap::new();
        let mut distinct = Vec::new();
        for agent in agents {
            numbers.entry(agent).or_insert_with(|| {
                distinct.push(agent);
                distinct.len() - 1
            });
        }
        let mut needs = vec![BTreeSet::new(); distinct.len()];
        for edge in edges {
            if let (Some(dependent), Some(on)) = (numbers.get(&edge.dependent), numbers.get(&edge.on)) {
                needs[*dependent].insert(*on);
            }
        }
        Self { agents: distinct, needs }
    }

    /// Everything an agent depends on, directly or indirectly; itself only if it is in a cycle.
    fn reached_from(&self, agent: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<usize> = self.needs[agent].iter().copied().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(&self.needs[next]);
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    fn of(agents: &str, edges: &[&str]) -> (String, Vec<String>) {
        let agents: Vec<_> = agents.split_whitespace().map(id).collect();
        let edge = |text: &&str| {
            let (dependent, on) = text.split_once('>').unwrap();
            MergeDependency { dependent: id(dependent), on: id(on) }
        };
        let edges: Vec<_> = edges.iter().map(edge).collect();
        let join = |ids: &[AgentId]| ids.iter().map(AgentId::as_str).collect::<Vec<_>>().join(" ");
        let order = order(&agents, &edges);
        (join(&order.sequence), order.cycles.iter().map(|cycle| join(cycle)).collect())
    }

    #[test]
    fn independent_agents_merge_first_and_dependents_follow() {
        assert_eq!(of("a b c", &["a>b", "b>c"]), ("c b a".into(), vec![]));
        assert_eq!(of("a b c d", &["a>d", "c>a"]), ("b d a c".into(), vec![]));
    }

    #[test]
    fn without_dependencies_the_session_order_is_kept() {
        assert_eq!(of("c a b a", &[]), ("c a b".into(), vec![]));
    }

    #[test]
    fn repeated_dependencies_and_those_on_other_agents_are_ignored() {
        assert_eq!(of("a b", &["a>supervisor", "x>a", "b>a", "b>a"]), ("a b".into(), vec![]));
    }

    #[test]
    fn cycles_are_found_and_the_other_agents_are_sorted() {
        let (sequence, cycles) = of("a b c d e f g", &["a>b", "b>a", "c>d", "d>e", "e>c", "f>a", "g>f"]);
        assert_eq!(sequence, "f g");
        assert_eq!(cycles, ["a b", "c d e"]);
    }

    #[test]
    fn an_agent_that_depends_on_itself_is_a_cycle() {
        assert_eq!(of("a b", &["a>a"]), ("b".into(), vec!["a".into()]));
    }

    proptest! {
        #[test]
        fn every_agent_appears_once_and_after_its_dependencies(
            count in 1_usize..12,
            pairs in proptest::collection::vec((0_usize..14, 0_usize..14), 0..40),
        ) {
            let agents: Vec<_> = (0..count).map(|number| id(&format!("a{number}"))).collect();
            let edge = |(one, other): &(usize, usize)| MergeDependency { dependent: id(&format!("a{one}")), on: id(&format!("a{other}")) };
            let edges: Vec<_> = pairs.iter().map(edge).collect();
            let MergeOrder { sequence, cycles } = order(&agents, &edges);
            let mut all: Vec<_> = sequence.iter().chain(cycles.iter().flatten()).cloned().collect();
            all.sort();
            let mut expected = agents.clone();
            expected.sort();
            prop_assert_eq!(all, expected);
            let place = |agent: &AgentId| sequence.iter().position(|other| other == agent);
            for edge in &edges {
                if let (Some(dependent), Some(on)) = (place(&edge.dependent), place(&edge.on)) {
                    prop_assert!(on < dependent, "{:?}", edge);
                }
            }
            // Every agent of a cycle is a dependency of another agent of the cycle, or of itself.
            for cycle in &cycles {
                for agent in cycle {
                    prop_assert!(edges.iter().any(|edge| edge.on == *agent && cycle.contains(&edge.dependent)));
                }
            }
        }

        #[test]
        fn an_acyclic_graph_has_no_cycles(
            count in 1_usize..12,
            pairs in proptest::collection::vec((0_usize..12, 0_usize..12), 0..40),
        ) {
            let agents: Vec<_> = (0..count).map(|number| id(&format!("a{number}"))).collect();
            let edges: Vec<_> = pairs
                .iter()
                .filter(|(one, other)| one > other)
                .map(|(one, other)| MergeDependency { dependent: id(&format!("a{one}")), on: id(&format!("a{other}")) })
                .collect();
            prop_assert_eq!(order(&agents, &edges).cycles, Vec::<Vec<AgentId>>::new());
        }
    }
}
