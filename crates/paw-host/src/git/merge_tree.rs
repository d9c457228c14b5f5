//! Trial merges in a [`ScratchRepo`]: whether two commits merge, and which files conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::scratch::{ScratchError, ScratchRepo};
use super::tree::{Tree, TreeItem};
use super::{GitError, failed, path};
use crate::process::{Command, Exit};

/// The result of a trial merge of two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialMerge {
    Clean,
    Conflicts(Vec<MergeConflict>),
    /// git failed, for example because an object is missing.
    Unknown,
}

/// How many files are about to be merged. Only the answer is needed, but git stores what it has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedFiles {
    /// Kept with everything else: deleting them costs more.
    Few,
    /// Deleted after the merge.
    Many,
}

/// A file that does not merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    pub path: PathBuf,
    /// In git's words: `contents`, `modify/delete`, `file/directory`, …
    pub kind: String,
    /// The file in the merge base, on the first side, and on the second.
    pub stages: [Option<Blob>; 3],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub mode: String,
    pub oid: String,
}

impl ScratchRepo {
    /// Merges every pair of commits and returns the results in the same order. `attributes` is the tree whose
    /// `.gitattributes` select merge drivers; drivers that run a program are not configured here and are ignored.
    pub fn merge_pairs(
        &self,
        pairs: &[(String, String)],
        attributes: &str,
        files: MergedFiles,
    ) -> Result<Vec<TrialMerge>, ScratchError> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let lines: Vec<String> = pairs.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
        let command = self.merge_tree(&["--stdin"], attributes).input(lines.concat());
        let (command, _merged) = match files {
            MergedFiles::Few => (command, None),
            MergedFiles::Many => {
                let (command, merged) = self.storing_nothing(command)?;
                (command, Some(merged))
            }
        };
        let output = command.capture().map_err(GitError::from)?;
        let merges = parse_batch(&output.stdout);
        if output.exit.success() && merges.len() == pairs.len() {
            return Ok(merges);
        }
        // An old git has no batch mode, and one invalid pair ends a batch.
        Ok(pairs
            .iter()
            .map(|(a, b)| self.merge_pair(a, b, attributes).unwrap_or(TrialMerge::Unknown))
            .collect())
    }

    fn merge_pair(&self, a: &str, b: &str, attributes: &str) -> Result<TrialMerge, ScratchError> {
        let command = self.merge_tree(&["-z", "--messages", a, b], attributes);
        let (command, _merged) = self.storing_nothing(command)?;
        let output = command.capture().map_err(GitError::from)?;
        let mut fields = output.stdout.split(|byte| *byte == 0);
        match output.exit {
            Exit::Code(0) => Ok(TrialMerge::Clean),
            // A missing commit has the same exit code, but prints no tree.
            Exit::Code(1) if fields.next().is_some_and(|tree| !tree.is_empty()) => Ok(conflicts(&mut fields)),
            _ => Err(failed(&command, &output).into()),
        }
    }

    fn merge_tree(&self, args: &[&str], attributes: &str) -> Command {
        let args = ["merge-tree", "--write-tree"].iter().chain(args).copied();
        self.command(args).env("GIT_ATTR_SOURCE", attributes)
    }

    /// Builds one tree per side that contains all conflicting files, so that one diff compares them all.
    pub(super) fn side_trees(&self, conflicts: &[&MergeConflict]) -> Result<[String; 3], ScratchError> {
        let tree = |side: usize| {
            let item = |(number, conflict): (usize, &&MergeConflict)| {
                let oid = conflict.stages[side].as_ref()?.oid.clone();
                Some(TreeItem { mode: 0o100_644, name: format!("{number:06}").into_bytes(), oid })
            };
            self.write_tree(Tree::of(conflicts.iter().enumerate().filter_map(item).collect()))
        };
        Ok([tree(0)?, tree(1)?, tree(2)?])
    }
}

/// A status, a tree, then the input of [`conflicts`]; an empty field after each merge.
fn parse_batch(answer: &[u8]) -> Vec<TrialMerge> {
    let mut fields = answer.split(|byte| *byte == 0);
    let mut merges = Vec::new();
    while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
        fields.next();
        merges.push(match status {
            b"1" => {
                fields.next();
                TrialMerge::Clean
            }
            b"0" => conflicts(&mut fields),
            _ => TrialMerge::Unknown,
        });
    }
    merges
}

/// Stages of files up to an empty field, then messages up to another one: number of paths, paths, kind, text.
fn conflicts<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> TrialMerge {
    let mut stages: BTreeMap<PathBuf, [Option<Blob>; 3]> = BTreeMap::new();
    for field in fields.by_ref().take_while(|field| !field.is_empty()) {
        if let Some((path, stage, blob)) = staged(field) {
            stages.entry(path).or_default()[stage] = Some(blob);
        }
    }
    let mut found: BTreeMap<PathBuf, String> = BTreeMap::new();
    while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
        let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
        let paths: Vec<PathBuf> = fields.by_ref().take(count).map(path).collect();
        let kind = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        fields.next();
        let Some(kind) = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')')) else {
            continue;
        };
        if let Some(path) = paths.iter().find(|path| !is_moved_aside(path)).or(paths.first()) {
            found.entry(path.clone()).or_insert_with(|| kind.to_owned());
        }
    }
    // A conflict that no message names is still one.
    let named: BTreeSet<PathBuf> = found.keys().cloned().collect();
    for path in stages.keys().filter(|path| !named.contains(*path) && !is_moved_aside(path)) {
        found.insert(path.clone(), "contents".to_owned());
    }
    let conflict = |(path, kind): (PathBuf, String)| {
        let stages = stages.remove(&path).unwrap_or_default();
        MergeConflict { path, kind, stages }
    };
    TrialMerge::Conflicts(found.into_iter().map(conflict).collect())
}

/// `path~commit`: the name git gives a file where the other side has a directory.
fn is_moved_aside(path: &std::path::Path) -> bool {
    let name = path.to_string_lossy();
    name.rsplit_once('~').is_some_and(|(_, commit)| {
        commit.len() >= 40 && commit.chars().take(40).all(|c| c.is_ascii_hexdigit())
    })
}

/// `mode oid stage`, a tab, the path.
fn staged(field: &[u8]) -> Option<(PathBuf, usize, Blob)> {
    let tab = field.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&field[..tab]).ok()?.split(' ');
    let (mode, oid) = (words.next()?.to_owned(), words.next()?.to_owned());
    let stage = words.next()?.parse::<usize>().ok()?.checked_sub(1).filter(|stage| *stage < 3)?;
    Some((path(&field[tab + 1..]), stage, Blob { mode, oid }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_batch_is_parsed_with_clean_merges_and_conflicts() {
        let answer = b"1\0tree\0\0\
            0\0tree\x00100644 aa 1\tf\n\x00100644 bb 2\tf\n\x00100644 cc 3\tf\n\0\0\
            1\0f\n\0Auto-merging\0Auto-merging\0\
            1\0f\n\0CONFLICT (contents)\0text\0\0\
            1\0tree\0\0";
        let merges = parse_batch(answer);
        assert_eq!((merges.len(), &merges[0], &merges[2]), (3, &TrialMerge::Clean, &TrialMerge::Clean));
        let TrialMerge::Conflicts(conflicts) = &merges[1] else { panic!("{merges:?}") };
        assert_eq!(conflicts[0].path, PathBuf::from("f\n"));
        assert_eq!(conflicts[0].kind, "contents");
        let oids: Vec<_> = conflicts[0].stages.iter().flatten().map(|blob| blob.oid.as_str()).collect();
        assert_eq!(oids, ["aa", "bb", "cc"]);
    }

    proptest! {
        #[test]
        fn parsing_any_batch_does_not_panic(bytes in proptest::collection::vec(prop_oneof![Just(0_u8), Just(b'0'), Just(b'1'), Just(b'\t'), any::<u8>()], 0..200)) {
            parse_batch(&bytes);
        }
    }
}
