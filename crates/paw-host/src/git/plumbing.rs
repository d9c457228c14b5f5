//! Reads and writes objects and refs without touching the index, HEAD or files of any worktree.
//!
//! These calls disable hooks, file system monitors, maintenance and split indexes, so that git starts no other program, and
//! hide the user's keys and tokens from git.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use paw_core::BranchName;

use super::{Git, GitError, failed, run, safety, text};
use crate::process::Command;

/// A tree entry with its full path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// `100644`, `100755`, `120000` or `160000`.
    pub mode: String,
    pub oid: String,
    pub path: PathBuf,
}

/// A commit to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit<'a> {
    pub tree: &'a str,
    pub parents: &'a [String],
    pub message: &'a str,
    pub at: jiff::Timestamp,
}

impl Git {
    /// A git command that starts no other program. Uses the index file `index`, if given, instead of the worktree's.
    pub fn plumbing<A: Into<OsString>>(
        &self,
        index: Option<&Path>,
        args: impl IntoIterator<Item = A>,
    ) -> Command {
        let command = safety::with_short_environment(self.quiet(args));
        match index {
            Some(index) => command.env("GIT_INDEX_FILE", index),
            None => command,
        }
    }

    /// Like [`Git::plumbing`], with the user's environment, which signing a commit or fetching objects may need.
    pub(super) fn quiet<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let quiet = [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "core.splitIndex=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "i18n.commitEncoding=UTF-8",
        ];
        let options = quiet.into_iter().flat_map(|setting| ["-c", setting]).map(OsString::from);
        self.command(options.chain(args.into_iter().map(Into::into)))
    }

    /// Runs a [`Git::plumbing`] command; an exit code other than 0 is an error.
    pub fn plumb<A: Into<OsString>>(
        &self,
        index: Option<&Path>,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        run(&self.plumbing(index, args))
    }

    /// Writes files as blobs exactly as they are on disk, without filters or line ending conversion. Keeps the order.
    pub fn write_blobs(&self, files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        self.hash_files(&["-w", "--no-filters"], files)
    }

    /// The object ids that `git add` would give the files, with the user's own filters applied. Writes nothing.
    pub fn filtered_oids(&self, files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        self.hash_files(&[], files)
    }

    fn hash_files(&self, options: &[&str], files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = String::new();
        for file in files {
            input.push_str(&c_quote(file.as_os_str().as_bytes()));
            input.push('\n');
        }
        let args: Vec<&str> = ["hash-object", "--stdin-paths"].iter().chain(options).copied().collect();
        let is_raw = options.contains(&"--no-filters");
        let command = if is_raw { self.plumbing(None, args) } else { self.unfiltered(&args)? };
        let command = command.input(input);
        let answer = text(&run(&command)?);
        let oids: Vec<String> = answer.lines().map(str::to_owned).collect();
        if oids.len() == files.len() {
            Ok(oids)
        } else {
            Err(GitError::Unexpected { command: command.to_string(), answer })
        }
    }

    /// Edits a private index file. Removals come first, so that a directory can replace a file.
    pub fn edit_index(&self, index: &Path, removed: &[PathBuf], added: &[TreeEntry]) -> Result<(), GitError> {
        if removed.is_empty() && added.is_empty() {
            return Ok(());
        }
        let null = match added.first() {
            Some(entry) => "0".repeat(entry.oid.len()),
            None if self.line(["rev-parse", "--show-object-format"])? == "sha256" => "0".repeat(64),
            None => "0".repeat(40),
        };
        let mut input = Vec::new();
        for path in removed {
            input.extend_from_slice(format!("0 {null}\t").as_bytes());
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        for entry in added {
            input.extend_from_slice(format!("{} {}\t", entry.mode, entry.oid).as_bytes());
            input.extend_from_slice(entry.path.as_os_str().as_bytes());
            input.push(0);
        }
        let args = ["update-index", "--add", "--replace", "-z", "--index-info"];
        run(&self.plumbing(Some(index), args).input(input)).map(drop)
    }

    /// Writes the tree of a private index file. Objects that a partial clone has not fetched may be missing.
    pub fn write_index_tree(&self, index: &Path) -> Result<String, GitError> {
        Ok(text(&self.plumb(Some(index), ["write-tree", "--missing-ok"])?))
    }

    /// Creates an unsigned commit with git-paw as its author. Updates no ref.
    pub fn commit_tree(&self, commit: &NewCommit<'_>) -> Result<String, GitError> {
        let mut args = vec!["commit-tree".to_owned(), "-F".to_owned(), "-".to_owned()];
        for parent in commit.parents {
            args.extend(["-p".to_owned(), parent.clone()]);
        }
        args.push(commit.tree.to_owned());
        let mut command = self.plumbing(None, args).input(commit.message);
        let date = format!("@{} +0000", commit.at.as_second());
        for who in ["AUTHOR", "COMMITTER"] {
            command = command
                .env(format!("GIT_{who}_NAME"), "git-paw")
                .env(format!("GIT_{who}_EMAIL"), "git-paw@localhost")
                .env(format!("GIT_{who}_DATE"), &date);
        }
        Ok(text(&run(&command)?))
    }

    /// Creates a ref. Returns false if it already exists.
    pub fn create_ref(&self, full_ref: &str, oid: &str) -> Result<bool, GitError> {
        let null = "0".repeat(oid.len());
        let command = self.plumbing(None, ["update-ref", full_ref, oid, &null]);
        let output = command.capture()?;
        if output.exit.success() {
            return Ok(true);
        }
        if self.has_ref(full_ref)? { Ok(false) } else { Err(failed(&command, &output)) }
    }

    /// Deletes a ref if it still points to `oid`.
    pub fn delete_ref(&self, full_ref: &str, oid: &str) -> Result<(), GitError> {
        self.plumb(None, ["update-ref", "-d", full_ref, oid]).map(drop)
    }

    /// Resolves a name to an object of this kind (`commit`, `tree`).
    pub fn find_object(&self, name: &str, kind: &str) -> Result<Option<String>, GitError> {
        let object = format!("{name}^{{{kind}}}");
        self.find(["rev-parse", "--quiet", "--verify", "--end-of-options", &object])
    }

    /// The tip of a local branch.
    pub fn find_tip(&self, branch: &BranchName) -> Result<Option<String>, GitError> {
        self.find_object(&branch.full_ref(), "commit")
    }

    /// Whether `older` is an ancestor of `newer`.
    pub fn is_ancestor(&self, older: &str, newer: &str) -> Result<bool, GitError> {
        Ok(self.find(["merge-base", "--is-ancestor", older, newer])?.is_some())
    }

    /// Reads many objects into memory, in the same order.
    pub fn read_objects(&self, oids: &[String]) -> Result<Vec<Vec<u8>>, GitError> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let command = self.plumbing(None, ["cat-file", "--batch"]).input(oids.join("\n") + "\n");
        let answer = run(&command)?;
        let unexpected = |rest: &[u8]| GitError::Unexpected {
            command: command.to_string(),
            answer: String::from_utf8_lossy(&rest[..rest.len().min(200)]).into_owned(),
        };
        let mut rest = answer.as_slice();
        let mut contents = Vec::with_capacity(oids.len());
        for _ in oids {
            let (content, after) = one_object(rest).ok_or_else(|| unexpected(rest))?;
            contents.push(content.to_vec());
            rest = after;
        }
        Ok(contents)
    }

    /// The sizes of many objects, in the same order.
    pub fn object_sizes(&self, oids: &[String]) -> Result<Vec<u64>, GitError> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let command = self.plumbing(None, ["cat-file", "--batch-check=%(objectsize)"]);
        let command = command.input(oids.join("\n") + "\n");
        let answer = text(&run(&command)?);
        let sizes: Option<Vec<u64>> = answer.lines().map(|line| line.parse().ok()).collect();
        sizes
            .filter(|sizes| sizes.len() == oids.len())
            .ok_or_else(|| GitError::Unexpected { command: command.to_string(), answer })
    }

    /// The keys and values of a configuration file with this content. Included files are not read.
    pub fn parse_config(&self, content: &[u8]) -> Result<Vec<(String, String)>, GitError> {
        let command = self.plumbing(None, ["config", "--file", "-", "--null", "--list"]).input(content);
        let listing = run(&command)?;
        let setting = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry).into_owned();
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
            (key.to_owned(), value.to_owned())
        };
        Ok(listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(setting).collect())
    }

    /// All files in a tree, recursively.
    pub fn tree_entries(&self, tree: &str) -> Result<Vec<TreeEntry>, GitError> {
        let listing = self.plumb(None, ["ls-tree", "-r", "-z", "--full-tree", tree])?;
        Ok(listing.split(|byte| *byte == 0).filter_map(tree_entry).collect())
    }
}

/// `oid type size`, a newline, the content, a newline. A missing object has no size.
fn one_object(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&answer[..end]).ok()?.split(' ').nth(2)?.parse().ok()?;
    let content = answer.get(end + 1..)?.get(..size)?;
    Some((content, answer.get(end + 1 + size + 1..)?))
}

/// `mode type oid`, a tab, the path.
fn tree_entry(record: &[u8]) -> Option<TreeEntry> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    let (mode, _, oid) = (fields.next()?.to_owned(), fields.next()?, fields.next()?.to_owned());
    Some(TreeEntry { mode, oid, path: super::path(&record[tab + 1..]) })
}

/// Quotes a path for input with one path per line, and for lists of paths in variables.
pub(super) fn c_quote(path: &[u8]) -> String {
    let mut quoted = String::with_capacity(path.len() + 2);
    quoted.push('"');
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c_quote_keeps_a_path_on_one_line() {
        assert_eq!(c_quote(b"a b"), r#""a b""#);
        assert_eq!(c_quote(b"-q\n\"\\\t\xff"), r#""-q\012\"\\\011\377""#);
    }

    #[test]
    fn objects_are_read_by_size_and_a_missing_one_is_rejected() {
        assert_eq!(one_object(b"aa blob 3\na\nb\nbb"), Some((&b"a\nb"[..], &b"bb"[..])));
        assert_eq!(one_object(b"aa missing\n"), None);
        assert_eq!(one_object(b"aa blob 9\nshort\n"), None);
    }

    #[test]
    fn a_tree_entry_is_parsed_with_a_tab_and_bytes_in_its_path() {
        let entry = tree_entry(b"100755 blob aa\ta\tb\xff").unwrap();
        assert_eq!((entry.mode.as_str(), entry.oid.as_str()), ("100755", "aa"));
        assert_eq!(entry.path.as_os_str().as_bytes(), b"a\tb\xff");
    }

    proptest! {
        #[test]
        fn parsing_any_output_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            one_object(&bytes);
            tree_entry(&bytes);
        }
    }
}
