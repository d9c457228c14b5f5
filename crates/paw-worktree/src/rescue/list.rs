//! Listing rescues, with one call of git.

use std::path::{Path, PathBuf};

use paw_host::git::{Git, Repo};

use super::header::{Header, PathText};
use super::id::{IdMatch, PREFIX, match_id};
use super::{Rescue, RescueError, RescueKind};

/// Every rescue of the repository, newest first.
pub fn list(repo: &Repo) -> Result<Vec<Rescue>, RescueError> {
    Ok(load(&repo.git())?.into_iter().map(|stored| stored.rescue).collect())
}

/// The rescue with this id, unique prefix of an id, or full ref.
pub fn require(repo: &Repo, id: &str) -> Result<Rescue, RescueError> {
    Ok(require_stored(repo, id)?.rescue)
}

/// Like [`require`], with the tip of its branch at that time.
pub(crate) fn require_with_tip(repo: &Repo, id: &str) -> Result<(Rescue, Option<String>), RescueError> {
    let stored = require_stored(repo, id)?;
    Ok((stored.rescue, stored.header.tip))
}

/// The newest record of a worktree at this path.
pub fn find_record(repo: &Repo, worktree: &Path) -> Result<Option<Rescue>, RescueError> {
    let matches = |rescue: &Rescue| {
        rescue.kind == RescueKind::Record
            && rescue.worktree.as_deref().is_some_and(|was| is_same_path(was, worktree))
    };
    Ok(list(repo)?.into_iter().find(matches))
}

/// Deletes a rescue. Git removes unreachable objects at its next garbage collection.
pub fn forget(repo: &Repo, id: &str) -> Result<Rescue, RescueError> {
    let rescue = require(repo, id)?;
    repo.git().delete_ref(&rescue.reference, &rescue.commit)?;
    Ok(rescue)
}

/// A rescue with its internal header.
#[derive(Debug)]
pub(super) struct StoredRescue {
    pub(super) rescue: Rescue,
    pub(super) header: Header,
}

impl StoredRescue {
    pub(super) fn unreadable(&self, problem: &'static str) -> RescueError {
        let (id, commit) = (self.rescue.id.clone(), self.rescue.commit.clone());
        RescueError::Unreadable { id, commit, problem }
    }
}

pub(super) fn require_stored(repo: &Repo, id: &str) -> Result<StoredRescue, RescueError> {
    let mut all = load(&repo.git())?;
    match match_id(id, all.iter().map(|stored| stored.rescue.id.as_str())) {
        IdMatch::One(one) => {
            let at = all.iter().position(|stored| stored.rescue.id == one);
            at.map(|at| all.swap_remove(at)).ok_or_else(|| RescueError::NotFound(id.to_owned()))
        }
        IdMatch::None => Err(RescueError::NotFound(id.to_owned())),
        IdMatch::Several(ids) => Err(RescueError::Ambiguous {
            typed: id.to_owned(),
            matching: ids.into_iter().map(str::to_owned).collect(),
        }),
    }
}

fn load(git: &Git) -> Result<Vec<StoredRescue>, RescueError> {
    load_below(git, PREFIX)
}

/// The rescues whose refs begin with `prefix`.
pub(super) fn load_below(git: &Git, prefix: &str) -> Result<Vec<StoredRescue>, RescueError> {
    let format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
    let listing = git.run(["for-each-ref", format, prefix])?;
    let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let mut all: Vec<StoredRescue> =
        fields.chunks_exact(3).filter_map(|fields| stored(prefix, fields)).collect();
    all.sort_by(|a, b| (b.header.created_at, &b.rescue.id).cmp(&(a.header.created_at, &a.rescue.id)));
    Ok(all)
}

/// What has to be equal in two rescues of a worktree.
pub(super) struct SameRescue<'a> {
    pub(super) tree: &'a str,
    pub(super) index_tree: &'a str,
    pub(super) state_tree: &'a str,
    /// The commits that only the worktree refers to.
    pub(super) commits: &'a [String],
}

/// The rescue that holds exactly this work of this worktree.
pub(super) fn find_same(
    git: &Git,
    header: &Header,
    wanted: &SameRescue<'_>,
) -> Result<Option<Rescue>, RescueError> {
    for stored in load(git)? {
        let found = &stored.header;
        let is_alike = (found.kind, &found.worktree, &found.branch, &found.head, &found.tip)
            == (header.kind, &header.worktree, &header.branch, &header.head, &header.tip)
            && found.index_tree.as_deref() == Some(wanted.index_tree);
        let (true, Some(state)) = (is_alike, &found.state) else { continue };
        let commit = &stored.rescue.commit;
        let names = [format!("{commit}^{{tree}}"), format!("{state}^{{tree}}"), format!("{commit}^@")];
        let objects = git.line(["rev-parse".to_owned()].into_iter().chain(names))?;
        let mut objects = objects.lines();
        let trees = (objects.next(), objects.next());
        let parents: Vec<&str> = objects.collect();
        let has = |commit: &String| parents.contains(&commit.as_str());
        if trees == (Some(wanted.tree), Some(wanted.state_tree)) && wanted.commits.iter().all(has) {
            return Ok(Some(stored.rescue));
        }
    }
    Ok(None)
}

/// None for a ref that git paw did not create.
fn stored(prefix: &str, fields: &[&[u8]]) -> Option<StoredRescue> {
    let [reference, commit, message] = fields else { return None };
    let reference = std::str::from_utf8(reference).ok()?.trim_start_matches('\n');
    let id = reference.strip_prefix(prefix)?.to_owned();
    let commit = std::str::from_utf8(commit).ok()?.to_owned();
    let header = Header::from_message(&String::from_utf8_lossy(message))?;
    Some(StoredRescue { rescue: from_header(id, commit, header.clone()), header })
}

pub(super) fn from_header(id: String, commit: String, header: Header) -> Rescue {
    let path = |PathText(path): PathText| path;
    Rescue {
        reference: format!("{PREFIX}{id}"),
        id,
        commit,
        kind: header.kind,
        branch: header.branch,
        worktree: header.worktree.map(path),
        reason: header.reason,
        created_at: header.created_at,
        head: header.head,
        ignored_left_behind: header.ignored_left_behind.into_iter().map(path).collect(),
    }
}

/// The directory may not exist, so only its parent is resolved.
fn is_same_path(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> PathBuf {
        match (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => path.to_path_buf(),
        }
    };
    one == other || real(one) == real(other)
}
