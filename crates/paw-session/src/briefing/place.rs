//! In which file a briefing goes. Pure.

use paw_core::paths::CheckoutDir;

/// What most CLIs read by themselves.
pub const AGENTS_FILE: &str = "AGENTS.md";

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    File,
    /// A link, a directory, …
    Other,
}

/// What is known about the AGENTS.md of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) found: Found,
    pub(super) tracked: bool,
    /// The main checkout has one that git shows as new. Excluding the name would hide it from its author.
    pub(super) new_in_main: bool,
}

/// The file in the worktree that gets the briefing.
pub(super) fn choose(facts: Facts) -> &'static str {
    if facts.tracked || facts.new_in_main || facts.found == Found::Other {
        CheckoutDir::BRIEFING
    } else {
        AGENTS_FILE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_md_is_used_only_where_nobody_else_s_work_is_touched_or_hidden() {
        let facts = |found, tracked, new_in_main| choose(Facts { found, tracked, new_in_main });
        assert_eq!(facts(Found::Nothing, false, false), AGENTS_FILE);
        assert_eq!(facts(Found::File, false, false), AGENTS_FILE);
        assert_eq!(facts(Found::File, true, false), CheckoutDir::BRIEFING);
        // Deleted but still tracked: a new one would look like a change.
        assert_eq!(facts(Found::Nothing, true, false), CheckoutDir::BRIEFING);
        assert_eq!(facts(Found::Other, false, false), CheckoutDir::BRIEFING);
        assert_eq!(facts(Found::Nothing, false, true), CheckoutDir::BRIEFING);
    }
}
