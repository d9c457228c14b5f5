//! Worktrees as programs and people see them.

use std::path::PathBuf;

use paw_core::text::first_paths;
use paw_worktree::list::Unmanaged;
use paw_worktree::rescue::Rescue;
use paw_worktree::{Prepared, Worktree};
use serde_json::{Value, json};

use super::kind::Kind;
use crate::context::Context;

/// A row of the registry. What is absent is left out.
pub(super) fn managed(row: &Worktree) -> Value {
    let mut value = json!({
        "id": row.id.as_str(),
        "name": row.name,
        "path": row.path.to_string_lossy(),
        "branch": row.branch.as_str(),
        "status": row.status.as_str(),
        "created_at": row.created_at.to_string(),
        "updated_at": row.updated_at.to_string(),
        "repo_path": row.repo.to_string_lossy(),
        "created_branch": row.created_branch,
        "setup_status": row.setup.status.as_str(),
        "managed": true,
        "kind": Kind::Worktree.as_str(),
    });
    if let Some(message) = &row.message {
        value["message"] = message.as_str().into();
    }
    if let Some(error) = &row.setup.error {
        value["setup_error"] = error.as_str().into();
    }
    value
}

/// A worktree that only git knows.
pub(super) fn unmanaged(entry: &Unmanaged, kind: Kind) -> Value {
    json!({
        "name": entry.name,
        "path": entry.path.to_string_lossy(),
        "branch": entry.branch.as_ref().map(paw_core::BranchName::as_str),
        "status": if entry.missing { "stale" } else { "active" },
        "repo_path": entry.repo.to_string_lossy(),
        "managed": false,
        "kind": kind.as_str(),
    })
}

/// A worktree that has just been made.
pub(super) fn prepared(prepared: &Prepared) -> Value {
    let mut value = json!({
        "worktree": managed(&prepared.worktree),
        "setup_status": prepared.setup.status.as_str(),
    });
    if let Some(error) = &prepared.setup.error {
        value["setup_error"] = error.as_str().into();
    }
    if !prepared.copy.skipped.is_empty() {
        let skipped = prepared.copy.skipped.iter();
        value["not_copied"] = skipped
            .map(|(path, reason)| json!({"path": path.to_string_lossy(), "reason": reason.to_string()}))
            .collect();
    }
    value
}

/// Says where removed work is and how to get it back.
pub(crate) fn tell_rescue(rescue: &Rescue, context: &Context) {
    context.output.note(&format!("kept what would have been lost: git paw undo restore {}", rescue.id));
    tell_ignored(&rescue.ignored_left_behind, context);
}

/// Names what has gone for good.
pub(super) fn tell_ignored(left: &[PathBuf], context: &Context) {
    if !left.is_empty() {
        let names = first_paths(left);
        context.output.note(&format!("ignored files were not kept: {names} (--include-ignored keeps them)"));
    }
}
