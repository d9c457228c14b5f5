//! What a worktree that only git knows is there for.

use std::path::Path;

use paw_supervisor::merge::LOCK_REASON;
use paw_worktree::list::Unmanaged;

use crate::context::Context;

/// Somebody's own, or one of those that we test in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Worktree,
    /// Kept for `git paw verify`, among our own data.
    Verify,
    /// There while `git paw merge` runs.
    Merge,
}

impl Kind {
    pub(super) fn of(entry: &Unmanaged, context: &Context) -> Self {
        let kept = context.dirs.data().checkouts();
        Self::find(&entry.path, entry.locked.as_deref(), &kept.canonicalize().unwrap_or(kept))
    }

    fn find(path: &Path, locked: Option<&str>, kept: &Path) -> Self {
        match locked {
            Some(LOCK_REASON) => Self::Merge,
            _ if path.starts_with(kept) => Self::Verify,
            _ => Self::Worktree,
        }
    }

    /// As in JSON.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Verify => "verify",
            Self::Merge => "merge",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_test_in_is_told_from_what_is_somebodys_own() {
        let kind = |path: &str, locked| Kind::find(Path::new(path), locked, Path::new("/data/verify"));
        assert_eq!(kind("/data/verify/app-1/0", None), Kind::Verify);
        assert_eq!(kind("/code/app-paw-merge", Some(LOCK_REASON)), Kind::Merge);
        assert_eq!(kind("/code/app-paw-merge", Some("mine")), Kind::Worktree);
        assert_eq!(kind("/data/verify-not/x", None), Kind::Worktree);
    }
}
