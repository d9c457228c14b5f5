//! Finds out from the output of a failed program which protected path it wanted.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{PathAccess, Sandbox};

/// The start of every note.
pub const DENIED: &str = "the sandbox denied access to";

/// A run that fails everywhere would name hundreds.
const MOST: usize = 3;
/// The words of a refused write, and those for a path that is hidden.
const REFUSED: [&str; 4] = ["read-only file system", "erofs", "permission denied", "resource busy"];
const MISSING: [&str; 2] = ["no such file", "enoent"];

/// Collects protected paths from the lines of a program that ran in `dir`.
#[derive(Debug)]
pub struct DeniedPaths<'a> {
    sandbox: &'a Sandbox,
    dir: &'a Path,
    found: BTreeSet<PathBuf>,
    /// A line about a read-only file system that names no path.
    unnamed: bool,
}

impl<'a> DeniedPaths<'a> {
    pub fn new(sandbox: &'a Sandbox, dir: &'a Path) -> Self {
        Self { sandbox, dir, found: BTreeSet::new(), unnamed: false }
    }

    pub fn read(&mut self, line: &str) {
        let lower = line.to_ascii_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
        let (refused, missing) = (says(&REFUSED), says(&MISSING));
        if self.found.len() >= MOST || !(refused || missing) {
            return;
        }
        let paths = line.split([' ', '\t', '\'', '"', '`', '(', ')', '[', ']', ',', ';', '<', '>', '=']);
        let paths = paths.map(|word| word.trim_end_matches([':', '.'])).filter(|word| word.contains('/'));
        let wanted =
            paths.map(|word| normalized(&self.dir.join(word))).find(|path| match self.sandbox.access(path) {
                PathAccess::Hidden => true,
                PathAccess::ReadOnly => refused,
                PathAccess::Writable => false,
            });
        self.unnamed |= wanted.is_none() && says(&REFUSED[..2]);
        self.found.extend(wanted);
    }

    /// Why the program may have failed, in one sentence without a period.
    pub fn note(&self) -> Option<String> {
        let paths: Vec<_> = self.found.iter().map(|path| path.display().to_string()).collect();
        let what = match (paths.as_slice(), self.unnamed) {
            ([], false) => return None,
            ([], true) => "a path that is read-only in it".to_owned(),
            (paths, _) => paths.join(", "),
        };
        Some(format!("{DENIED} {what}"))
    }
}

/// Resolves `.` and `..` without reading the disk.
fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normalized.pop()),
            Component::CurDir => {}
            part => normalized.push(part),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_path_is_named_absolute_or_relative() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("app/.git/paw")).unwrap();
        std::fs::create_dir_all(root.join("x")).unwrap();
        let sandbox = Sandbox::default()
            .with(&root.join("app"), PathAccess::ReadOnly)
            .with(&root.join("app/.git/paw"), PathAccess::Hidden);
        let note = |line: &str| {
            let checkout = root.join("x");
            let mut denied = DeniedPaths::new(&sandbox, &checkout);
            denied.read(line);
            denied.note().map(|note| note.replace(&root.display().to_string(), "R"))
        };
        let at = |path: &str| Some(format!("the sandbox denied access to R/{path}"));
        let config = format!(
            "error: could not lock config file {}/app/.git/config: Read-only file system",
            root.display()
        );
        assert_eq!(note(&config), at("app/.git/config"));
        assert_eq!(note("touch: cannot touch '../app/file': Read-only file system"), at("app/file"));
        let log = format!("cat: {}/app/.git/paw/broker.db: No such file or directory", root.display());
        assert_eq!(note(&log), at("app/.git/paw/broker.db"));
        assert_eq!(note("cat: ../app/none: No such file or directory"), None);
        assert_eq!(note("rm: cannot remove './x': Permission denied"), None);
        let unnamed = note("OSError: [Errno 30] Read-only file system");
        assert_eq!(unnamed.unwrap(), "the sandbox denied access to a path that is read-only in it");
    }
}
