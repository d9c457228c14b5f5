//! Giving git back a worktree whose directory is there but which git has forgotten.

use std::path::PathBuf;

use paw_host::git;
use paw_host::locks::WorktreesLock;

use crate::reconcile::is_linked;
use crate::registry::Worktree;
use crate::rescue;
use crate::service::require_repository;

/// Links the directory again and returns what git keeps about it, or says what is wrong and what helps.
pub(crate) fn relink(row: &Worktree, lock: &WorktreesLock) -> Result<PathBuf, String> {
    let Some(admin) = git::admin_dir_named_in(&row.path).filter(|dir| dir.starts_with(&row.common_dir))
    else {
        return Err(format!(
            "the directory is no worktree of {} any more (move it away, or run: git paw worktree remove --force {})",
            row.repo.display(),
            row.id
        ));
    };
    if is_linked(row) {
        return Ok(admin);
    }
    let repo = require_repository(&row.common_dir).map_err(|error| error.to_string())?;
    match rescue::find_record(&repo, &row.path) {
        Ok(Some(record)) => rescue::restore_record(&repo, &record.id, &row.path, lock)
            .map(|relinked| relinked.admin_dir)
            .map_err(|error| error.to_string()),
        Ok(None) => Err(format!(
            "git has forgotten this worktree (move the directory away, run: git paw worktree remove {}, create the \
             worktree again and move your changes there)",
            row.id
        )),
        Err(error) => Err(error.to_string()),
    }
}
