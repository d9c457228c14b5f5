//! Compares branches with another one, all in one call.

use std::collections::HashMap;

use paw_core::BranchName;

use super::{Git, GitError};

/// Commits that only one of two branches has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AheadBehind {
    pub ahead: u32,
    pub behind: u32,
}

impl Git {
    /// How far each branch is ahead of and behind `base`. Fails before git 2.41.
    pub fn compare_branches(
        &self,
        branches: &[BranchName],
        base: &BranchName,
    ) -> Result<HashMap<BranchName, AheadBehind>, GitError> {
        if branches.is_empty() {
            return Ok(HashMap::new());
        }
        let format = format!("--format=%(refname) %(ahead-behind:{})", base.full_ref());
        let args = ["for-each-ref".to_owned(), format].into_iter();
        let listing = self.run(args.chain(branches.iter().map(BranchName::full_ref)))?;
        Ok(String::from_utf8_lossy(&listing).lines().filter_map(parse).collect())
    }
}

/// `refs/heads/feat/x 2 1`
fn parse(line: &str) -> Option<(BranchName, AheadBehind)> {
    let (rest, behind) = line.rsplit_once(' ')?;
    let (full_ref, ahead) = rest.rsplit_once(' ')?;
    let branch = BranchName::new(full_ref.strip_prefix("refs/heads/")?).ok()?;
    Some((branch, AheadBehind { ahead: ahead.parse().ok()?, behind: behind.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comparison_of_a_branch_is_parsed() {
        let (branch, compared) = parse("refs/heads/feat/x 2 1").unwrap();
        assert_eq!((branch.as_str(), compared), ("feat/x", AheadBehind { ahead: 2, behind: 1 }));
        assert_eq!(parse("refs/heads/x"), None);
    }
}
