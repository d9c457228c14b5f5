//! Repositories, branches and worktrees with ordinary and hostile names.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use paw_core::{BranchName, Diagnostic as _, PawError};
use paw_host::git::{BranchLocation, Change, Git, GitError, Head, Repo};
use paw_host::process::Command;
use paw_testkit::{Sandbox, TestRepo};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn names(git: &Git) -> Vec<String> {
    git.branches().unwrap().into_iter().map(String::from).collect()
}

#[test]
fn a_path_inside_a_git_repository_gives_its_root() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write("src/deep/file", "x");
    let found = Repo::discover(&repo.root.join("src/deep")).unwrap();
    assert_eq!((&found.root, found.worktree.as_ref(), found.bare), (&repo.root, Some(&repo.root), false));
    assert_eq!(found.common_dir, repo.root.join(".git"));
}

#[test]
fn a_path_outside_any_repository_is_not_a_git_repo() {
    let sandbox = Sandbox::new();
    let error = Repo::discover(&sandbox.root()).unwrap_err();
    assert!(matches!(error, GitError::NotARepository(_)), "{error}");
    assert!(error.report() == PawError::NotAGitRepo.report());
}

#[test]
fn a_repository_that_git_refuses_is_not_reported_as_missing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.write(".git/config", "[core\n");
    let error = Repo::discover(&repo.root).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }) && error.to_string().contains("bad config"), "{error}");
}

#[test]
fn a_linked_worktree_belongs_to_the_main_checkout() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let linked = sandbox.root().join("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "x", linked.to_str().unwrap()]);
    let found = Repo::discover(&linked).unwrap();
    assert_eq!((found.root, found.worktree), (repo.root, Some(linked)));
}

#[test]
fn discover_distinguishes_bare_repositories_worktrees_and_submodules() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let bare = sandbox.root().join("app.git");
    repo.git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let found = Repo::discover(&bare).unwrap();
    assert_eq!((found.bare, &found.root, found.worktree), (true, &bare, None));

    let linked = sandbox.root().join("of-bare");
    paw_testkit::git(&bare, ["worktree", "add", "--quiet", linked.to_str().unwrap(), "main"]);
    let found = Repo::discover(&linked).unwrap();
    assert_eq!((found.bare, &found.root, found.worktree), (true, &bare, Some(linked)));

    repo.add_submodule(&bare, "sub");
    let sub = repo.root.join("sub");
    let inside = sandbox.root().join("of-sub");
    paw_testkit::git(&sub, ["worktree", "add", "--quiet", "-b", "x", inside.to_str().unwrap()]);
    for dir in [&sub, &inside] {
        let found = Repo::discover(dir).unwrap();
        assert_eq!((found.bare, found.root), (false, sub.clone()), "{}", dir.display());
    }
}

#[test]
fn discover_works_with_spaces_quotes_newlines_bytes_and_a_leading_dash() {
    let sandbox = Sandbox::new();
    let odd: [&[u8]; 4] = [b"it's \"odd\"", b"new\nline", b"\xff\xfe", b"-dash"];
    for name in odd {
        let repo = TestRepo::init(sandbox.root().join(OsStr::from_bytes(name)));
        let linked = sandbox.root().join(OsStr::from_bytes(&[name, b"-linked"].concat()));
        let add = ["worktree", "add", "--quiet", "-b", "x", "--"].map(OsStr::new);
        Git::at(&repo.root).run(add.into_iter().chain([linked.as_os_str()])).unwrap();
        assert_eq!(Repo::discover(&repo.root).unwrap().root, repo.root);
        assert_eq!(Repo::discover(&linked).unwrap().root, repo.root);
        let listed = Git::at(&linked).worktrees().unwrap();
        assert_eq!(listed.iter().map(|worktree| &worktree.path).collect::<Vec<_>>(), [&repo.root, &linked]);
        assert_eq!(listed[1].head, Head::Branch(branch("x")));
    }
}

#[test]
fn branches_are_returned_sorted() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    for name in ["zeta", "feature/auth", "fix/db", "$(x);`y`"] {
        repo.git(["branch", name]);
    }
    assert_eq!(names(&Git::at(&repo.root)), ["$(x);`y`", "feature/auth", "fix/db", "main", "zeta"]);
}

#[test]
fn local_and_remote_branches_are_deduplicated_with_prefix_stripping() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repo("origin");
    origin.git(["branch", "feat/remote"]);
    let clone = TestRepo::clone_of(&origin.root, sandbox.root().join("clone"));
    clone.git(["branch", "feat/local"]);
    let git = Git::at(&clone.root);
    assert_eq!(names(&git), ["feat/local", "feat/remote", "main"]);
    assert_eq!(git.find_branch(&branch("feat/local")).unwrap(), BranchLocation::Local);
    assert_eq!(git.find_branch(&branch("feat/remote")).unwrap(), BranchLocation::Remote("origin".into()));
    assert_eq!(git.find_branch(&branch("feat/none")).unwrap(), BranchLocation::Nowhere);
}

#[test]
fn the_default_branch_is_found_without_origin_head() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repo("origin");
    let clone = TestRepo::clone_of(&origin.root, sandbox.root().join("clone"));
    clone.git(["switch", "--quiet", "--create", "other"]);
    let default = |repo: &TestRepo| Git::at(&repo.root).find_default_branch().unwrap().map(String::from);
    assert_eq!(default(&clone).as_deref(), Some("main"), "origin/HEAD");
    clone.git(["remote", "set-head", "origin", "--delete"]);
    assert_eq!(default(&clone).as_deref(), Some("main"), "main exists");
    clone.git(["branch", "trunk"]);
    clone.git(["config", "init.defaultBranch", "trunk"]);
    assert_eq!(default(&clone).as_deref(), Some("main"), "an agent can write the repository's own settings");
    origin.git(["branch", "--move", "main", "own"]);
    assert_eq!(default(&origin).as_deref(), Some("own"), "the current branch");
    origin.git(["switch", "--quiet", "--detach"]);
    assert_eq!(default(&origin), None);
}

#[test]
fn a_repository_without_commits_has_a_current_branch() {
    let sandbox = Sandbox::new();
    let dir = sandbox.root().join("empty");
    fs::create_dir(&dir).unwrap();
    paw_testkit::git(&dir, ["init", "--quiet", "--initial-branch=main"]);
    let git = Git::at(&dir);
    assert_eq!(git.branches().unwrap(), []);
    assert_eq!(git.find_current_branch().unwrap(), Some(branch("main")));
    assert_eq!(Repo::discover(&dir).unwrap().root, dir);
}

#[test]
fn status_lists_files_with_unusual_names() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.commit_file("old name", "some text that moves as it is\n", "old");
    repo.git(["mv", "--", "old name", "new \"name\""]);
    repo.write("README.md", "changed\n");
    repo.write("new/dir/-file\nwith newline", "x");
    let odd = repo.root.join(OsStr::from_bytes(b"\xff"));
    fs::File::create(&odd).unwrap();
    let mut status = Git::at(&repo.root).status().unwrap();
    status.sort_by(|a, b| a.path.cmp(&b.path));
    let expected = [
        (Path::new("README.md"), Change::Changed { staged: false, unstaged: true }),
        (Path::new("new/dir/-file\nwith newline"), Change::Untracked),
        (Path::new("new \"name\""), Change::Moved { from: "old name".into() }),
        (Path::new(OsStr::from_bytes(b"\xff")), Change::Untracked),
    ];
    assert_eq!(
        status.iter().map(|entry| (entry.path.as_path(), entry.change.clone())).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn branch_name_validation_matches_git() {
    let accepted = |name: &str| {
        let full = format!("refs/heads/{name}");
        Command::new("git").args(["check-ref-format", &full]).capture().unwrap().exit.success()
    };
    for name in [
        "feat/x", "a..b", "a.lock", "a.lock/b", ".a", "a/.b", "a b", "a~", "a^", "a:", "a?", "a*", "a[",
        "a\\", "a//b", "/a", "a/", "a.", "a@{b", "a@b", "ü", "$(x)", "a'b", "a\"b", "a\tb", "a;b", "{", "a]",
        "a!", "#", "%", "a,b",
    ] {
        assert_eq!(BranchName::new(name).is_ok(), accepted(name), "{name:?}");
    }
}
