//! The specs that the agents of a session work on.

use std::path::Path;

use paw_core::Receipt;
use paw_core::config::PawConfig;

use super::{SpecEntry, scan};

/// Those of them that are still there. Specs that cannot be read any more are none.
pub fn find_assigned(receipt: &Receipt, repo_root: &Path, config: &PawConfig) -> Vec<SpecEntry> {
    let is_assigned =
        |spec: &SpecEntry| receipt.worktrees.iter().any(|agent| agent.spec.as_ref() == Some(&spec.id));
    if receipt.worktrees.iter().all(|agent| agent.spec.is_none()) {
        return Vec::new();
    }
    let scan = scan(repo_root, config.specs.as_ref(), None, &config.branch_prefix());
    scan.map(|scan| scan.entries.into_iter().filter(is_assigned).collect()).unwrap_or_default()
}
