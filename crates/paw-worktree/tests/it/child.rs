//! Ignored tests that other tests run in a separate process of this test binary.

use std::path::PathBuf;

use paw_worktree::{CreateRequest, RemoveOptions, Worktrees};

/// An environment variable that the parent test sets.
fn text(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn path(name: &str) -> PathBuf {
    text(name).into()
}

#[test]
#[ignore = "run by other tests"]
fn create() {
    let worktrees = Worktrees::open(&path("PAW_TEST_DATA")).unwrap();
    let request = CreateRequest {
        create_branch: true,
        ..CreateRequest::new(path("PAW_TEST_REPO"), text("PAW_TEST_BRANCH"))
    };
    worktrees.create(&request, &mut |_| {}).unwrap();
}

#[test]
#[ignore = "run by other tests"]
fn remove() {
    let worktrees = Worktrees::open(&path("PAW_TEST_DATA")).unwrap();
    let options = RemoveOptions { force: true, delete_branch: true, include_ignored: false };
    worktrees.remove(&text("PAW_TEST_NAME"), None, options).unwrap();
}

#[test]
#[ignore = "run by other tests"]
fn list() {
    Worktrees::open(&path("PAW_TEST_DATA")).unwrap().list(Some(&path("PAW_TEST_REPO"))).unwrap();
}

#[test]
#[ignore = "run by other tests"]
fn restore() {
    let repo = paw_host::git::Repo::discover(&path("PAW_TEST_REPO")).unwrap();
    let rescue = paw_worktree::rescue::list(&repo).unwrap().remove(0);
    let dir = rescue.worktree.clone().unwrap();
    let worktrees = Worktrees::open(&path("PAW_TEST_DATA")).unwrap();
    worktrees.restore(&repo, &rescue.id, &dir, paw_worktree::rescue::RestoreOptions::default()).unwrap();
}
