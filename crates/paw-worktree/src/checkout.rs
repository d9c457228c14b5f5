//! Every checkout of a repository: the main one, managed and unmanaged worktrees. Finding the one that a person means, and its
//! state.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use jiff::Timestamp;
use paw_core::BranchName;
use paw_host::git::{AheadBehind, Git};

use crate::error::WorktreeError;
use crate::id::WorktreeId;
use crate::list::WorktreeListing;
use crate::registry::{ManagedWorktree, WorktreeStatus};

/// The name of the main checkout, unless a worktree has it.
pub const MAIN: &str = "main";

/// One checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub name: String,
    pub path: PathBuf,
    /// None if HEAD is detached.
    pub branch: Option<BranchName>,
    pub kind: CheckoutKind,
}

/// Who created a checkout, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckoutKind {
    Main,
    Managed {
        id: WorktreeId,
        status: WorktreeStatus,
        created_at: Timestamp,
    },
    /// Created by plain git.
    Unmanaged {
        missing: bool,
    },
}

/// How a checkout differs from the default branch and from its own commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckoutState {
    /// Files with changes, untracked ones included; `None` if its directory cannot be read.
    pub changed: Option<usize>,
    /// Commits compared with the default branch; `None` if git cannot tell.
    pub compared: Option<AheadBehind>,
}

impl WorktreeListing {
    /// All checkouts, the main one first.
    pub fn checkouts(&self) -> Vec<Checkout> {
        let main = self.main.iter().map(|main| Checkout {
            name: MAIN.to_owned(),
            path: main.path.clone(),
            branch: main.branch.clone(),
            kind: CheckoutKind::Main,
        });
        let managed = self.worktrees.iter().map(Checkout::of);
        let unmanaged = self.unmanaged.iter().map(|entry| Checkout {
            name: entry.name.clone(),
            path: entry.path.clone(),
            branch: entry.branch.clone(),
            kind: CheckoutKind::Unmanaged { missing: entry.missing },
        });
        main.chain(managed).chain(unmanaged).collect()
    }
}

/// The checkout with this id, name or branch; else the only one whose name, branch or last part of the branch starts with
/// `name`. `main` is the main checkout unless a worktree is called so.
pub fn find<'a>(name: &str, checkouts: &'a [Checkout]) -> Result<Option<&'a Checkout>, WorktreeError> {
    let is_id = |checkout: &Checkout| matches!(&checkout.kind, CheckoutKind::Managed { id, .. } if id.as_str() == name);
    let is_branch = |checkout: &Checkout| checkout.branch.as_ref().is_some_and(|own| own.as_str() == name);
    let is_main = |checkout: &Checkout| checkout.kind == CheckoutKind::Main;
    let is_named = |checkout: &Checkout| checkout.name == name && !is_main(checkout);
    let find = |is: &dyn Fn(&Checkout) -> bool| checkouts.iter().find(|checkout| is(checkout));
    let exact = find(&is_id).or_else(|| find(&is_branch)).or_else(|| find(&is_named));
    let exact = exact.or_else(|| find(&|checkout| name == MAIN && is_main(checkout)));
    if exact.is_some() || name.is_empty() {
        return Ok(exact);
    }
    let matches: Vec<_> = checkouts.iter().filter(|checkout| checkout.starts_with(name)).collect();
    match matches.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => Err(WorktreeError::AmbiguousPrefix {
            name: name.to_owned(),
            matches: several.iter().map(|checkout| checkout.shown_name()).collect(),
        }),
    }
}

impl Checkout {
    /// A managed worktree.
    pub(crate) fn of(row: &ManagedWorktree) -> Self {
        let (id, status, created_at) = (row.id.clone(), row.status, row.created_at);
        Self {
            name: row.name.clone(),
            path: row.path.clone(),
            branch: Some(row.branch.clone()),
            kind: CheckoutKind::Managed { id, status, created_at },
        }
    }

    /// The branch, or the name where HEAD is detached.
    pub fn shown_name(&self) -> String {
        self.branch.as_ref().map_or_else(|| self.name.clone(), ToString::to_string)
    }

    /// A name that means only this checkout.
    pub fn key(&self) -> String {
        match &self.kind {
            CheckoutKind::Managed { id, .. } => id.to_string(),
            CheckoutKind::Main | CheckoutKind::Unmanaged { .. } => self.shown_name(),
        }
    }

    fn starts_with(&self, name: &str) -> bool {
        let branch = self.branch.as_ref().map(BranchName::as_str).unwrap_or_default();
        let last = branch.rsplit('/').next().unwrap_or_default();
        [self.name.as_str(), branch, last].iter().any(|text| text.starts_with(name))
    }

    /// Whether its directory is expected to be there.
    pub fn is_present(&self) -> bool {
        match &self.kind {
            CheckoutKind::Main => true,
            CheckoutKind::Managed { status, .. } => *status == WorktreeStatus::Active,
            CheckoutKind::Unmanaged { missing } => !missing,
        }
    }
}

/// The states of checkouts of one repository, in their order. One git call compares all branches; files are looked at in
/// parallel.
pub fn load_states(repo: &Path, checkouts: &[Checkout]) -> Vec<CheckoutState> {
    let git = Git::at(repo);
    let default = git.find_default_branch().ok().flatten();
    let branches: Vec<_> = checkouts.iter().filter_map(|checkout| checkout.branch.clone()).collect();
    let compared = default.and_then(|default| git.compare_branches(&branches, &default).ok());
    let compared = compared.unwrap_or_default();
    let changed = count_changes(checkouts);
    let state = |(checkout, changed): (&Checkout, Option<usize>)| CheckoutState {
        changed,
        compared: checkout.branch.as_ref().and_then(|branch| compared.get(branch).copied()),
    };
    checkouts.iter().zip(changed).map(state).collect()
}

fn count_changes(checkouts: &[Checkout]) -> Vec<Option<usize>> {
    let counts = Mutex::new(vec![None; checkouts.len()]);
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from).min(checkouts.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, checkout)) = nth(checkouts, next.fetch_add(1, Ordering::Relaxed)) {
                    let status = checkout.is_present().then(|| Git::at(&checkout.path).status());
                    let changed = status.and_then(Result::ok).map(|entries| entries.len());
                    counts.lock().unwrap_or_else(PoisonError::into_inner)[index] = changed;
                }
            });
        }
    });
    counts.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn nth(checkouts: &[Checkout], index: usize) -> Option<(usize, &Checkout)> {
    checkouts.get(index).map(|checkout| (index, checkout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(name: &str, branch: Option<&str>, kind: CheckoutKind) -> Checkout {
        let branch = branch.map(|branch| BranchName::new(branch).unwrap());
        Checkout { name: name.to_owned(), path: format!("/{name}").into(), branch, kind }
    }

    fn all() -> Vec<Checkout> {
        let plain = || CheckoutKind::Unmanaged { missing: false };
        vec![
            checkout(MAIN, Some("develop"), CheckoutKind::Main),
            checkout("api", Some("feat/api"), plain()),
            checkout("api-2", Some("feat/api-2"), plain()),
            checkout("spike", None, plain()),
        ]
    }

    fn found(name: &str, checkouts: &[Checkout]) -> String {
        match find(name, checkouts) {
            Ok(found) => found.map_or_else(String::new, |found| found.path.display().to_string()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_checkout_is_found_by_name_branch_and_unique_prefix() {
        let all = all();
        for (name, path) in [
            ("api", "/api"),
            ("feat/api", "/api"),
            ("feat/api-2", "/api-2"),
            ("api-", "/api-2"),
            ("sp", "/spike"),
            ("main", "/main"),
            ("develop", "/main"),
            ("dev", "/main"),
            ("none", ""),
            ("", ""),
        ] {
            assert_eq!(found(name, &all), path, "{name}");
        }
        assert_eq!(found("feat", &all), "'feat' matches several worktrees: feat/api, feat/api-2");
    }

    #[test]
    fn a_worktree_with_the_branch_main_is_meant_by_main() {
        let mut all = all();
        all.push(checkout("main", Some("main"), CheckoutKind::Unmanaged { missing: false }));
        all.last_mut().unwrap().path = "/linked".into();
        assert_eq!(found("main", &all), "/linked");
    }
}
