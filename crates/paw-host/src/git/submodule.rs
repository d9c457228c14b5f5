//! Initializes the submodules of a new worktree from the clones in the main checkout, without network access.

use std::path::{Path, PathBuf};

use super::{Git, GitError, path};

/// A submodule in `.gitmodules`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Submodule {
    name: String,
    path: PathBuf,
}

/// Initializes in `worktree` every submodule that is initialized in `main`, recursively. Returns the failures: the
/// worktree is usable without its submodules.
pub fn fill_submodules(main: &Path, worktree: &Path) -> Result<Vec<GitError>, GitError> {
    let mut problems = Vec::new();
    if !worktree.join(".gitmodules").is_file() {
        return Ok(problems);
    }
    let git = Git::at(worktree);
    for submodule in submodules(&git)? {
        let there = main.join(&submodule.path);
        if !there.join(".git").exists() {
            continue;
        }
        match fill(&git, &submodule, &there) {
            Ok(()) => problems.extend(fill_submodules(&there, &worktree.join(&submodule.path))?),
            Err(problem) => problems.push(problem),
        }
    }
    Ok(problems)
}

fn submodules(git: &Git) -> Result<Vec<Submodule>, GitError> {
    let keys = ["config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let output = git.output(keys)?;
    Ok(parse(&output.stdout))
}

/// `submodule.<name>.path` newline `<path>` NUL.
fn parse(listing: &[u8]) -> Vec<Submodule> {
    let one = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'\n')?;
        let key = std::str::from_utf8(&entry[..end]).ok()?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?.to_owned();
        let path = path(&entry[end + 1..]);
        let inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        (inside && !name.contains('=')).then_some(Submodule { name, path })
    };
    listing.split(|byte| *byte == 0).filter_map(one).collect()
}

/// Clones from the initialized submodule and sets the clone's remote to the original URL. Falls back to fetching from
/// there if a commit is missing.
fn fill(git: &Git, submodule: &Submodule, filled: &Path) -> Result<(), GitError> {
    let source = Git::at(filled);
    let source_dir = source.line(["rev-parse", "--absolute-git-dir"])?;
    let local_url = format!("submodule.{}.url={source_dir}", submodule.name);
    let update = |settings: &[&str]| {
        let args = settings.iter().map(Into::into);
        let what = ["submodule", "--quiet", "update", "--init", "--force", "--"].map(Into::into);
        git.run(args.chain(what).chain([submodule.path.clone().into_os_string()])).map(drop)
    };
    let cloned = update(&["-c", "protocol.file.allow=always", "-c", &local_url]);
    let inner = Git::at(git.dir().join(&submodule.path));
    if inner.dir().join(".git").exists()
        && let Some(url) = source.find(["config", "--get", "remote.origin.url"])?
    {
        inner.run(["config", "remote.origin.url", &url])?;
    }
    cloned.or_else(|_| update(&[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodule_names_may_have_dots_and_paths_outside_the_worktree_are_skipped() {
        let found = parse(b"submodule.a.b.path\nlib/x y\0submodule.evil.path\n../../etc\0");
        assert_eq!(found, [Submodule { name: "a.b".into(), path: "lib/x y".into() }]);
    }
}
