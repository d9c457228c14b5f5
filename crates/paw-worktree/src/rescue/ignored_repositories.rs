//! Repositories in ignored directories. Git does not look into them, but a removal deletes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use paw_host::git::Git;

use super::uncommitted::git_dir;

/// Repositories at or below the ignored paths that contain work: changes, or commits that are on no remote. Unmodified
/// clones, such as a build's dependencies, are left out.
pub(crate) fn find_ignored_repositories(worktree: &Path, ignored: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = ignored.to_vec();
    while let Some(dir) = waiting.pop() {
        let absolute = worktree.join(&dir);
        if !absolute.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            continue;
        }
        // Some packages ship `.git` files that point nowhere.
        if let Some(git_dir) = git_dir(&absolute).filter(|git_dir| git_dir.join("HEAD").exists()) {
            if holds_work(&absolute, &git_dir) {
                found.push(dir);
            }
            continue;
        }
        let Ok(entries) = fs::read_dir(&absolute) else { continue };
        let dirs = entries.filter_map(Result::ok).filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(dirs.map(|entry| dir.join(entry.file_name())));
    }
    found.sort();
    found
}

fn holds_work(checkout: &Path, git_dir: &Path) -> bool {
    if may_run_programs(git_dir) {
        return true;
    }
    // The branches of a linked worktree are stored elsewhere and are not deleted.
    let deleted_too = checkout.canonicalize().is_ok_and(|real| git_dir.starts_with(real));
    let commits: &[&str] = if deleted_too {
        &["HEAD", "--branches", "--glob=refs/stash", "--not", "--tags", "--remotes"]
    } else {
        &["HEAD", "--not", "--branches", "--tags", "--remotes"]
    };
    let git = Git::at(checkout);
    // If git fails, assume that there is work.
    let prints_nothing = |args: &[&str]| {
        let output = git.plumbing(None, args.iter().copied()).capture();
        output.is_ok_and(|output| output.exit.success() && output.stdout.is_empty())
    };
    !prints_nothing(&["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none"])
        || !prints_nothing(&[&["rev-list", "--max-count=1"][..], commits].concat())
}

/// Whether the repository's configuration could make git run a program during a status check. An agent may have written
/// it, and the removal runs outside the agent's sandbox. Such a repository is not inspected, and counts as work.
fn may_run_programs(git_dir: &Path) -> bool {
    const WORDS: [&[u8]; 4] = [b"filter", b"include", b"promisor", b"partialclone"];
    let common = fs::read_to_string(git_dir.join("commondir")).map(|path| git_dir.join(path.trim_end()));
    let dirs = [Some(git_dir.to_path_buf()), common.ok()];
    let mut files =
        dirs.into_iter().flatten().flat_map(|dir| ["config", "config.worktree"].map(|name| dir.join(name)));
    files.any(|file| match fs::read(file) {
        Ok(text) => {
            let text = text.to_ascii_lowercase();
            WORDS.iter().any(|word| text.windows(word.len()).any(|part| part == *word))
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}
