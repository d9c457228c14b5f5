//! Chooses the file for a briefing. Pure.

use paw_core::paths::CheckoutDir;

/// The file that most CLIs read automatically.
pub const AGENTS_FILE: &str = "AGENTS.md";

/// What exists at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Nothing,
    File,
    /// A link, a directory, or another kind of file.
    Other,
}

/// The state of a worktree's AGENTS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentsFileFacts {
    pub(super) found: FileKind,
    pub(super) tracked: bool,
    /// The main checkout has an untracked AGENTS.md. Excluding the name would hide it from its author.
    pub(super) new_in_main: bool,
}

/// The name of the file in the worktree that gets the briefing.
pub(super) fn choose_name(facts: AgentsFileFacts) -> &'static str {
    if facts.tracked || facts.new_in_main || facts.found == FileKind::Other {
        CheckoutDir::BRIEFING
    } else {
        AGENTS_FILE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn briefing_goes_to_agents_md_unless_that_would_change_or_hide_a_users_file() {
        let facts =
            |found, tracked, new_in_main| choose_name(AgentsFileFacts { found, tracked, new_in_main });
        assert_eq!(facts(FileKind::Nothing, false, false), AGENTS_FILE);
        assert_eq!(facts(FileKind::File, false, false), AGENTS_FILE);
        assert_eq!(facts(FileKind::File, true, false), CheckoutDir::BRIEFING);
        // Deleted but still tracked: a new file would show up as a change.
        assert_eq!(facts(FileKind::Nothing, true, false), CheckoutDir::BRIEFING);
        assert_eq!(facts(FileKind::Other, false, false), CheckoutDir::BRIEFING);
        assert_eq!(facts(FileKind::Nothing, false, true), CheckoutDir::BRIEFING);
    }
}
