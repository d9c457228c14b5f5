//! Conflict detection: merge checks on real repositories, and the detector's decisions against a model.

mod decisions;
mod merge_check;
mod model;
mod monitor;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paw_host::git::{ScratchRepo, WorktreeSnapshot, WorktreeSnapshotter};
use paw_testkit::{Sandbox, TestRepo, git};

/// A repository with a file of twenty lines, and worktrees next to it.
struct Field {
    sandbox: Sandbox,
    repo: TestRepo,
    scratch: Arc<ScratchRepo>,
}

impl Field {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file("src/lib.rs", &lines(&[]), "twenty lines");
        let scratch =
            Arc::new(ScratchRepo::open(&repo.root.join(".git"), &sandbox.root().join("scratch")).unwrap());
        Self { sandbox, repo, scratch }
    }

    fn worktree(&self, name: &str) -> PathBuf {
        let path = self.sandbox.root().join(name);
        self.repo.git(["worktree", "add", "--quiet", "-b", name, path.to_str().unwrap()]);
        path
    }

    fn snapshot(&self, worktree: &Path) -> WorktreeSnapshotter {
        let id = worktree.file_name().unwrap().to_str().unwrap();
        WorktreeSnapshotter::new(Arc::clone(&self.scratch), id, worktree, vec![".git-paw".into()]).unwrap()
    }

    fn take(&self, worktree: &Path) -> WorktreeSnapshot {
        self.snapshot(worktree).take_whole(&bases()).unwrap()
    }
}

fn bases() -> Vec<String> {
    vec!["refs/heads/main".to_owned(), "refs/remotes/origin/main".to_owned()]
}

/// Twenty numbered lines, some of them replaced.
fn lines(replaced: &[(usize, &str)]) -> String {
    let line = |number: usize| match replaced.iter().find(|(at, _)| *at == number) {
        Some((_, text)) => format!("{text}\n"),
        None => format!("line {number}\n"),
    };
    (1..=20).map(line).collect()
}

/// Replaces the file in one step, because a snapshot may be taken at any moment.
fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let whole = tempfile::NamedTempFile::new_in(dir.parent().unwrap()).unwrap();
    std::fs::write(whole.path(), text).unwrap();
    whole.persist(path).unwrap();
}

fn commit_all(dir: &Path, message: &str) -> String {
    git(dir, ["add", "-A"]);
    git(dir, ["commit", "--quiet", "--allow-empty", "-m", message]);
    git(dir, ["rev-parse", "HEAD"])
}

fn names(taken: &WorktreeSnapshot) -> Vec<String> {
    taken.changed.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
