//! Messages about work that was kept before a removal.

use std::path::PathBuf;

use paw_core::text::first_paths;
use paw_worktree::rescue::Rescue;

use crate::context::Context;

/// Prints how to restore the work that was kept.
pub(crate) fn print_rescue(rescue: &Rescue, context: &Context) {
    context.output.note(&format!("kept unsaved work; to restore it: git paw undo restore {}", rescue.id));
    print_ignored(&rescue.ignored_left_behind, context);
}

/// Lists the ignored files that were not kept.
pub(crate) fn print_ignored(left: &[PathBuf], context: &Context) {
    if !left.is_empty() {
        let names = first_paths(left);
        context
            .output
            .note(&format!("ignored files were not kept: {names} (use --include-ignored to keep them)"));
    }
}
