//! Restoring the branch of a rescued worktree.

use std::fmt;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_core::text::short_commit;
use paw_host::git::{Git, GitError};
use serde::Serialize;

use super::header::Header;

/// Whether the branch was restored, and if HEAD is not on it, why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BranchOutcome {
    /// HEAD was detached.
    Detached,
    /// The branch still exists, unchanged.
    Kept { branch: BranchName },
    /// The branch was deleted and has been recreated.
    Recreated { branch: BranchName },
    /// The branch has no commit yet.
    Unborn { branch: BranchName },
    /// The branch has moved since and was left alone.
    Moved { branch: BranchName, rescued: String, now: String },
    /// The branch is checked out in another worktree.
    CheckedOut { branch: BranchName, at: PathBuf },
}

impl BranchOutcome {
    /// The branch that HEAD can point to.
    pub(crate) fn usable(&self) -> Option<&BranchName> {
        match self {
            Self::Kept { branch } | Self::Recreated { branch } | Self::Unborn { branch } => Some(branch),
            Self::Detached | Self::Moved { .. } | Self::CheckedOut { .. } => None,
        }
    }
}

impl fmt::Display for BranchOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detached => f.write_str("HEAD is detached, as before"),
            Self::Kept { branch } => write!(f, "on branch '{branch}'"),
            Self::Recreated { branch } => write!(f, "branch '{branch}' was recreated"),
            Self::Unborn { branch } => write!(f, "on branch '{branch}', which has no commit yet"),
            Self::Moved { branch, rescued, now } => write!(
                f,
                "branch '{branch}' has moved to {} and was left alone (to get the rescued commit, run: git branch NAME {})",
                short_commit(now),
                short_commit(rescued)
            ),
            Self::CheckedOut { branch, at } => {
                write!(f, "branch '{branch}' is checked out at {}, so HEAD is detached here", at.display())
            }
        }
    }
}

/// Decides what happens to the branch.
pub(super) fn decide(header: &Header, now: Option<String>, checked_out_at: Option<PathBuf>) -> BranchOutcome {
    let Some(branch) = header.branch.clone() else { return BranchOutcome::Detached };
    match (&header.tip, now, checked_out_at) {
        (Some(rescued), Some(now), _) if *rescued != now => {
            BranchOutcome::Moved { branch, rescued: rescued.clone(), now }
        }
        (None, Some(now), _) => BranchOutcome::Moved { branch, rescued: String::new(), now },
        (_, _, Some(at)) => BranchOutcome::CheckedOut { branch, at },
        (Some(_), Some(_), None) => BranchOutcome::Kept { branch },
        (Some(_), None, None) => BranchOutcome::Recreated { branch },
        (None, None, None) => BranchOutcome::Unborn { branch },
    }
}

/// Decides what happens to the branch, and recreates it if it was deleted.
pub(super) fn restore_branch(
    git: &Git,
    header: &Header,
    except: Option<&Path>,
) -> Result<BranchOutcome, GitError> {
    let (now, at) = match &header.branch {
        Some(branch) => (git.find_tip(branch)?, checked_out_at(git, branch, except)?),
        None => (None, None),
    };
    let outcome = decide(header, now, at);
    if let (BranchOutcome::Recreated { branch }, Some(tip)) = (&outcome, &header.tip) {
        git.create_ref(&branch.full_ref(), tip)?;
    }
    Ok(outcome)
}

fn checked_out_at(
    git: &Git,
    branch: &BranchName,
    except: Option<&Path>,
) -> Result<Option<PathBuf>, GitError> {
    let others = git.worktrees()?.into_iter().filter(|worktree| except != Some(worktree.path.as_path()));
    Ok(others.into_iter().find(|worktree| worktree.branch() == Some(branch)).map(|worktree| worktree.path))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::rescue::RescueKind;

    fn header(tip: Option<&str>) -> Header {
        let mut header = Header::new(RescueKind::Worktree, "", Timestamp::UNIX_EPOCH);
        header.branch = Some(BranchName::new("feat/x").unwrap());
        header.tip = tip.map(str::to_owned);
        header
    }

    #[test]
    fn branch_outcome_is_kept_recreated_or_left_alone_with_a_reason() {
        let of = |tip, now: Option<&str>, at: Option<&str>| {
            decide(&header(tip), now.map(str::to_owned), at.map(PathBuf::from)).to_string()
        };
        assert_eq!(of(Some("a"), Some("a"), None), "on branch 'feat/x'");
        assert_eq!(of(Some("a"), None, None), "branch 'feat/x' was recreated");
        assert!(of(Some("a"), Some("b"), None).contains("has moved to b"));
        assert!(of(Some("a"), Some("a"), Some("/w")).contains("checked out at /w"));
        assert!(of(None, None, None).contains("no commit yet"));
        assert!(of(None, Some("b"), None).contains("left alone"));
        let detached = Header::new(RescueKind::Worktree, "", Timestamp::UNIX_EPOCH);
        assert_eq!(decide(&detached, None, None), BranchOutcome::Detached);
    }
}
