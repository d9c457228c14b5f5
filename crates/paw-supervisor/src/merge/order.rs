//! In which order branches are merged: whoever waited for another comes after it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use paw_core::AgentId;

/// `dependent` once said that it was blocked by `on`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub dependent: AgentId,
    pub on: AgentId,
}

/// The agents, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeOrder {
    /// Everybody who is in no cycle, each after those it depends on. Where nothing decides, as they were given.
    pub sequence: Vec<AgentId>,
    /// Those who wait for each other, each group once.
    pub cycles: Vec<Vec<AgentId>>,
}

/// Sorts the agents by what they waited for. Edges from or to somebody who is not among them say nothing.
pub fn order(agents: &[AgentId], edges: &[Edge]) -> MergeOrder {
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

/// Agents by number.
struct Graph<'a> {
    agents: Vec<&'a AgentId>,
    needs: Vec<BTreeSet<usize>>,
}

impl<'a> Graph<'a> {
    fn new(agents: &'a [AgentId], edges: &[Edge]) -> Self {
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

    /// Everybody an agent waits for, directly or by way of others; itself only if it is in a cycle.
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
            Edge { dependent: id(dependent), on: id(on) }
        };
        let edges: Vec<_> = edges.iter().map(edge).collect();
        let join = |ids: &[AgentId]| ids.iter().map(AgentId::as_str).collect::<Vec<_>>().join(" ");
        let order = order(&agents, &edges);
        (join(&order.sequence), order.cycles.iter().map(|cycle| join(cycle)).collect())
    }

    #[test]
    fn agents_that_wait_for_nobody_merge_first_and_dependents_follow() {
        assert_eq!(of("a b c", &["a>b", "b>c"]), ("c b a".into(), vec![]));
        assert_eq!(of("a b c d", &["a>d", "c>a"]), ("b d a c".into(), vec![]));
    }

    #[test]
    fn without_edges_the_order_is_the_sessions_own() {
        assert_eq!(of("c a b a", &[]), ("c a b".into(), vec![]));
    }

    #[test]
    fn edges_to_strangers_and_repeated_ones_change_nothing() {
        assert_eq!(of("a b", &["a>supervisor", "x>a", "b>a", "b>a"]), ("a b".into(), vec![]));
    }

    #[test]
    fn every_cycle_is_found_and_the_others_are_still_sorted() {
        let (sequence, cycles) = of("a b c d e f g", &["a>b", "b>a", "c>d", "d>e", "e>c", "f>a", "g>f"]);
        assert_eq!(sequence, "f g");
        assert_eq!(cycles, ["a b", "c d e"]);
    }

    #[test]
    fn whoever_waits_for_itself_is_a_cycle() {
        assert_eq!(of("a b", &["a>a"]), ("b".into(), vec!["a".into()]));
    }

    proptest! {
        #[test]
        fn everybody_is_sorted_once_and_nobody_comes_before_what_it_waits_for(
            count in 1_usize..12,
            pairs in proptest::collection::vec((0_usize..14, 0_usize..14), 0..40),
        ) {
            let agents: Vec<_> = (0..count).map(|number| id(&format!("a{number}"))).collect();
            let edge = |(one, other): &(usize, usize)| Edge { dependent: id(&format!("a{one}")), on: id(&format!("a{other}")) };
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
            // In a cycle, everybody is waited for by somebody else of it, or by itself.
            for cycle in &cycles {
                for agent in cycle {
                    prop_assert!(edges.iter().any(|edge| edge.on == *agent && cycle.contains(&edge.dependent)));
                }
            }
        }

        #[test]
        fn without_a_way_back_there_is_no_cycle(
            count in 1_usize..12,
            pairs in proptest::collection::vec((0_usize..12, 0_usize..12), 0..40),
        ) {
            let agents: Vec<_> = (0..count).map(|number| id(&format!("a{number}"))).collect();
            let edges: Vec<_> = pairs
                .iter()
                .filter(|(one, other)| one > other)
                .map(|(one, other)| Edge { dependent: id(&format!("a{one}")), on: id(&format!("a{other}")) })
                .collect();
            prop_assert_eq!(order(&agents, &edges).cycles, Vec::<Vec<AgentId>>::new());
        }
    }
}
