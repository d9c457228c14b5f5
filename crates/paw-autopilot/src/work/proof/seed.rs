//! Ignored files of the worktree, copied into the checkout before the executor's first turn: dependencies, local
//! settings, generated files, build caches.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paw_core::paths::{CheckoutDir, TaskmasterDir};
use paw_host::files::{self, Access};
use paw_host::git::{Git, list_ignored};
use paw_worktree::copy::copy_ignored;
use serde::{Deserialize, Serialize};

use crate::evidence::runner_files::is_runner_file;
use crate::work::WorkError;

/// Directories of installed programs and libraries. They never change after they were copied.
const INSTALLED: [&str; 8] = [
    "node_modules",
    ".venv",
    "venv",
    "site-packages",
    "__pypackages__",
    "vendor",
    ".yarn",
    "bower_components",
];

/// Written by build tools and runners. Kept from one run to the next, so that builds stay incremental.
const BUILD_OUTPUT: [&str; 22] = [
    "target",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".cache",
    ".vite",
    ".vite-temp",
    ".vitest",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".gradle",
    ".swc",
    ".eslintcache",
    ".tsbuildinfo",
    ".nyc_output",
    "dist",
    "build",
    "out",
];

/// A larger ignored directory is left out.
const LARGEST: u64 = 4 << 30;

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seed {
    /// Copied files and directories.
    paths: Vec<PathBuf>,
    /// Directories of installed programs, with a digest of their files.
    installed: BTreeMap<PathBuf, u64>,
    /// Ignored directories that were too large.
    pub left_out: Vec<PathBuf>,
}

impl Seed {
    /// Copies the ignored files of the worktree `from`. git paw's own files and ignored files that a test runner loads
    /// by itself are not copied.
    pub(super) fn copy(from: &Path, to: &Path) -> Result<Self, WorkError> {
        let ignored = list_ignored(&Git::at(from))?;
        let (left_out, paths): (Vec<_>, Vec<_>) = ignored
            .into_iter()
            .filter(|path| !is_ours(path) && (!is_runner_file(path) || from.join(path).is_dir()))
            .partition(|path| size_up_to(&from.join(path), LARGEST) > LARGEST);
        if paths.is_empty() {
            return Ok(Self { left_out, ..Self::default() });
        }
        let patterns: Vec<String> = paths.iter().filter_map(|path| pattern(path)).collect();
        let copied = copy_ignored(&patterns, from, to)?;
        for (path, why) in &copied.skipped {
            tracing::warn!(target: "paw::autopilot", "{} not copied: {why}", path.display());
        }
        for environment in paths.iter().filter(|path| to.join(path).join("pyvenv.cfg").is_file()) {
            relocate(&to.join(environment), from, to);
        }
        let mut seed = Self { paths, left_out, ..Self::default() };
        seed.installed = seed.installed_dirs().map(|dir| (dir.clone(), digest(&to.join(dir)))).collect();
        Ok(seed)
    }

    fn installed_dirs(&self) -> impl Iterator<Item = &PathBuf> {
        let is_installed = |path: &Path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| INSTALLED.contains(&name))
        };
        self.paths.iter().filter(move |path| is_installed(path))
    }

    pub(super) fn covers(&self, path: &Path) -> bool {
        self.paths.iter().any(|copied| path.starts_with(copied) || copied.starts_with(path))
    }

    /// Ignored directories with installed programs, as copied.
    pub(super) fn find_changed(&self, dir: &Path) -> Option<PathBuf> {
        self.installed
            .iter()
            .find(|(path, known)| digest(&dir.join(path)) != **known)
            .map(|(path, _)| path.clone())
    }
}

fn is_ours(path: &Path) -> bool {
    path.iter().any(|part| part == TaskmasterDir::NAME || part == CheckoutDir::NAME)
}

pub(super) fn is_build_output(path: &Path) -> bool {
    path.iter()
        .filter_map(|part| part.to_str())
        .any(|part| BUILD_OUTPUT.contains(&part) || INSTALLED.contains(&part) || part.ends_with(".egg-info"))
}

/// A pattern that matches exactly this path.
fn pattern(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let mut pattern = String::from("/");
    for c in text.chars() {
        if "*?[]\\!# ".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    Some(pattern)
}

/// The size of a file or directory; stops counting above `most`.
fn size_up_to(path: &Path, most: u64) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let mut size = 0;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        size += size_up_to(&entry.path(), most);
        if size > most {
            break;
        }
    }
    size
}

/// Which files a directory has, and when each was changed last. A change time cannot be set, so a file that was
/// changed and changed back differs, too. Caches inside may change.
fn digest(dir: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let mut entries: Vec<_> = fs::read_dir(&dir).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name != "__pycache__" && BUILD_OUTPUT[..12].contains(&name)) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            name.hash(&mut hasher);
            if metadata.is_dir() {
                waiting.push(entry.path());
            } else {
                (metadata.ino(), metadata.len(), metadata.ctime(), metadata.ctime_nsec()).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// Makes a copied Python environment use the checkout: its scripts and editable installs name the worktree.
fn relocate(environment: &Path, from: &Path, to: &Path) {
    let (Some(from), Some(to)) = (from.to_str(), to.to_str()) else { return };
    let mut waiting = vec![environment.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() && names_its_place(&path) {
                rewrite(&path, from, to);
            }
        }
    }
}

fn names_its_place(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_script = path.parent().is_some_and(|dir| dir.ends_with("bin"));
    is_script
        || name == "pyvenv.cfg"
        || name.starts_with("__editable__")
        || ["pth", "egg-link"].contains(&end)
}

fn rewrite(path: &Path, from: &str, to: &str) {
    let Ok(text) = fs::read_to_string(path) else { return };
    if !text.contains(from) {
        return;
    }
    let mode = fs::metadata(path).map(|metadata| metadata.permissions());
    let written = files::write_atomic(path, text.replace(from, to).as_bytes(), Access::Usual);
    if let (Ok(()), Ok(mode)) = (&written, mode) {
        // Without the mode, the program is not found, which the baseline shows.
        let _ = fs::set_permissions(path, mode);
    }
    if let Err(error) = written {
        tracing::warn!(target: "paw::autopilot", "{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_special_characters_literally() {
        assert_eq!(pattern(Path::new("a b/[x]*")).unwrap(), r"/a\ b/\[x\]\*");
    }

    #[test]
    fn a_changed_dependency_is_found_even_if_its_time_is_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("node_modules/jest/index.js");
        files::create_dir(file.parent().unwrap()).unwrap();
        files::write_atomic(&file, b"old", Access::Usual).unwrap();
        let installed = [("node_modules".into(), digest(&dir.path().join("node_modules")))];
        let seed = Seed { paths: vec!["node_modules".into()], installed: installed.into(), left_out: vec![] };
        assert_eq!(seed.find_changed(dir.path()), None);
        let cache = dir.path().join("node_modules/.cache/x");
        files::create_dir(cache.parent().unwrap()).unwrap();
        files::write_atomic(&cache, b"x", Access::Usual).unwrap();
        assert_eq!(seed.find_changed(dir.path()), None);
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        files::write_atomic(&file, b"new", Access::Usual).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        assert_eq!(seed.find_changed(dir.path()), Some("node_modules".into()));
    }
}
