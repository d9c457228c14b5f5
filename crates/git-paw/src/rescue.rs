//! Work that was kept before something was removed, for people.

use std::path::PathBuf;

use paw_core::text::first_paths;
use paw_worktree::rescue::Rescue;

use crate::context::Context;

/// Says where removed work is and how to get it back.
pub(crate) fn tell_rescue(rescue: &Rescue, context: &Context) {
    context.output.note(&format!("kept what would have been lost: git paw undo restore {}", rescue.id));
    tell_ignored(&rescue.ignored_left_behind, context);
}

/// Names what has gone for good.
pub(crate) fn tell_ignored(left: &[PathBuf], context: &Context) {
    if !left.is_empty() {
        let names = first_paths(left);
        context.output.note(&format!("ignored files were not kept: {names} (--include-ignored keeps them)"));
    }
}
