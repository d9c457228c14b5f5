//! Which tools are offered. Pure.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::tool::Tool;

/// Tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolSet {
    Autopilot,
    Tasks,
    Coordination,
    Worktrees,
    Session,
    Specs,
    Gates,
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Only(ToolSet),
    All,
}

impl ToolSet {
    pub(super) const ALL: [Self; 7] = [
        Self::Autopilot,
        Self::Tasks,
        Self::Coordination,
        Self::Worktrees,
        Self::Session,
        Self::Specs,
        Self::Gates,
    ];
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Autopilot => "autopilot",
            Self::Tasks => "tasks",
            Self::Coordination => "coordination",
            Self::Worktrees => "worktrees",
            Self::Session => "session",
            Self::Specs => "specs",
            Self::Gates => "gates",
        }
    }
}

impl Choice {
    const EVERY: [Self; 8] = [
        Self::Only(ToolSet::Autopilot),
        Self::Only(ToolSet::Tasks),
        Self::Only(ToolSet::Coordination),
        Self::Only(ToolSet::Worktrees),
        Self::Only(ToolSet::Session),
        Self::Only(ToolSet::Specs),
        Self::Only(ToolSet::Gates),
        Self::All,
    ];
    /// Every tool costs the agent's attention; these are the ones it needs all the time.
    pub(super) const USUAL: [Self; 3] =
        [Self::Only(ToolSet::Autopilot), Self::Only(ToolSet::Tasks), Self::Only(ToolSet::Coordination)];
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::EVERY
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            Self::Only(set) => set.as_str(),
            Self::All => "all",
        }))
    }
}

/// The sets that were asked for, each once.
pub(super) fn chosen(choices: &[Choice]) -> Vec<ToolSet> {
    let is_asked = |set: &ToolSet| choices.contains(&Choice::All) || choices.contains(&Choice::Only(*set));
    ToolSet::ALL.into_iter().filter(is_asked).collect()
}

/// The tools of these sets, without those that change something where only reading is allowed.
pub(super) fn offered(tools: Vec<Tool>, sets: &[ToolSet], read_only: bool) -> Vec<Tool> {
    tools.into_iter().filter(|tool| sets.contains(&tool.set) && !(read_only && tool.changes())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tools;
    use super::*;

    fn names(sets: &[ToolSet], read_only: bool) -> Vec<&'static str> {
        offered(tools::all(), sets, read_only).iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn a_set_that_is_named_twice_is_offered_once() {
        assert_eq!(chosen(&[Choice::Only(ToolSet::Tasks), Choice::All]), ToolSet::ALL);
        assert_eq!(chosen(&[Choice::Only(ToolSet::Gates); 2]), [ToolSet::Gates]);
    }

    #[test]
    fn every_set_has_a_tool_that_only_reads() {
        for set in ToolSet::ALL {
            assert!(!names(&[set], true).is_empty(), "{}", set.as_str());
        }
    }

    #[test]
    fn nothing_that_changes_something_is_offered_for_reading() {
        let tools = offered(tools::all(), &ToolSet::ALL, true);
        assert!(tools.iter().all(|tool| !tool.changes()));
        let changing = names(&ToolSet::ALL, false).len() - tools.len();
        assert!(changing > 0);
    }

    #[test]
    fn every_tool_has_a_name_of_its_own() {
        let mut all = names(&ToolSet::ALL, false);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
