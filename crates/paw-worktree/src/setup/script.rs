//! The repository's setup script. Always read from the main checkout, never from the new branch.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;

/// A script as it was when it was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    /// It is executable and has a shebang line. Otherwise `sh` runs it.
    pub(super) runs_itself: bool,
}

impl Script {
    /// Whether the script on disk is still the approved one.
    pub(super) fn is_unchanged(&self) -> bool {
        load(&self.path).is_ok_and(|now| now == *self)
    }
}

/// The result of looking for a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptLookup {
    Script(Script),
    /// Something exists that is not run, and why: `is a …`, `cannot be …`.
    Refused(String),
}

/// The script's path in the repository, and the script.
pub(super) fn find_script(main_checkout: &Path) -> Option<(&'static str, ScriptLookup)> {
    let exists = |name: &&str| fs::symlink_metadata(main_checkout.join(name)).is_ok();
    let name = CheckoutDir::SETUP_SCRIPTS.into_iter().find(exists)?;
    let path = main_checkout.join(name);
    let found = match check(main_checkout, &path) {
        Ok(()) => {
            load(&path).map_or_else(|error| ScriptLookup::Refused(unreadable(&error)), ScriptLookup::Script)
        }
        Err(reason) => ScriptLookup::Refused(reason),
    };
    Some((name, found))
}

fn check(main_checkout: &Path, path: &Path) -> Result<(), String> {
    let real = path.canonicalize().map_err(|error| unreadable(&error))?;
    let inside = main_checkout.canonicalize().is_ok_and(|root| real.starts_with(root));
    let metadata = fs::metadata(&real).map_err(|error| unreadable(&error))?;
    if !inside {
        Err("is a symlink to a file outside the repository".to_owned())
    } else if !metadata.is_file() {
        Err("is not a file".to_owned())
    } else {
        Ok(())
    }
}

fn load(path: &Path) -> io::Result<Script> {
    let content = fs::read(path)?;
    let executable = fs::metadata(path)?.permissions().mode() & 0o111 != 0;
    Ok(Script { path: path.to_path_buf(), runs_itself: executable && content.starts_with(b"#!"), content })
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read ({error})")
}
