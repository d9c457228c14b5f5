//! The repository's own setup script, from its main checkout: the copy of a new branch is never looked at.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::CheckoutDir;

/// A script as it was when somebody was asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    /// It is executable and names its interpreter. Otherwise the shell reads it.
    pub(super) runs_itself: bool,
}

impl Script {
    /// Whether running it now runs what was looked at, and not what somebody put there since.
    pub(super) fn is_unchanged(&self) -> bool {
        load(&self.path).is_ok_and(|now| now == *self)
    }
}

/// What was found at one of the places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptLookup {
    Script(Script),
    /// Something is there that will not be run, and why not: `is a …`, `cannot be …`.
    Refused(String),
}

/// The script's name in the repository, and what is there.
pub(super) fn find_script(main_checkout: &Path) -> Option<(&'static str, ScriptLookup)> {
    let exists = |place: &&str| fs::symlink_metadata(main_checkout.join(place)).is_ok();
    let place = CheckoutDir::SETUP_SCRIPTS.into_iter().find(exists)?;
    let path = main_checkout.join(place);
    let found = match check(main_checkout, &path) {
        Ok(()) => {
            load(&path).map_or_else(|error| ScriptLookup::Refused(unreadable(&error)), ScriptLookup::Script)
        }
        Err(reason) => ScriptLookup::Refused(reason),
    };
    Some((place, found))
}

fn check(main_checkout: &Path, path: &Path) -> Result<(), String> {
    let real = path.canonicalize().map_err(|error| unreadable(&error))?;
    let inside = main_checkout.canonicalize().is_ok_and(|root| real.starts_with(root));
    let metadata = fs::metadata(&real).map_err(|error| unreadable(&error))?;
    if !inside {
        Err("is a link that leads outside of the repository".to_owned())
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
