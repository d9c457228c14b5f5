//! Real repositories, isolated from the user's git configuration.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with one commit on `main`.
#[derive(Debug)]
pub struct TestRepo {
    pub root: PathBuf,
}

impl TestRepo {
    /// Creates the repository at `root`, which must be missing or empty.
    pub fn init(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        fs::create_dir_all(&root).expect("a directory for the repository");
        let root = root.canonicalize().expect("the repository's real path");
        let repo = Self { root };
        repo.git(["init", "--quiet", "--initial-branch=main"]);
        repo.configure();
        repo.commit_file("README.md", "hello\n", "first");
        repo
    }

    /// A clone of `origin`, with remote-tracking branches.
    pub fn clone_of(origin: &Path, root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let parent = root.parent().expect("a parent directory").to_path_buf();
        git(&parent, [OsStr::new("clone"), OsStr::new("--quiet"), origin.as_os_str(), root.as_os_str()]);
        let repo = Self { root: root.canonicalize().expect("the clone's real path") };
        repo.configure();
        repo
    }

    /// Sets local configuration that overrides the user's.
    fn configure(&self) {
        for (key, value) in [
            ("user.name", "Paw Test"),
            ("user.email", "paw@test.invalid"),
            ("commit.gpgsign", "false"),
            ("core.hooksPath", ".git/hooks"),
            ("core.fsmonitor", "false"),
            ("gc.auto", "0"),
        ] {
            self.git(["config", key, value]);
        }
        let hooks = self.root.join(".git/hooks").display().to_string();
        self.git(["config", "core.hooksPath", &hooks]);
    }

    /// Runs git in the main checkout and returns its output without the trailing newline. Panics on failure.
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        git(&self.root, args)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories for a file");
        fs::write(path, text).expect("a file in the repository");
    }

    pub fn commit_file(&self, path: &str, text: &str, message: &str) -> String {
        self.write(path, text);
        self.git(["add", "--", path]);
        self.git(["commit", "--quiet", "--message", message]);
        self.git(["rev-parse", "HEAD"])
    }

    /// Commits another repository as a submodule at `path`.
    pub fn add_submodule(&self, other: &Path, path: &str) {
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"].map(OsStr::new);
        self.git(add.into_iter().chain([other.as_os_str(), OsStr::new(path)]));
        self.git(["commit", "--quiet", "--message", "submodule"]);
    }
}

/// Runs git in a directory and returns its output without the trailing newline. Panics on failure.
pub fn git<A: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = A>) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Paw Test")
            .env(format!("GIT_{who}_EMAIL"), "paw@test.invalid");
    }
    let output = command.output().expect("git runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
}
