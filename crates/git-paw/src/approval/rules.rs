//! The rules by which agents' commands are approved.

use std::path::Path;

use paw_core::PawError;
use paw_supervisor::approval::{self, Place, Rules};

use crate::context::Context;

/// The rules and the place of a worktree, the current one if none is given. A directory outside of any repository has the
/// user's own rules.
pub(crate) fn gather(worktree: Option<&Path>, context: &Context) -> Result<(Rules, Place), PawError> {
    let dir = worktree.map_or_else(|| context.cwd.clone(), |path| context.cwd.join(path));
    let (configured, mut place) = approval::gather(&dir, &context.dirs)?;
    if worktree.is_some() {
        place.cwd.clone_from(&place.worktree);
    }
    if configured.unapproved.is_some() {
        context
            .output
            .warn("this repository's own rules are not approved, so they do not count (git paw trust)");
    }
    for rule in configured.rules.unusable() {
        context.output.warn(&format!("this rule is no plain command, so it allows nothing: {rule:?}"));
    }
    Ok((configured.rules, place))
}
