//! Storing and restoring rescues.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests may panic")]

mod commits;
mod crash;
mod hostile;
mod lists;
mod mixtures;
mod nested;
mod records;
mod special;
mod targets;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use paw_core::BranchName;
use paw_host::git::{Git, Repo};
use paw_host::locks::WorktreesLock;
use paw_testkit::{Sandbox, TestRepo, git};
use paw_worktree::rescue::{
    Rescue, RescueRequest, RestoreInto, RestoreOptions, RestoredRescue, restore, store_if_needed,
};

/// A repository with a worktree on `feat/x`.
struct Scene {
    sandbox: Sandbox,
    main: TestRepo,
    repo: Repo,
    worktree: PathBuf,
}

impl Scene {
    fn new() -> Self {
        Self::with(|main| {
            main.commit_file("a.txt", "one\ntwo\nthree\n", "a");
            main.commit_file("dir/b.txt", "bee\n", "b");
            main.commit_file(".gitignore", "*.log\nbuild/\n", "ignore");
        })
    }

    fn with(fill: impl FnOnce(&TestRepo)) -> Self {
        let sandbox = Sandbox::new();
        let main = sandbox.repo("app");
        fill(&main);
        let worktree = sandbox.root().join("app-x");
        main.git(["worktree", "add", "--quiet", "-b", "feat/x", worktree.to_str().unwrap()]);
        let repo = Repo::discover(&main.root).unwrap();
        Self { sandbox, main, repo, worktree }
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.worktree, args)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.worktree, path, bytes);
    }

    fn request(&self) -> RescueRequest<'_> {
        RescueRequest {
            repo: &self.repo,
            worktree: &self.worktree,
            branch: None,
            reason: "worktree removed",
            include_ignored: false,
            delete_branch: false,
        }
    }

    fn store(&self) -> Rescue {
        store_if_needed(&self.request()).unwrap().expect("something would be lost")
    }

    fn nothing_to_store(&self) -> bool {
        store_if_needed(&self.request()).unwrap().is_none()
    }

    fn remove(&self) {
        self.main.git(["worktree", "remove", "--force", "--force", self.worktree.to_str().unwrap()]);
    }

    fn lock(&self) -> WorktreesLock {
        WorktreesLock::wait(&self.repo.common_dir).unwrap()
    }

    fn back(&self) -> PathBuf {
        self.sandbox.root().join("back")
    }

    fn restore(&self, rescue: &Rescue) -> RestoredRescue {
        let back = self.back();
        restore(&self.repo, &rescue.id, RestoreInto::NewWorktree(&back), RestoreOptions::default()).unwrap()
    }

    /// Stores, removes and restores the worktree, and compares its git status and files.
    fn survives(&self) -> RestoredRescue {
        let before = WorktreeSnapshot::of(&self.worktree);
        let rescue = self.store();
        assert_eq!(WorktreeSnapshot::of(&self.worktree), before, "storing changed the worktree");
        self.remove();
        git(&self.main.root, ["gc", "--quiet", "--prune=now"]);
        let restored = self.restore(&rescue);
        let after = WorktreeSnapshot::of(&self.back());
        assert_eq!(after.status, before.status);
        assert_eq!(after.files, before.files);
        git(&self.main.root, ["fsck", "--strict", "--no-dangling"]);
        restored
    }
}

/// The git status and the files of a worktree.
#[derive(Debug, PartialEq, Eq)]
struct WorktreeSnapshot {
    status: Vec<String>,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl WorktreeSnapshot {
    fn of(dir: &Path) -> Self {
        let status = Git::at(dir).run(["status", "--porcelain=v2", "-z", "--untracked-files=all"]).unwrap();
        let status = String::from_utf8_lossy(&status).split('\0').map(str::to_owned).collect();
        let mut files = BTreeMap::new();
        collect(dir, Path::new(""), &mut files);
        Self { status, files }
    }
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let path = below.join(entry.unwrap().file_name());
        let absolute = root.join(&path);
        let metadata = fs::symlink_metadata(&absolute).unwrap();
        if path == Path::new(".git") {
            continue;
        }
        if metadata.is_dir() {
            collect(root, &path, files);
        } else if metadata.is_symlink() {
            let target = fs::read_link(&absolute).unwrap().into_os_string().into_encoded_bytes();
            files.insert(path, (0o120_000, target));
        } else if metadata.is_file() {
            files.insert(path, (metadata.mode(), fs::read(&absolute).unwrap()));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "test files need not survive a crash")]
fn write(dir: &Path, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}
