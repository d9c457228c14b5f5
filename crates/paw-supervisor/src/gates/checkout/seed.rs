//! Fills a new checkout with build output of the main branch.
//!
//! Build output often contains the absolute path of its directory: an editable Python package, copied, would still be the
//! main branch's. So only directories that can be moved are copied.

use std::fs;
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::files;

use super::{GateCheckouts, MOST_COPIED};
use crate::gates::verify::GateError;

/// How deep in the checkout to look.
const DEEPEST: usize = 4;

/// Copies what can be reused from the main branch's checkout, if it exists and no run uses it.
pub(super) fn seed(checkouts: &GateCheckouts, branch: &BranchName, to: &Path) -> Result<(), GateError> {
    let main = checkouts.repo.git().find_default_branch()?;
    let Some(main) = main.filter(|main| main != branch) else { return Ok(()) };
    let Some(from) = checkouts.find_idle(&main)? else { return Ok(()) };
    let mut found = Vec::new();
    find_reusable(from.path(), Path::new(""), DEEPEST, &mut found);
    for dir in found {
        let target = to.join(&dir);
        if let Some(above) = target.parent() {
            files::create_dir(above)?;
        }
        // A cold build is slower and just as good.
        if let Err(error) = files::copy_tree(&from.path().join(&dir), &target, None, MOST_COPIED) {
            tracing::debug!(target: "paw::gates", "not copied: {error}");
        }
    }
    Ok(())
}

fn find_reusable(root: &Path, dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root.join(dir)).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = dir.join(entry.file_name());
        if is_reusable(&root.join(&path)) {
            found.push(path);
        } else if depth > 1 && entry.file_name() != ".git" {
            find_reusable(root, &path, depth - 1, found);
        }
    }
}

/// cargo's target directory, and node's modules. Both work after a move, and tests do not find their sources through them.
fn is_reusable(dir: &Path) -> bool {
    match dir.file_name().and_then(|name| name.to_str()) {
        Some("target") => dir.join("CACHEDIR.TAG").is_file(),
        Some("node_modules") => true,
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "half a file is no harm in a test")]
mod tests {
    use super::*;

    #[test]
    fn only_directories_that_can_be_moved_are_reused() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["target", "web/node_modules/x", ".venv/lib", "build", "lib/target"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(dir.path().join("target/CACHEDIR.TAG"), "").unwrap();
        let mut found = Vec::new();
        find_reusable(dir.path(), Path::new(""), DEEPEST, &mut found);
        found.sort();
        assert_eq!(found, [PathBuf::from("target"), PathBuf::from("web/node_modules")]);
    }
}
