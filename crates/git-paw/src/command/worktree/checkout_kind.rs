//! The purpose of an unmanaged worktree.

use std::path::Path;

use paw_supervisor::merge::LOCK_REASON;
use paw_worktree::list::UnmanagedWorktree;

use crate::context::Context;

/// The user's worktree, or a checkout in which git paw runs tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckoutKind {
    Worktree,
    /// Kept for `git paw verify` in our data directory.
    Verify,
    /// Exists while `git paw merge` runs.
    Merge,
}

impl CheckoutKind {
    pub(super) fn of(entry: &UnmanagedWorktree, context: &Context) -> Self {
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

    /// The name in JSON.
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
    fn checkout_kind_tells_test_checkouts_from_the_users_worktrees() {
        let kind =
            |path: &str, locked| CheckoutKind::find(Path::new(path), locked, Path::new("/data/verify"));
        assert_eq!(kind("/data/verify/app-1/0", None), CheckoutKind::Verify);
        assert_eq!(kind("/code/app-paw-merge", Some(LOCK_REASON)), CheckoutKind::Merge);
        assert_eq!(kind("/code/app-paw-merge", Some("mine")), CheckoutKind::Worktree);
        assert_eq!(kind("/data/verify-not/x", None), CheckoutKind::Worktree);
    }
}
