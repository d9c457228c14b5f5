//! Whether the changes of two agents can conflict at all. Pure.
//!
//! Git is asked only about pairs that touch the same path, one a path and the other a directory above it, or a directory that
//! one of them has moved away: git moves files that the other adds there. Both names of a renamed file count as changed.

use std::collections::{BTreeMap, BTreeSet};

use super::AgentPair;

/// The paths that an agent has touched: changed files, and directories that it has emptied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TouchedPaths {
    paths: BTreeSet<String>,
    /// Changes with the paths.
    version: u64,
}

impl TouchedPaths {
    pub(super) fn replace(&mut self, paths: BTreeSet<String>) {
        if self.paths != paths {
            self.paths = paths;
            self.version += 1;
        }
    }

    fn meets(&self, other: &Self) -> bool {
        let (few, many) = if self.paths.len() <= other.paths.len() { (self, other) } else { (other, self) };
        few.paths.iter().any(|path| many.has_around(path))
    }

    /// Whether the path itself, a directory above it or a path below it is touched.
    fn has_around(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let below = format!("{path}/");
        self.paths.contains(path)
            || above.into_iter().any(|dir| self.paths.contains(dir))
            || self.paths.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }
}

/// Answers for pairs, kept until one of the two changes its set of paths.
#[derive(Debug, Default)]
pub(super) struct Overlaps {
    known: BTreeMap<AgentPair, ((u64, u64), bool)>,
}

impl Overlaps {
    pub(super) fn update(&mut self, pair: AgentPair, first: &TouchedPaths, second: &TouchedPaths) {
        let versions = (first.version, second.version);
        if self.known.get(&pair).is_none_or(|(known, _)| *known != versions) {
            self.known.insert(pair, (versions, first.meets(second)));
        }
    }

    pub(super) fn has(&self, pair: &AgentPair) -> bool {
        self.known.get(pair).is_some_and(|(_, meets)| *meets)
    }

    pub(super) fn forget(&mut self, agent: &paw_core::AgentId) {
        self.known.retain(|pair, _| !pair.contains(agent));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn touched(paths: &[&str]) -> TouchedPaths {
        let mut touched = TouchedPaths::default();
        touched.replace(paths.iter().map(|path| (*path).to_owned()).collect());
        touched
    }

    #[test]
    fn touched_paths_meet_at_the_same_path_and_at_a_directory_above_it() {
        for (one, other, meet) in [
            (&["src/a"][..], &["src/a", "z"][..], true),
            (&["src/a"], &["src/b"], false),
            (&["src"], &["src/b"], true),
            (&["src/a/b"], &["src"], true),
            (&["src/a"], &["src/ab", "src/a.rs"], false),
            (&[], &["src"], false),
        ] {
            assert_eq!(touched(one).meets(&touched(other)), meet, "{one:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn touched_paths_meet_as_every_pair_of_paths_says(
            one in proptest::collection::btree_set("[ab](/[ab.]){0,2}", 0..6),
            other in proptest::collection::btree_set("[ab](/[ab.]){0,2}", 0..6),
        ) {
            let near = |a: &str, b: &str| a == b || a.starts_with(&format!("{b}/")) || b.starts_with(&format!("{a}/"));
            let expected = one.iter().any(|a| other.iter().any(|b| near(a, b)));
            let set = |paths: &BTreeSet<String>| TouchedPaths { paths: paths.clone(), version: 0 };
            prop_assert_eq!(set(&one).meets(&set(&other)), expected);
            prop_assert_eq!(set(&other).meets(&set(&one)), expected);
        }
    }
}
