//! Work that an agent takes along to another machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use paw_core::BranchName;
use paw_host::git::{KeptWork, Repo};
use paw_testkit::{Sandbox, git};
use paw_worktree::diff::WorkDiff;
use paw_worktree::moved::{self, MovedWorkError};

const LARGEST: u64 = 1 << 20;

fn worktree(repo: &Path, name: &str, branch: &str) -> std::path::PathBuf {
    let path = repo.with_file_name(name);
    git(repo, ["worktree", "add", "-q", path.to_str().unwrap(), branch]);
    path
}

#[test]
fn moved_work_is_the_same_in_another_clone_and_arrives_once() {
    let sandbox = Sandbox::new();
    let here = sandbox.repo("here");
    here.write("kept", "one\n");
    here.write("gone", "x\n");
    here.git(["add", "."]);
    here.git(["commit", "-qm", "files"]);
    here.git(["branch", "feat/x"]);
    let there = sandbox.root().join("there");
    git(&sandbox.root(), ["clone", "-q", here.root.to_str().unwrap(), "there"]);
    git(&there, ["branch", "feat/x", "origin/feat/x"]);
    let from = worktree(&here.root, "from", "feat/x");
    fs::write(from.join("kept"), "one\ntwo\n").unwrap();
    fs::remove_file(from.join("gone")).unwrap();
    fs::create_dir(from.join("dir")).unwrap();
    fs::write(from.join("dir/new tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(from.join("dir/new tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(from.join("staged"), "s\n").unwrap();
    git(&from, ["add", "staged"]);

    let (branch, repo) = (BranchName::new("feat/x").unwrap(), Repo::discover(&here.root).unwrap());
    let full_ref = moved::moved_ref(&branch);
    let work = WorkDiff::take(&repo, &from).unwrap();
    assert!(matches!(work.keep(&full_ref, 10).unwrap(), KeptWork::TooLarge(bytes) if bytes > 10));
    assert!(!repo.git().has_ref(&full_ref).unwrap(), "a snapshot that is too large changes nothing");
    let KeptWork::Stored(commit) = work.keep(&full_ref, LARGEST).unwrap() else { panic!("it is new") };
    assert_eq!(work.keep(&full_ref, LARGEST).unwrap(), KeptWork::Unchanged(commit.clone()));

    git(&there, ["fetch", "-q", "origin", &format!("{full_ref}:{full_ref}")]);
    let to = worktree(&there, "to", "feat/x");
    let other = Repo::discover(&there).unwrap();
    let stored = WorkDiff::of_snapshot(&other, &commit).unwrap();
    assert_eq!(stored.files().unwrap(), work.files().unwrap());
    assert!(!stored.is_committed());
    fs::write(to.join("own"), "").unwrap();
    let refused = moved::restore(&other, &to, &branch).unwrap_err();
    assert!(matches!(refused, MovedWorkError::Occupied(_)), "{refused}");
    fs::remove_file(to.join("own")).unwrap();
    moved::restore(&other, &to, &branch).unwrap();
    let status = git(&to, ["status", "--porcelain", "-uall"]);
    assert_eq!(status, " D gone\n M kept\n?? \"dir/new tool\"\n?? staged");
    assert_eq!(fs::read_to_string(to.join("kept")).unwrap(), "one\ntwo\n");
    assert_eq!(to.join("dir/new tool").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!other.git().has_ref(&full_ref).unwrap());
    moved::restore(&other, &to, &branch).unwrap();
}
