//! Objects of a [`ScratchRepo`], read and written by git processes that keep running.
//!
//! Every edit of an agent needs a blob and the trees above it. A git process for each of them would cost more than all the rest.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::GitError;
use super::plumbing::c_quote;
use super::scratch::{ScratchError, ScratchRepo};
use super::tree::{Tree, TreeItem};
use crate::files::FileError;
use crate::process::{Command, Coprocess, ProcessError};

/// The most entries of trees that are kept in memory, about 3 MiB. Those of the last edits are needed again.
const MAX_CACHED_ITEMS: usize = 20_000;
/// So many paths fit into a pipe together with their answers.
const MAX_PATHS: usize = 16;

/// git processes that are started when they are first needed.
#[derive(Debug, Default)]
pub(super) struct ObjectStore {
    reader: Mutex<Option<Coprocess>>,
    blobs: Mutex<Option<Coprocess>>,
    trees: Mutex<Option<Coprocess>>,
    commits: Mutex<Option<Coprocess>>,
    known: Mutex<KnownTrees>,
}

#[derive(Debug, Default)]
struct KnownTrees {
    trees: HashMap<String, Arc<Tree>>,
    items: usize,
}

impl KnownTrees {
    fn insert(&mut self, oid: &str, tree: &Arc<Tree>) {
        if self.items > MAX_CACHED_ITEMS {
            *self = Self::default();
        }
        self.items += tree.items().len();
        self.trees.insert(oid.to_owned(), Arc::clone(tree));
    }
}

/// Asks a process, and starts it if it is not running. One that fails is ended; the next question starts another.
fn ask<T>(
    slot: &Mutex<Option<Coprocess>>,
    command: impl FnOnce() -> Command,
    question: impl FnOnce(&mut Coprocess) -> Result<T, ProcessError>,
) -> Result<T, GitError> {
    ask_locked(&mut slot.lock().unwrap_or_else(PoisonError::into_inner), command, question)
}

fn ask_locked<T>(
    slot: &mut Option<Coprocess>,
    command: impl FnOnce() -> Command,
    question: impl FnOnce(&mut Coprocess) -> Result<T, ProcessError>,
) -> Result<T, GitError> {
    let mut process = match slot.take() {
        Some(process) => process,
        None => command().coprocess()?,
    };
    let answer = question(&mut process)?;
    *slot = Some(process);
    Ok(answer)
}

impl ScratchRepo {
    /// Reads a tree, or the tree of a commit.
    pub(super) fn read_tree(&self, name: &str) -> Result<Arc<Tree>, ScratchError> {
        if let Some(tree) = self.lock_known().trees.get(name) {
            return Ok(Arc::clone(tree));
        }
        let start = || self.command(["cat-file", "--batch"]);
        let (header, content) = ask(&self.objects().reader, start, |process| {
            process.send(format!("{name}^{{tree}}\n").as_bytes())?;
            let header = process.read_line()?;
            let size = header.split_once(" tree ").and_then(|(_, size)| size.parse::<usize>().ok());
            // A missing object has no content.
            let content = size.map(|size| process.read_bytes(size + 1)).transpose()?;
            Ok((header, content))
        })?;
        let tree = content.and_then(|content| {
            let oid_bytes = header.split(' ').next()?.len() / 2;
            Tree::parse(content.strip_suffix(b"\n")?, oid_bytes)
        });
        let tree = tree.map(Arc::new).ok_or_else(|| unexpected("cat-file", &header))?;
        self.lock_known().insert(name, &tree);
        Ok(tree)
    }

    pub(super) fn write_tree(&self, tree: Tree) -> Result<String, ScratchError> {
        let start = || self.command(["mktree", "-z", "--batch", "--missing"]);
        let oid = ask(&self.objects().trees, start, |process| {
            process.send(&tree.listing())?;
            process.read_line()
        })?;
        self.lock_known().insert(&oid, &Arc::new(tree));
        Ok(oid)
    }

    /// Stores files exactly as they are on disk. Keeps the order.
    pub(super) fn write_files(&self, files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let mut oids = Vec::with_capacity(files.len());
        for files in files.chunks(MAX_PATHS) {
            oids.extend(ask(
                &self.objects().blobs,
                || self.hash_object("blob"),
                |process| {
                    let quoted = files.iter().map(|file| c_quote(file.as_os_str().as_bytes()) + "\n");
                    process.send(quoted.collect::<String>().as_bytes())?;
                    files.iter().map(|_| process.read_line()).collect::<Result<Vec<_>, _>>()
                },
            )?);
        }
        Ok(oids)
    }

    /// A commit of a snapshot's work on top of its HEAD, which exists only here. Its author and date are fixed: equal work gives
    /// an equal commit.
    pub fn commit_work(&self, work: &str) -> Result<String, ScratchError> {
        let (tree, head) = work.split_once(' ').map_or((work, None), |(tree, head)| (tree, Some(head)));
        let parent = head.map_or_else(String::new, |head| format!("parent {head}\n"));
        let who = "git-paw <git-paw@localhost> 0 +0000";
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\nwork in progress\n");
        // The same file each time: ext4 creates files slowly where others were deleted in the last minutes.
        let file = self.file("commit");
        let request = c_quote(file.as_os_str().as_bytes()) + "\n";
        let mut slot = self.objects().commits.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || OpenOptions::new().write(true).create(true).truncate(true).open(&file);
        let write = |mut file: File| file.write_all(text.as_bytes());
        open().and_then(write).map_err(FileError::when("write", &file))?;
        Ok(ask_locked(
            &mut slot,
            || self.hash_object("commit"),
            |process| {
                process.send(request.as_bytes())?;
                process.read_line()
            },
        )?)
    }

    /// Reads paths, one in each line, and prints the ids of their objects.
    fn hash_object(&self, kind: &str) -> Command {
        let args =
            ["-c", "core.looseCompression=1", "hash-object", "-w", "--no-filters", "--stdin-paths", "-t"];
        self.command(args.into_iter().chain([kind]))
    }

    fn lock_known(&self) -> std::sync::MutexGuard<'_, KnownTrees> {
        self.objects().known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of a path in a tree, if it has one.
    pub(super) fn find_item(
        &self,
        tree: &str,
        path: &std::path::Path,
    ) -> Result<Option<TreeItem>, ScratchError> {
        let mut tree = self.read_tree(tree)?;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let Some(item) = tree.find(name.as_bytes()).cloned() else { return Ok(None) };
            if names.peek().is_none() {
                return Ok(Some(item));
            }
            if !item.is_directory() {
                return Ok(None);
            }
            tree = self.read_tree(&item.oid)?;
        }
        Ok(None)
    }
}

fn unexpected(command: &str, answer: &str) -> GitError {
    GitError::Unexpected { command: format!("git {command}"), answer: answer.to_owned() }
}
