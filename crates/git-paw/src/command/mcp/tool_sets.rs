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
    Project,
}

/// A value of `--tools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolSetChoice {
    Only(ToolSet),
    All,
}

impl ToolSet {
    pub(super) const ALL: [Self; 8] = [
        Self::Autopilot,
        Self::Tasks,
        Self::Coordination,
        Self::Worktrees,
        Self::Session,
        Self::Specs,
        Self::Gates,
        Self::Project,
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
            Self::Project => "project",
        }
    }
}

impl ToolSetChoice {
    const VARIANTS: [Self; 9] = [
        Self::Only(ToolSet::Autopilot),
        Self::Only(ToolSet::Tasks),
        Self::Only(ToolSet::Coordination),
        Self::Only(ToolSet::Worktrees),
        Self::Only(ToolSet::Session),
        Self::Only(ToolSet::Specs),
        Self::Only(ToolSet::Gates),
        Self::Only(ToolSet::Project),
        Self::All,
    ];
    /// Every tool costs context, so only the sets that agents need all the time are offered by default.
    pub(super) const DEFAULT: [Self; 3] =
        [Self::Only(ToolSet::Autopilot), Self::Only(ToolSet::Tasks), Self::Only(ToolSet::Coordination)];
}

impl ValueEnum for ToolSetChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            Self::Only(set) => set.as_str(),
            Self::All => "all",
        }))
    }
}

/// The chosen sets, each once.
pub(super) fn chosen(choices: &[ToolSetChoice]) -> Vec<ToolSet> {
    let is_asked =
        |set: &ToolSet| choices.contains(&ToolSetChoice::All) || choices.contains(&ToolSetChoice::Only(*set));
    ToolSet::ALL.into_iter().filter(is_asked).collect()
}

/// The tools of these sets; with `read_only`, only those that change nothing.
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
    fn a_tool_set_named_twice_is_offered_once() {
        assert_eq!(chosen(&[ToolSetChoice::Only(ToolSet::Tasks), ToolSetChoice::All]), ToolSet::ALL);
        assert_eq!(chosen(&[ToolSetChoice::Only(ToolSet::Gates); 2]), [ToolSet::Gates]);
    }

    #[test]
    fn every_tool_set_has_a_read_only_tool() {
        for set in ToolSet::ALL {
            assert!(!names(&[set], true).is_empty(), "{}", set.as_str());
        }
    }

    #[test]
    fn read_only_offers_no_tool_with_side_effects() {
        let tools = offered(tools::all(), &ToolSet::ALL, true);
        assert!(tools.iter().all(|tool| !tool.changes()));
        let changing = names(&ToolSet::ALL, false).len() - tools.len();
        assert!(changing > 0);
    }

    #[test]
    fn tool_names_are_unique() {
        let mut all = names(&ToolSet::ALL, false);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
