//! Whether specs can all be started: no two of them may want the same branch, nor one that git cannot keep beside
//! another. Pure.

use std::collections::BTreeMap;

use super::{SpecEntry, SpecError};

pub(super) fn require_distinct(entries: &[&SpecEntry]) -> Result<(), SpecError> {
    let mut branches: BTreeMap<&str, Vec<&SpecEntry>> = BTreeMap::new();
    for entry in entries {
        branches.entry(entry.branch.as_str()).or_default().push(entry);
    }
    for (branch, specs) in &branches {
        if specs.len() > 1 {
            let specs = specs.iter().map(|entry| shown(entry)).collect();
            return Err(SpecError::SameBranch { branch: (*branch).to_owned(), specs });
        }
    }
    for (inner, specs) in &branches {
        for (at, _) in inner.match_indices('/') {
            if let Some(above) = branches.get(&inner[..at]) {
                return Err(SpecError::InTheWay {
                    outer: inner[..at].to_owned(),
                    outer_spec: shown(above[0]),
                    inner: (*inner).to_owned(),
                    inner_spec: shown(specs[0]),
                });
            }
        }
    }
    Ok(())
}

/// Two specs may share even their id; where they are tells them apart.
fn shown(entry: &SpecEntry) -> String {
    format!("'{}' in {}", entry.id, entry.path.display())
}

#[cfg(test)]
mod tests {
    use paw_core::BranchName;

    use super::super::unit::tests::change;
    use super::*;

    fn on(name: &str, branch: &str) -> SpecEntry {
        SpecEntry { branch: BranchName::new(branch).unwrap(), ..change(name) }
    }

    fn problem(entries: &[SpecEntry]) -> Option<String> {
        require_distinct(&entries.iter().collect::<Vec<_>>()).err().map(|error| error.to_string())
    }

    #[test]
    fn two_specs_that_give_one_branch_are_an_error_that_names_both() {
        let error = problem(&[on("a", "spec/x"), on("c", "spec/y"), on("b", "spec/x")]).unwrap();
        assert_eq!(error, "'a' in a, 'b' in b would all be the branch spec/x: rename all but one of them");
    }

    #[test]
    fn a_branch_below_another_is_an_error() {
        let error = problem(&[on("a", "spec/x"), on("b", "spec/x-y"), on("c", "spec/x/y")]).unwrap();
        assert!(error.contains("spec/x ('a' in a) and spec/x/y ('c' in c)"), "{error}");
    }

    #[test]
    fn neighbours_are_fine() {
        assert_eq!(problem(&[on("a", "spec/x"), on("b", "spec/xy"), on("c", "task/x")]), None);
    }
}
