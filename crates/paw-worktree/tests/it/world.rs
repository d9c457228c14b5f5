//! A test repository with branches, and its own registry.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use paw_host::files::Lock;
use paw_host::process::{Command, Output};
use paw_testkit::{Sandbox, TestRepo, git};
use paw_worktree::{CreateRequest, CreatedWorktree, WorktreeError, Worktrees};

pub(crate) struct World {
    pub sandbox: Sandbox,
    pub repo: TestRepo,
}

impl World {
    /// A repository called `project` with the branches main, develop and feature/auth; main is checked out.
    pub(crate) fn new() -> Self {
        Self::in_sandbox(Sandbox::new())
    }

    pub(crate) fn in_sandbox(sandbox: Sandbox) -> Self {
        let repo = sandbox.repo("project");
        for branch in ["develop", "feature/auth"] {
            repo.git(["branch", branch]);
        }
        Self { sandbox, repo }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.sandbox.root().join("data")
    }

    pub(crate) fn worktrees(&self) -> Worktrees {
        Worktrees::open(&self.data_dir()).unwrap()
    }

    pub(crate) fn sibling(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    pub(crate) fn request(&self, branch: &str) -> CreateRequest {
        CreateRequest::new(&self.repo.root, branch)
    }

    pub(crate) fn create(&self, branch: &str) -> Result<CreatedWorktree, WorktreeError> {
        self.worktrees().create(&self.request(branch), &mut |_| {})
    }

    /// Everything that a failed creation could leave behind: rows, git's worktrees, branches, configuration, and files next
    /// to the repository.
    pub(crate) fn traces(&self) -> Traces {
        let names = |dir: &Path| {
            let mut names: Vec<_> = std::fs::read_dir(dir)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names.retain(|name| name != "data");
            names
        };
        Traces {
            rows: self.worktrees().list(None).unwrap().worktrees.into_iter().map(|row| row.path).collect(),
            listed: self.repo.git(["worktree", "list", "--porcelain"]),
            branches: self.repo.git(["for-each-ref", "refs/heads"]),
            siblings: names(&self.sandbox.root()),
            config: self.repo.git(["config", "--local", "--list"]),
        }
    }

    /// Runs one of the ignored tests of `child.rs` in a separate process.
    pub(crate) fn child(&self, test: &str, variables: &[(&str, &str)]) -> Output {
        let command = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("child::{test}"), "--ignored", "--nocapture", "--test-threads=1"])
            .env("PAW_TEST_DATA", self.data_dir())
            .env("PAW_TEST_REPO", &self.repo.root);
        let command = variables.iter().fold(command, |command, (name, value)| command.env(name, value));
        command.capture().unwrap()
    }

    /// Starts one of the ignored tests of `child.rs`, to be killed.
    pub(crate) fn start_child(&self, test: &str, variables: &[(&str, &str)]) -> std::process::Child {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("child::{test}"), "--ignored", "--nocapture", "--test-threads=1"])
            .env("PAW_TEST_DATA", self.data_dir())
            .env("PAW_TEST_REPO", &self.repo.root)
            .envs(variables.iter().copied())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    pub rows: Vec<PathBuf>,
    pub listed: String,
    pub branches: String,
    pub siblings: Vec<String>,
    pub config: String,
}

/// Whether the worktree has no changed and no untracked files.
pub(crate) fn is_clean(worktree: &Path) -> bool {
    git(worktree, ["status", "--porcelain"]).is_empty()
}

/// Runs `work` while this test holds the lock, and checks that it finishes only after the lock is released.
pub(crate) fn assert_waits_for<T: Send>(lock: &Path, work: impl FnOnce() -> T + Send) -> T {
    let held = Lock::wait(lock).unwrap();
    let (sender, finished) = mpsc::channel();
    thread::scope(|scope| {
        let working = scope.spawn(move || {
            let result = work();
            sender.send(()).unwrap();
            result
        });
        let early = finished.recv_timeout(Duration::from_millis(500));
        drop(held);
        let result = working.join().unwrap();
        assert!(early.is_err(), "it did not wait for {}", lock.display());
        result
    })
}
