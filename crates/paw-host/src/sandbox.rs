//! What a program may read and write, as a value, and the engine that enforces it.
//!
//! A [`Sandbox`] gives paths an [`PathAccess`]; the longest path that contains a file decides. Everything else is as without a
//! sandbox: network, devices, home directory. [`crate::process::Command::sandbox`] applies it, and every process of
//! the program ends with the program.
//!
//! - `bubblewrap`: the engine; `mounts`: other paths to the same files; `descriptors`: keeps open files out of a sandbox
//! - [`DeniedPaths`]: finds out which protected path a failed program wanted

mod bubblewrap;
mod denied;
mod descriptors;
mod mounts;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use denied::{DENIED, DeniedPaths};

/// How often a sandbox is set up while mounts disappear.
pub(crate) const ATTEMPTS: usize = 5;

/// What a program may do with a path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// It sees an empty directory of its own, or an unreadable file.
    Hidden,
    ReadOnly,
    Writable,
}

/// The paths that are protected from a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    rules: BTreeMap<PathBuf, PathAccess>,
}

impl Sandbox {
    /// Sets the access to a path, which is resolved through links. A later rule for the same path replaces an earlier one;
    /// a missing path needs no rule.
    #[must_use]
    pub fn with(mut self, path: &Path, access: PathAccess) -> Self {
        if let Ok(real) = path.canonicalize() {
            self.rules.insert(real, access);
        }
        self
    }

    /// The access to a path without links.
    pub fn access(&self, path: &Path) -> PathAccess {
        path.ancestors().find_map(|above| self.rules.get(above)).copied().unwrap_or(PathAccess::Writable)
    }

    /// The program and arguments that run `program` inside the sandbox; else why that is impossible.
    pub(crate) fn wrap(
        &self,
        (program, args): (&OsString, &[OsString]),
        dir: Option<&Path>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        let engine = bubblewrap::find()?;
        descriptors::close_on_exec();
        let mut line = engine.arguments(self, dir);
        line.push("--".into());
        line.push(program.clone());
        line.extend_from_slice(args);
        Ok((engine.program().to_path_buf(), line))
    }
}

/// Whether a text may be the beginning of what the engine prints. A program could print it, too: it would be run again, and gains
/// nothing that it could not do by itself.
pub(crate) fn may_be_engine_text(text: &[u8]) -> bool {
    let known = text.len().min(bubblewrap::PREFIX.len());
    text[..known] == bubblewrap::PREFIX[..known]
}

/// Whether the engine failed because another program unmounted something during its set-up.
pub(crate) fn is_lost_mount(printed: &[u8]) -> bool {
    let printed = String::from_utf8_lossy(printed);
    may_be_engine_text(printed.as_bytes()) && printed.contains("Unable to apply mount flags")
}

/// Whether sandboxes work on this machine; else the reason. Tried once per process.
pub fn require_engine() -> Result<(), String> {
    bubblewrap::find().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_decides_about_access() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("app/.git/paw")).unwrap();
        let sandbox = Sandbox::default()
            .with(&root.join("app"), PathAccess::ReadOnly)
            .with(&root.join("app/.git/paw"), PathAccess::Hidden)
            .with(&root.join("missing"), PathAccess::Hidden);
        for (path, access) in [
            ("app/src/lib.rs", PathAccess::ReadOnly),
            ("app/.git/paw/broker.db", PathAccess::Hidden),
            ("application", PathAccess::Writable),
            ("missing", PathAccess::Writable),
        ] {
            assert_eq!(sandbox.access(&root.join(path)), access, "{path}");
        }
    }
}
