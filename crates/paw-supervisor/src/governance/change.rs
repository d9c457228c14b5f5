//! Facts about the change of a commit since its branch left the default branch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use paw_host::git::{Git, GitError, Repo};
use serde::Serialize;

use super::dependencies::reader;

/// The most manifests that are compared, and the largest one.
const MOST_MANIFESTS: usize = 50;
const MOST_BYTES: u64 = 1024 * 1024;

/// A dependency that the change adds to a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewDependency {
    pub name: String,
    pub manifest: PathBuf,
}

/// What a commit changes, as far as governance is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct GovernanceChange {
    /// Where the branch left the default branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    pub files: Vec<PathBuf>,
    /// Those of them that look like tests.
    pub tests: Vec<PathBuf>,
    #[serde(skip)]
    pub added: Vec<PathBuf>,
    pub new_dependencies: Vec<NewDependency>,
}

impl GovernanceChange {
    pub fn find(repo: &Repo, commit: &str) -> Result<Self, GitError> {
        let git = repo.git();
        let Some(base) = find_base(&git, commit)? else { return Ok(Self::default()) };
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", &base, commit];
        let listing = git.plumb(None, args)?;
        let listing = String::from_utf8_lossy(&listing);
        let mut fields = listing.split('\0');
        let mut change = Self { base: Some(base.clone()), ..Self::default() };
        while let (Some(letter), Some(path)) = (fields.next(), fields.next()) {
            let path = PathBuf::from(path);
            if letter == "A" {
                change.added.push(path.clone());
            }
            change.files.push(path);
        }
        change.tests = change.files.iter().filter(|path| is_test(path)).cloned().collect();
        let manifests = change.files.iter().filter(|path| find_reader(path).is_some());
        for manifest in manifests.take(MOST_MANIFESTS) {
            let before = dependencies(&git, &base, manifest)?;
            let new = dependencies(&git, commit, manifest)?.into_iter().filter(|name| !before.contains(name));
            let named = new.map(|name| NewDependency { name, manifest: manifest.clone() });
            change.new_dependencies.extend(named);
        }
        Ok(change)
    }
}

/// Where the branch of `commit` left the default branch; for a commit on it, its parent.
fn find_base(git: &Git, commit: &str) -> Result<Option<String>, GitError> {
    let main = git.find_default_branch()?;
    let base = match main {
        Some(main) => git.find(["merge-base", &main.full_ref(), commit])?,
        None => None,
    };
    if base.as_deref() == Some(commit) {
        return git.find_object(&format!("{commit}^"), "commit");
    }
    Ok(base)
}

fn find_reader(path: &Path) -> Option<fn(&str) -> BTreeSet<String>> {
    reader(path.file_name()?.to_str()?)
}

/// The dependencies of a manifest in a commit; none if the file does not exist there.
fn dependencies(git: &Git, commit: &str, manifest: &Path) -> Result<BTreeSet<String>, GitError> {
    let name = format!("{commit}:{}", manifest.display());
    let Some(blob) = git.find(["rev-parse", "--quiet", "--verify", "--end-of-options", &name])? else {
        return Ok(BTreeSet::new());
    };
    let blob = [blob];
    if git.object_sizes(&blob)?.iter().any(|size| *size > MOST_BYTES) {
        return Ok(BTreeSet::new());
    }
    let content = git.read_objects(&blob)?.pop().unwrap_or_default();
    Ok(find_reader(manifest).map(|read| read(&String::from_utf8_lossy(&content))).unwrap_or_default())
}

/// Whether a path follows a common convention for tests.
fn is_test(path: &Path) -> bool {
    let dirs = ["test", "tests", "__tests__", "spec", "specs", "testdata"];
    let in_dir = path.parent().into_iter().flat_map(Path::components).any(|part| {
        let part = part.as_os_str().to_string_lossy();
        dirs.contains(&part.as_ref())
    });
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let ends = ["_test", "_spec", ".test", ".spec", "Test", "Tests", "Spec"];
    let named = name.starts_with("test_") || name == "tests" || ends.iter().any(|end| name.ends_with(end));
    let is_prose = path.extension().is_some_and(|end| end == "md");
    (in_dir || named) && !is_prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_recognised_by_their_paths() {
        for path in
            ["tests/a.rs", "src/a/__tests__/b.js", "a_test.go", "test_x.py", "b.spec.ts", "FooTest.java"]
        {
            assert!(is_test(Path::new(path)), "{path}");
        }
        for path in ["src/attest.rs", "contest.py", "specs/feature.md", "src/a.rs"] {
            assert!(!is_test(Path::new(path)), "{path}");
        }
    }
}
