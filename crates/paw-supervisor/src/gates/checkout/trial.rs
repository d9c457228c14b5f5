//! A run of code that is not on the main branch yet, in the main branch's checkout.
//!
//! The path stays the same, so build output stays valid. The checkout is copied first. If the main branch moves to exactly
//! the tested commit, the run's build output stays; in every other case, crashes included, the copy is put back, or the
//! checkout is deleted if there is none. So nothing that a run leaves behind can help onto main what failed.

use std::path::PathBuf;

use paw_host::files::{self, Access};

use super::{GateCheckout, MOST_COPIED};
use crate::gates::verify::GateError;

/// What the marker of a trial says: whether there is a complete copy.
const SAVED: &str = "saved";
const NOT_SAVED: &str = "not saved";

/// A begun trial. Dropping it undoes it.
#[derive(Debug)]
pub(crate) struct MergeTrial<'a> {
    checkout: &'a GateCheckout,
    is_accepted: bool,
}

impl<'a> MergeTrial<'a> {
    pub(crate) fn begin(checkout: &'a GateCheckout) -> Result<Self, GateError> {
        undo_interrupted(checkout)?;
        let is_saved = checkout.files.exists() && save(checkout)?;
        let marker = if is_saved { SAVED } else { NOT_SAVED };
        files::write_atomic(&marker_of(checkout), marker.as_bytes(), Access::Usual)?;
        Ok(Self { checkout, is_accepted: false })
    }

    /// Checks out the commit to test.
    pub(crate) fn check_out(&self, commit: &str) -> Result<(), GateError> {
        self.checkout.check_out(commit)
    }

    /// Rebases `tip` onto `onto`. The inner error says why git could not.
    pub(crate) fn rebase(&self, tip: &str, onto: &str) -> Result<Result<String, String>, GateError> {
        Ok(self.checkout.files.rebase(tip, onto)?)
    }

    /// The main branch is at the tested commit now.
    pub(crate) fn accept(mut self) -> Result<(), GateError> {
        files::remove_all(&marker_of(self.checkout))?;
        self.is_accepted = true;
        Ok(files::remove_all(&saved(self.checkout))?)
    }
}

impl Drop for MergeTrial<'_> {
    fn drop(&mut self) {
        if !self.is_accepted
            && let Err(error) = undo_interrupted(self.checkout)
        {
            tracing::warn!(target: "paw::gates", "cannot restore {}: {error}", self.checkout.path().display());
        }
    }
}

/// Undoes a trial that was not accepted.
pub(super) fn undo_interrupted(checkout: &GateCheckout) -> Result<(), GateError> {
    let Some(marker) = files::load_text(&marker_of(checkout))? else { return Ok(()) };
    let (files, index) = (saved(checkout).join("files"), saved(checkout).join("index"));
    if marker == SAVED && files.is_dir() {
        checkout.files.replace(&files, &index)?;
    } else {
        checkout.files.clear()?;
    }
    files::remove_all(&marker_of(checkout))?;
    Ok(files::remove_all(&saved(checkout))?)
}

/// Copies the checkout. Returns whether that was possible.
fn save(checkout: &GateCheckout) -> Result<bool, GateError> {
    let saved = saved(checkout);
    files::remove_all(&saved)?;
    files::create_dir(&saved)?;
    let copied = files::copy_tree(checkout.path(), &saved.join("files"), Some(".git"), MOST_COPIED);
    let is_copied = copied.unwrap_or_else(|error| {
        tracing::debug!(target: "paw::gates", "not copied: {error}");
        false
    });
    if is_copied {
        checkout.files.save_index(&saved.join("index"))?;
    }
    Ok(is_copied)
}

fn marker_of(checkout: &GateCheckout) -> PathBuf {
    checkout.dir.trial_marker(&checkout.name)
}

fn saved(checkout: &GateCheckout) -> PathBuf {
    checkout.dir.saved(&checkout.name)
}
