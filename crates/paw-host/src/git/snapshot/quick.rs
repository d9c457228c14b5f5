//! Snapshots of a few changed files without an index: their blobs are stored, and the trees above them.
//!
//! Whatever git might convert (line endings, keywords, encodings, filters) and whatever is not a plain file is left to the index.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{LastSnapshot, SortedPaths, WorktreeSnapshotter};
use crate::git::Git;
use crate::git::scratch::{OBJECT_BYTES, ScratchError};
use crate::git::tree::{EditedTree, FileChange, difference};

/// Above this number of files, the index is quicker.
const MAX_FILES: usize = 64;
const ATTRIBUTES: &str = ".gitattributes";

/// Settings of the user and of the repository that decide how files are stored.
#[derive(Debug, Default)]
pub(super) struct StoringRules {
    /// The configured filter drivers, global ones such as git-lfs included.
    pub(super) drivers: BTreeSet<String>,
    /// Modes and names of files are stored as they are on disk.
    exact_names: bool,
    /// Files outside of the worktree with attributes for all of its files.
    attribute_files: Vec<PathBuf>,
}

impl StoringRules {
    /// Reads the output of `git config -z`. The last value of a key counts.
    pub(super) fn parse(listing: &str, common_dir: &Path, system: Option<PathBuf>) -> Self {
        let entries = listing.split('\0').filter_map(|entry| entry.split_once('\n'));
        let mut settings: BTreeMap<&str, &str> = BTreeMap::new();
        let mut drivers = BTreeSet::new();
        for (key, value) in entries {
            match key.strip_prefix("filter.").and_then(|key| key.rsplit_once('.')) {
                Some((driver, _)) => drop(drivers.insert(driver.to_owned())),
                None => drop(settings.insert(key, value)),
            }
        }
        let is_off = |key| settings.get(key).is_some_and(|value| *value == "false");
        let is_on = |key| settings.get(key).is_some_and(|value| *value == "true");
        let of_user = match settings.get("core.attributesfile") {
            Some(path) => Some(PathBuf::from(path)),
            None => default_attributes(),
        };
        let attribute_files = [Some(common_dir.join("info/attributes")), of_user, system];
        Self {
            drivers,
            exact_names: !is_off("core.filemode")
                && !is_off("core.symlinks")
                && !is_on("core.ignorecase")
                && !is_on("core.precomposeunicode"),
            attribute_files: attribute_files.into_iter().flatten().collect(),
        }
    }

    /// Whether attributes may name a conversion that changes a file without carriage returns and keywords.
    fn may_convert(&self, attributes: &[u8]) -> bool {
        let has = |word: &[u8]| attributes.windows(word.len()).any(|window| window == word);
        has(b"working-tree-encoding") || (!self.drivers.is_empty() && has(b"filter"))
    }
}

fn default_attributes() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("git/attributes"))
}

/// The file with attributes for all users of this computer, if git has one.
pub(super) fn find_system_attributes(git: &Git) -> Option<PathBuf> {
    git.find(["var", "GIT_ATTR_SYSTEM"]).ok().flatten().map(PathBuf::from)
}

/// Whether git stores these bytes as they are, whatever it is told about line endings and keywords.
fn is_plain(content: &[u8]) -> bool {
    !content.contains(&b'\r') && !content.windows(3).any(|window| window == b"$Id")
}

impl WorktreeSnapshotter {
    /// Continues from the last snapshot. `None` if only the index can.
    pub(super) fn edit(
        &self,
        last: &LastSnapshot,
        sorted: &SortedPaths,
    ) -> Result<Option<LastSnapshot>, ScratchError> {
        if !self.rules.exact_names || sorted.stored.len() + sorted.gone.len() > MAX_FILES {
            return Ok(None);
        }
        let Some(changes) = self.changes(&last.tree, sorted)? else { return Ok(None) };
        let bytes: Vec<(&[u8], &FileChange)> =
            changes.iter().map(|(path, change)| (path.as_os_str().as_bytes(), change)).collect();
        let tree = match self.scratch.edit_tree(Some(&last.tree), &bytes)? {
            EditedTree::Clash => return Ok(None),
            EditedTree::Empty => self.scratch.empty_tree().to_owned(),
            EditedTree::Tree(tree) => tree,
        };
        self.scratch.count_written(sorted.bytes + OBJECT_BYTES * sorted.stored.len() as u64);
        let mut next =
            LastSnapshot { differences: last.differences.clone(), unindexed: last.unindexed.clone(), tree };
        for path in changes.into_keys() {
            let base = self.scratch.find_item(self.base_tree(), &path)?;
            let now = self.scratch.find_item(&next.tree, &path)?;
            match difference(base.as_ref(), now.as_ref()) {
                Some(letter) => next.differences.insert(path.clone(), letter),
                None => next.differences.remove(&path),
            };
            next.unindexed.insert(path);
        }
        Ok(Some(next))
    }

    fn changes(
        &self,
        tree: &str,
        sorted: &SortedPaths,
    ) -> Result<Option<BTreeMap<PathBuf, FileChange>>, ScratchError> {
        let mut attributes = AttributeFiles { snapshotter: self, tree, known: BTreeMap::new() };
        let (mut files, mut modes) = (Vec::new(), Vec::new());
        for path in &sorted.stored {
            let file = self.root.join(path);
            let Ok(metadata) = file.symlink_metadata() else { return Ok(None) };
            let Ok(content) = fs::read(&file) else { return Ok(None) };
            if !metadata.is_file() || !is_plain(&content) || attributes.may_convert(path)? {
                return Ok(None);
            }
            modes.push(if metadata.permissions().mode() & 0o100 == 0 { 0o100_644 } else { 0o100_755 });
            files.push(file);
        }
        let oids = self.scratch.write_files(&files)?;
        let stored = modes.into_iter().zip(oids).map(Some);
        let mut changes: BTreeMap<PathBuf, FileChange> = sorted.stored.iter().cloned().zip(stored).collect();
        changes.extend(sorted.gone.iter().map(|path| (path.clone(), None)));
        Ok(Some(changes))
    }
}

/// The attributes that hold for a path: of its directory, of those above it, and of the whole repository.
struct AttributeFiles<'a> {
    snapshotter: &'a WorktreeSnapshotter,
    tree: &'a str,
    known: BTreeMap<PathBuf, bool>,
}

impl AttributeFiles<'_> {
    fn may_convert(&mut self, path: &Path) -> Result<bool, ScratchError> {
        let rules = &self.snapshotter.rules;
        let shared = rules.attribute_files.iter().filter_map(|file| fs::read(file).ok());
        let mut may = shared.into_iter().any(|text| rules.may_convert(&text));
        for dir in path.ancestors().skip(1) {
            may = may || self.directory_may_convert(dir)?;
        }
        Ok(may)
    }

    fn directory_may_convert(&mut self, dir: &Path) -> Result<bool, ScratchError> {
        if let Some(known) = self.known.get(dir) {
            return Ok(*known);
        }
        let path = dir.join(ATTRIBUTES);
        let may = match fs::read(self.snapshotter.root.join(&path)) {
            Ok(text) => self.snapshotter.rules.may_convert(&text),
            // git uses the stored file if there is none on disk.
            Err(_) => self.snapshotter.scratch.find_item(self.tree, &path)?.is_some(),
        };
        self.known.insert(dir.to_path_buf(), may);
        Ok(may)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_that_git_never_converts_is_plain() {
        assert!(is_plain(b"text\nwith $money\n"));
        assert!(!is_plain(b"dos\r\n"));
        assert!(!is_plain(b"$Id$"));
    }

    #[test]
    fn rules_are_read_from_settings() {
        let listing = "filter.lfs.clean\ngit-lfs clean\0filter.lfs.process\nx\0core.filemode\nfalse\0core.filemode\ntrue\0\
            core.attributesfile\n/etc/mine\0";
        let rules = StoringRules::parse(listing, Path::new("/r/.git"), None);
        assert!(rules.exact_names, "the last value counts");
        assert_eq!(rules.drivers, BTreeSet::from(["lfs".to_owned()]));
        assert_eq!(rules.attribute_files, ["/r/.git/info/attributes", "/etc/mine"].map(PathBuf::from));
        assert!(rules.may_convert(b"*.bin filter=lfs"));
        assert!(!StoringRules::default().may_convert(b"*.bin filter=lfs"));
        assert!(StoringRules::default().may_convert(b"*.txt working-tree-encoding=UTF-16"));
    }
}
