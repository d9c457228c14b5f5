//! Tree objects in memory, and edits of single paths in them.

use std::fmt::Write as _;

use super::scratch::{ScratchError, ScratchRepo};

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const SUBMODULE: u32 = 0o160_000;
const KIND: u32 = 0o170_000;

/// An entry of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeItem {
    pub(super) mode: u32,
    pub(super) name: Vec<u8>,
    pub(super) oid: String,
}

impl TreeItem {
    pub(super) fn is_directory(&self) -> bool {
        self.mode == DIRECTORY
    }

    pub(super) fn is_plain_file(&self) -> bool {
        self.mode & KIND == FILE
    }

    fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }
}

/// The entries of one directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tree {
    items: Vec<TreeItem>,
}

/// A file to store, without its path; `None` removes it.
pub(super) type FileChange = Option<(u32, String)>;

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditedTree {
    Tree(String),
    Empty,
    /// A file takes the place of a directory or of a submodule, or the other way round: only an index sees all that follows.
    Clash,
}

impl Tree {
    /// The content of a tree object: mode, space, name, NUL and the bytes of the id.
    pub(super) fn parse(mut content: &[u8], oid_bytes: usize) -> Option<Self> {
        let mut items = Vec::new();
        while !content.is_empty() {
            let space = content.iter().position(|byte| *byte == b' ')?;
            let nul = content.iter().position(|byte| *byte == 0).filter(|nul| *nul > space)?;
            let mode = u32::from_str_radix(std::str::from_utf8(&content[..space]).ok()?, 8).ok()?;
            let oid = content.get(nul + 1..nul + 1 + oid_bytes).filter(|oid| !oid.is_empty())?;
            items.push(TreeItem { mode, name: content[space + 1..nul].to_vec(), oid: hex(oid) });
            content = &content[nul + 1 + oid_bytes..];
        }
        Some(Self { items })
    }

    pub(super) fn of(items: Vec<TreeItem>) -> Self {
        Self { items }
    }

    pub(super) fn items(&self) -> &[TreeItem] {
        &self.items
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<&TreeItem> {
        self.items.iter().find(|item| item.name == name)
    }

    /// The input of `mktree -z --batch`, which sorts it.
    pub(super) fn listing(&self) -> Vec<u8> {
        let mut listing = Vec::new();
        for item in &self.items {
            let kind = match item.mode {
                DIRECTORY => "tree",
                SUBMODULE => "commit",
                _ => "blob",
            };
            listing.extend_from_slice(format!("{:06o} {kind} {}\t", item.mode, item.oid).as_bytes());
            listing.extend_from_slice(&item.name);
            listing.push(0);
        }
        listing.push(0);
        listing
    }

    fn remove(&mut self, name: &[u8]) {
        self.items.retain(|item| item.name != name);
    }

    fn set(&mut self, name: &[u8], mode: u32, oid: String) {
        let new = TreeItem { mode, name: name.to_vec(), oid };
        match self.items.iter_mut().find(|item| item.name == name) {
            Some(item) => *item = new,
            None => self.items.push(new),
        }
    }
}

impl ScratchRepo {
    /// Stores a tree with these changes. Paths are sorted by their components, so that a directory's changes follow its name.
    pub(super) fn edit_tree(
        &self,
        tree: Option<&str>,
        changes: &[(&[u8], &FileChange)],
    ) -> Result<EditedTree, ScratchError> {
        let before = tree.map(|tree| self.read_tree(tree)).transpose()?;
        let mut edited = before.as_deref().cloned().unwrap_or_default();
        let mut rest = changes;
        while let Some((path, _)) = rest.first() {
            let name = first_name(path);
            let count = rest.iter().take_while(|(path, _)| first_name(path) == name).count();
            let (group, others) = rest.split_at(count);
            rest = others;
            let (own, below) =
                if group[0].0 == name { (Some(group[0].1), &group[1..]) } else { (None, group) };
            if own.is_some_and(|change| !edit_file(&mut edited, name, change)) {
                return Ok(EditedTree::Clash);
            }
            let below: Vec<(&[u8], &FileChange)> =
                below.iter().map(|(path, change)| (&path[name.len() + 1..], *change)).collect();
            if !below.is_empty() && !self.edit_directory(&mut edited, name, &below)? {
                return Ok(EditedTree::Clash);
            }
        }
        match tree {
            _ if edited.items.is_empty() => Ok(EditedTree::Empty),
            Some(tree) if before.is_some_and(|before| *before == edited) => {
                Ok(EditedTree::Tree(tree.to_owned()))
            }
            _ => self.write_tree(edited).map(EditedTree::Tree),
        }
    }

    /// Returns whether the change is possible.
    fn edit_directory(
        &self,
        tree: &mut Tree,
        name: &[u8],
        below: &[(&[u8], &FileChange)],
    ) -> Result<bool, ScratchError> {
        let directory = match tree.find(name) {
            Some(item) if item.is_directory() => Some(item.oid.clone()),
            // Nothing is below a file.
            Some(_) => return Ok(below.iter().all(|(_, change)| change.is_none())),
            None => None,
        };
        match self.edit_tree(directory.as_deref(), below)? {
            EditedTree::Clash => return Ok(false),
            EditedTree::Empty => tree.remove(name),
            EditedTree::Tree(oid) => tree.set(name, DIRECTORY, oid),
        }
        Ok(true)
    }
}

/// Returns whether the change is possible.
fn edit_file(tree: &mut Tree, name: &[u8], change: &FileChange) -> bool {
    match (tree.find(name), change) {
        (Some(item), _) if item.is_submodule() => return false,
        (Some(item), Some(_)) if item.is_directory() => return false,
        // Not a file any more: its directory's own changes follow.
        (Some(item), None) if item.is_directory() => {}
        (_, None) => tree.remove(name),
        (_, Some((mode, oid))) => tree.set(name, *mode, oid.clone()),
    }
    true
}

/// git's letter for the difference of a file: `A`dded, `D`eleted, another `T`ype or `M`odified.
pub(super) fn difference(before: Option<&TreeItem>, after: Option<&TreeItem>) -> Option<u8> {
    let is_file = |item: &&TreeItem| !item.is_directory();
    match (before.filter(is_file), after.filter(is_file)) {
        (None, None) => None,
        (None, Some(_)) => Some(b'A'),
        (Some(_), None) => Some(b'D'),
        (Some(before), Some(after)) if before.mode & KIND != after.mode & KIND => Some(b'T'),
        (Some(before), Some(after)) => {
            ((before.mode, &before.oid) != (after.mode, &after.oid)).then_some(b'M')
        }
    }
}

fn first_name(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'/').next().unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tree_object_is_parsed_and_listed_for_mktree() {
        let tree = Tree::parse(b"100644 a b\n\0\xab\xcd40000 dir\0\x01\x02160000 sub\0\x03\x04", 2).unwrap();
        assert_eq!(
            tree.listing(),
            b"100644 blob abcd\ta b\n\x00040000 tree 0102\tdir\x00160000 commit 0304\tsub\0\0"
        );
        assert_eq!(Tree::parse(b"", 20), Some(Tree::default()));
        assert_eq!(Tree::parse(b"100644 a\0short", 20), None);
    }

    #[test]
    fn differences_have_the_letters_of_git() {
        let item = |mode, oid: &str| Some(TreeItem { mode, name: b"f".to_vec(), oid: oid.into() });
        let letter = |a: &Option<TreeItem>, b: &Option<TreeItem>| difference(a.as_ref(), b.as_ref());
        let (file, other) = (item(0o100_644, "a"), item(0o100_755, "a"));
        assert_eq!(letter(&file, &file), None);
        assert_eq!(letter(&file, &other), Some(b'M'));
        assert_eq!(letter(&file, &item(0o120_000, "a")), Some(b'T'));
        assert_eq!((letter(&None, &file), letter(&file, &item(DIRECTORY, "d"))), (Some(b'A'), Some(b'D')));
    }

    proptest! {
        #[test]
        fn parsing_any_tree_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            Tree::parse(&bytes, 20);
        }
    }
}
