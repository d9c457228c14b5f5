//! Compares branches with another one, all in one call.

use std::collections::{BTreeMap, HashMap};

use paw_core::BranchName;

use super::{Git, GitError};

/// Commits that only one of two branches has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AheadBehind {
    pub ahead: u32,
    pub behind: u32,
}

/// The tip of a branch, and its distance from another one, if that is known.
pub type ComparedTip = (String, Option<AheadBehind>);

impl Git {
    /// The tips of local branches, compared with `base` where git can do that (2.41); branches that do not exist are missing.
    pub fn compare_tips(
        &self,
        branches: &[&BranchName],
        base: Option<&BranchName>,
    ) -> Result<BTreeMap<BranchName, ComparedTip>, GitError> {
        let refs: Vec<String> = branches.iter().map(|branch| branch.full_ref()).collect();
        let list = |format: &str| {
            let args = ["for-each-ref", format].into_iter().chain(refs.iter().map(String::as_str));
            let listing = self.plumb(None, args)?;
            let tips = String::from_utf8_lossy(&listing).lines().filter_map(parse_tip).collect();
            Ok::<BTreeMap<_, _>, GitError>(tips)
        };
        let plain = "--format=%(objectname) %(refname:lstrip=2)";
        let compared = base.map(|base| list(&format!("{plain} %(ahead-behind:{})", base.full_ref())));
        match compared {
            Some(Ok(tips)) => Ok(tips),
            Some(Err(_)) | None => list(plain),
        }
    }

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

/// `1a2b3c feat/x 2 1`, or without the numbers
fn parse_tip(line: &str) -> Option<(BranchName, ComparedTip)> {
    let mut words = line.split(' ');
    let (commit, branch) = (words.next()?.to_owned(), BranchName::new(words.next()?).ok()?);
    let mut number = || words.next()?.parse().ok();
    let compared = number().zip(number()).map(|(ahead, behind)| AheadBehind { ahead, behind });
    Some((branch, (commit, compared)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comparison_of_a_branch_is_parsed() {
        let (branch, compared) = parse("refs/heads/feat/x 2 1").unwrap();
        assert_eq!((branch.as_str(), compared), ("feat/x", AheadBehind { ahead: 2, behind: 1 }));
        assert_eq!(parse("refs/heads/x"), None);
        let x = BranchName::new("feat/x").unwrap();
        assert_eq!(
            parse_tip("1a2b feat/x 2 1"),
            Some((x.clone(), ("1a2b".to_owned(), Some(AheadBehind { ahead: 2, behind: 1 }))))
        );
        assert_eq!(parse_tip("1a2b feat/x"), Some((x, ("1a2b".to_owned(), None))));
    }
}
