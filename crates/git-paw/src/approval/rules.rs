//! The rules that approve agents' commands.

use std::path::Path;

use paw_core::PawError;
use paw_supervisor::approval::{self, ApprovalRules, CommandContext};

use crate::context::Context;

/// The rules that apply in a worktree (default: the current one), and its paths. Outside a repository, only the user's own
/// rules apply.
pub(crate) fn gather(
    worktree: Option<&Path>,
    context: &Context,
) -> Result<(ApprovalRules, CommandContext), PawError> {
    let dir = worktree.map_or_else(|| context.cwd.clone(), |path| context.cwd.join(path));
    let (configured, mut place) = approval::load_rules(&dir, &context.dirs)?;
    let session = context.find_session().ok().flatten();
    let configured = match &session {
        Some(session) => configured.in_session(&session.receipt),
        None => configured,
    };
    if worktree.is_some() {
        place.cwd.clone_from(&place.worktree);
    }
    if configured.unapproved.is_some() {
        context
            .output
            .warn("ignoring this repository's approval rules: not approved (approve with 'git paw trust')");
    }
    for rule in configured.rules.unusable() {
        context.output.warn(&format!("ignoring the approval rule {rule:?}: not a plain command"));
    }
    Ok((configured.rules, place))
}
