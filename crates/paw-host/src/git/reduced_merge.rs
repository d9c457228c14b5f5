//! Trial merges of only those files that have changed since two works were last merged.
//!
//! A file that the merge base and both sides have is merged by itself: it is neither renamed nor moved with its directory, and
//! nothing else is merged differently because of it. So a merge that is known needs to be repeated only for such files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::scratch::{OBJECT_BYTES, ScratchError, ScratchRepo};
use super::tree::{EditedTree, FileChange, TreeItem};
use super::{GitError, text};
use crate::process::Exit;

/// Above this number of changed files, everything is merged again.
const MAX_FILES: usize = 64;

/// The rest of a merge whose result is known except for some files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReducedMerge {
    /// The files to judge again.
    pub paths: BTreeSet<PathBuf>,
    /// Commits on top of the merge base with only those of the files that both sides have changed differently. `None` if there are
    /// none: all of the files merge.
    pub commits: Option<(String, String)>,
}

impl ScratchRepo {
    /// The only merge base of two commits. `None` if there are several, or none.
    pub fn find_merge_base(&self, first: &str, second: &str) -> Result<Option<String>, ScratchError> {
        if first == second {
            return Ok(Some(first.to_owned()));
        }
        let command = self.command(["merge-base", "--all", first, second]);
        let output = command.capture().map_err(GitError::from)?;
        let bases = text(&output.stdout);
        let is_one = output.exit == Exit::Code(0) && !bases.is_empty() && !bases.contains('\n');
        Ok(is_one.then_some(bases))
    }

    /// What is left to merge of the trees `now` if the merge of the trees `before` is known. `None` if everything has to be merged:
    /// files were added, deleted or are not plain files, or attributes have changed.
    pub fn reduce_merge(
        &self,
        base: &str,
        before: (&str, &str),
        now: (&str, &str),
    ) -> Result<Option<ReducedMerge>, ScratchError> {
        let mut paths = BTreeSet::new();
        for (before, now) in [(before.0, now.0), (before.1, now.1)] {
            if !self.collect_edits(before, now, Path::new(""), &mut paths)? {
                return Ok(None);
            }
        }
        let mut sides: [BTreeMap<PathBuf, FileChange>; 2] = Default::default();
        for path in &paths {
            let mut items = Vec::with_capacity(5);
            for tree in [base, before.0, before.1, now.0, now.1] {
                match self.find_item(tree, path)? {
                    Some(item) if item.is_plain_file() => items.push((item.mode, item.oid)),
                    _ => return Ok(None),
                }
            }
            let [base, _, _, first, second] = items.as_slice() else { return Ok(None) };
            if first != second && first != base && second != base {
                sides[0].insert(path.clone(), Some(first.clone()));
                sides[1].insert(path.clone(), Some(second.clone()));
            }
        }
        if sides[0].is_empty() {
            return Ok(Some(ReducedMerge { paths, commits: None }));
        }
        let (Some(first), Some(second)) =
            (self.commit_on(base, &sides[0])?, self.commit_on(base, &sides[1])?)
        else {
            return Ok(None);
        };
        // Trees and a commit of each side, and what git stores when it merges.
        self.count_written(OBJECT_BYTES * (8 + sides[0].len() as u64));
        Ok(Some(ReducedMerge { paths, commits: Some((first, second)) }))
    }

    fn commit_on(
        &self,
        base: &str,
        changes: &BTreeMap<PathBuf, FileChange>,
    ) -> Result<Option<String>, ScratchError> {
        let bytes: Vec<(&[u8], &FileChange)> =
            changes.iter().map(|(path, change)| (path.as_os_str().as_bytes(), change)).collect();
        match self.edit_tree(Some(base), &bytes)? {
            EditedTree::Tree(tree) => self.commit_work(&format!("{tree} {base}")).map(Some),
            EditedTree::Empty | EditedTree::Clash => Ok(None),
        }
    }

    /// Adds the files below `dir` that differ. Returns false if anything but the content of plain files differs.
    fn collect_edits(
        &self,
        before: &str,
        after: &str,
        dir: &Path,
        found: &mut BTreeSet<PathBuf>,
    ) -> Result<bool, ScratchError> {
        if before == after {
            return Ok(true);
        }
        let (before, after) = (self.read_tree(before)?, self.read_tree(after)?);
        if before.items().len() != after.items().len() {
            return Ok(false);
        }
        let known: HashMap<&[u8], &TreeItem> =
            before.items().iter().map(|item| (item.name.as_slice(), item)).collect();
        for item in after.items() {
            let Some(old) = known.get(item.name.as_slice()) else { return Ok(false) };
            if *old == item {
                continue;
            }
            let path = dir.join(OsStr::from_bytes(&item.name));
            if old.is_directory() && item.is_directory() {
                if !self.collect_edits(&old.oid, &item.oid, &path, found)? {
                    return Ok(false);
                }
            } else if !old.is_plain_file() || !item.is_plain_file() || item.name == b".gitattributes" {
                return Ok(false);
            } else {
                found.insert(path);
                if found.len() > MAX_FILES {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
