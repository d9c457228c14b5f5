//! Rescues that were fetched from another machine. Any program there can write one, so only files, staged changes and commits
//! are taken: nothing that would make git run a program on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use paw_core::BranchName;
use paw_host::git::{Git, Repo, sync_repository};

use super::allowed_paths::is_git_on_any_system;
use super::list::{StoredRescue, load_below};
use super::load::load_items;
use super::manifest::{ItemKind, ManifestItem, OPERATION_FILES};
use super::{REFS, RescueError, RescueKind};

/// A rescue of another machine that was not taken and stays there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRescue {
    pub id: String,
    pub reason: &'static str,
}

/// Takes the rescues below `staged` that are harmless and belong to a branch that `is_wanted`, and deletes the refs there.
/// `judged` holds the commits that were looked at before, which are neither taken nor reported again. Returns those that were
/// refused.
pub fn take_fetched(
    repo: &Repo,
    staged: &str,
    judged: &mut BTreeSet<String>,
    is_wanted: impl Fn(&BranchName) -> bool,
) -> Result<Vec<RefusedRescue>, RescueError> {
    let git = repo.git();
    let listing = git.line(["for-each-ref", "--format=%(refname) %(objectname)", staged])?;
    let refs: Vec<_> = listing.lines().filter_map(|line| line.split_once(' ')).collect();
    let taken = take(repo, (staged, &refs), judged, is_wanted);
    for (full_ref, commit) in refs {
        git.delete_ref(full_ref, commit)?;
    }
    taken
}

fn take(
    repo: &Repo,
    (staged, refs): (&str, &[(&str, &str)]),
    judged: &mut BTreeSet<String>,
    is_wanted: impl Fn(&BranchName) -> bool,
) -> Result<Vec<RefusedRescue>, RescueError> {
    let git = repo.git();
    let known: BTreeSet<String> = commits(load_below(&git, REFS)?);
    let readable: BTreeMap<_, _> =
        load_below(&git, staged)?.into_iter().map(|stored| (stored.rescue.id.clone(), stored)).collect();
    let (mut refused, mut has_taken) = (Vec::new(), false);
    for (full_ref, commit) in refs {
        if known.contains(*commit) || judged.contains(*commit) {
            continue;
        }
        let id = full_ref.strip_prefix(staged).unwrap_or(full_ref);
        let judgement = match readable.get(id) {
            Some(stored) => {
                judge(repo, stored, &is_wanted)?.map_or_else(|| add(&git, stored), |why| Ok(Some(why)))?
            }
            None => Some("it was not stored by git paw"),
        };
        match judgement {
            Some(reason) => refused.push(RefusedRescue { id: id.to_owned(), reason }),
            None => has_taken = true,
        }
        judged.insert((*commit).to_owned());
    }
    if has_taken {
        sync_repository(&repo.common_dir)?;
    }
    Ok(refused)
}

fn commits(stored: Vec<StoredRescue>) -> BTreeSet<String> {
    stored.into_iter().map(|stored| stored.rescue.commit).collect()
}

/// Creates the ref. The reason if another rescue has this id.
fn add(git: &Git, stored: &StoredRescue) -> Result<Option<&'static str>, RescueError> {
    let is_new = git.create_ref(&format!("{REFS}{}", stored.rescue.id), &stored.rescue.commit)?;
    Ok((!is_new).then_some("another rescue has this id"))
}

/// Why a rescue is not taken, if so.
fn judge(
    repo: &Repo,
    stored: &StoredRescue,
    is_wanted: impl Fn(&BranchName) -> bool,
) -> Result<Option<&'static str>, RescueError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !stored.rescue.id.chars().all(is_plain) {
        return Ok(Some("git paw gives no such id"));
    }
    if !stored.header.branch.as_ref().is_some_and(is_wanted) {
        return Ok(Some("its branch is not one of its agents'"));
    }
    if stored.rescue.kind == RescueKind::Record {
        return Ok(Some("it describes a worktree of that machine"));
    }
    match load_items(repo, stored) {
        Ok(items) => Ok(items.iter().find_map(find_danger)),
        Err(RescueError::Unreadable { problem, .. }) => Ok(Some(problem)),
        Err(error) => Err(error),
    }
}

fn find_danger(item: &ManifestItem) -> Option<&'static str> {
    match item.kind {
        ItemKind::Admin | ItemKind::AdminDirectory => {
            let mut harmless = OPERATION_FILES.iter().chain(["index"].iter());
            let is_harmless = harmless.any(|name| item.path == Path::new(name));
            (!is_harmless || item.is_symlink())
                .then_some("it contains settings or commands that git would run")
        }
        ItemKind::Directory if !item.path.iter().any(is_git_on_any_system) => None,
        _ if item.path.iter().any(is_git_on_any_system) => Some("it contains a git repository"),
        // Files with these bits run as their owner for every user of this machine.
        _ => (item.permissions() & 0o6000 != 0).then_some("it contains a file with special permissions"),
    }
}
