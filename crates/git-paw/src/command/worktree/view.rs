//! Formats worktrees for JSON output.

use paw_worktree::list::UnmanagedWorktree;
use paw_worktree::{Checkout, CheckoutKind, CheckoutState, ManagedWorktree, PreparedWorktree};
use serde_json::{Value, json};

/// A registered worktree. Absent values are omitted.
pub(super) fn managed(row: &ManagedWorktree) -> Value {
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
        "kind": "worktree",
    });
    if let Some(message) = &row.message {
        value["message"] = message.as_str().into();
    }
    if let Some(error) = &row.setup.error {
        value["setup_error"] = error.as_str().into();
    }
    value
}

/// An unmanaged worktree.
pub(super) fn unmanaged(entry: &UnmanagedWorktree) -> Value {
    json!({
        "name": entry.name,
        "path": entry.path.to_string_lossy(),
        "branch": entry.branch.as_ref().map(paw_core::BranchName::as_str),
        "status": if entry.missing { "stale" } else { "active" },
        "repo_path": entry.repo.to_string_lossy(),
        "managed": false,
        "kind": "worktree",
    })
}

/// A checkout that is not in the registry.
pub(super) fn checkout(checkout: &Checkout) -> Value {
    json!({
        "name": checkout.name,
        "path": checkout.path.to_string_lossy(),
        "branch": checkout.branch.as_ref().map(paw_core::BranchName::as_str),
        "managed": false,
        "kind": if checkout.kind == CheckoutKind::Main { "main" } else { "worktree" },
    })
}

/// Adds the state of a checkout. Absent values are omitted.
pub(super) fn add_state(value: &mut Value, state: Option<&CheckoutState>) {
    let Some(state) = state else { return };
    if let Some(changed) = state.changed {
        value["changed_files"] = changed.into();
    }
    if let Some(compared) = state.compared {
        (value["ahead"], value["behind"]) = (compared.ahead.into(), compared.behind.into());
    }
}

/// A new worktree.
pub(super) fn prepared(prepared: &PreparedWorktree) -> Value {
    let mut value = json!({
        "worktree": managed(&prepared.worktree),
        "setup_status": prepared.setup.status.as_str(),
    });
    if let Some(error) = &prepared.setup.error {
        value["setup_error"] = error.as_str().into();
    }
    if let Some(problem) = prepared.setup.problem() {
        value["setup_hints"] = problem.hints.into();
    }
    if !prepared.copy.skipped.is_empty() {
        let skipped = prepared.copy.skipped.iter();
        value["not_copied"] = skipped
            .map(|(path, reason)| json!({"path": path.to_string_lossy(), "reason": reason.to_string()}))
            .collect();
    }
    value
}
