//! Checkouts in which nothing but the commit decides about tracked files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paw_host::git::{CleanCheckout, CleanCheckoutError, Repo};
use paw_testkit::{Sandbox, TestRepo, git};

struct Project {
    sandbox: Sandbox,
    repo: TestRepo,
}

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("app");
        repo.commit_file(".gitignore", "cache\n", "ignore");
        repo.commit_file("code.txt", "committed\n", "code");
        Self { sandbox, repo }
    }

    fn dir(&self) -> PathBuf {
        self.sandbox.root().join("checkout")
    }

    fn checkout(&self) -> CleanCheckout {
        let repo = Repo::discover(&self.repo.root).unwrap();
        CleanCheckout::new(&repo, &self.dir(), &self.sandbox.root().join("state"))
    }

    fn head(&self) -> String {
        self.repo.git(["rev-parse", "HEAD"])
    }

    fn check_out(&self) {
        self.checkout().check_out(&self.head()).unwrap();
    }

    fn code(&self) -> String {
        fs::read_to_string(self.dir().join("code.txt")).unwrap()
    }
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_clean_checkout_has_the_files_of_its_commit_and_keeps_ignored_ones() {
    let project = Project::new();
    project.check_out();
    fs::write(project.dir().join("cache"), "warm\n").unwrap();
    fs::write(project.dir().join("left"), "x\n").unwrap();
    fs::write(project.dir().join("code.txt"), "changed\n").unwrap();
    git(&project.dir(), ["init", "--quiet", "nested"]);
    project.check_out();
    assert_eq!(project.code(), "committed\n");
    assert!(project.dir().join("cache").exists());
    assert!(!project.dir().join("left").exists() && !project.dir().join("nested").exists());
    assert_eq!(git(&project.dir(), ["status", "--porcelain"]), "");
    assert_eq!(git(&project.dir(), ["rev-parse", "HEAD", "main"]), format!("{0}\n{0}", project.head()));
}

#[test]
fn a_clean_checkout_ignores_index_flags_that_hide_changes() {
    let project = Project::new();
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        project.check_out();
        let state = project.sandbox.root().join("state/git");
        let (state, tree) =
            (format!("--git-dir={}", state.display()), format!("--work-tree={}", project.dir().display()));
        git(&project.dir(), [&state, &tree, "update-index", flag, "code.txt"]);
        fs::write(project.dir().join("code.txt"), "changed\n").unwrap();
        project.check_out();
        assert_eq!(project.code(), "committed\n", "{flag}");
    }
}

#[test]
fn a_clean_checkout_runs_no_filter_and_no_hook_of_the_repository() {
    let project = Project::new();
    let ran = project.sandbox.root().join("ran");
    let program = project.sandbox.root().join("planted");
    script(&program, &format!("touch '{}'; echo filtered", ran.display()));
    let program = program.to_str().unwrap();
    for key in ["filter.x.smudge", "filter.x.clean", "core.fsmonitor"] {
        project.repo.git(["config", key, program]);
    }
    fs::write(project.repo.root.join(".git/info/attributes"), "* filter=x\n").unwrap();
    for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
        script(&project.repo.root.join(".git/hooks").join(hook), &format!("touch '{}'", ran.display()));
    }
    project.check_out();
    project.check_out();
    assert_eq!(project.code(), "committed\n");
    assert!(!ran.exists());
}

#[test]
fn a_clean_checkout_ignores_replaced_objects() {
    let project = Project::new();
    fs::write(project.repo.root.join("other"), "replaced\n").unwrap();
    let other = project.repo.git(["hash-object", "-w", "other"]);
    let blob = project.repo.git(["rev-parse", "HEAD:code.txt"]);
    project.repo.git(["replace", &blob, &other]);
    project.check_out();
    assert_eq!(project.code(), "committed\n");
    assert_eq!(git(&project.dir(), ["cat-file", "blob", "HEAD:code.txt"]), "committed");
}

#[test]
fn git_commands_in_a_clean_checkout_do_not_reach_the_repository() {
    let project = Project::new();
    project.check_out();
    let refs = project.repo.git(["for-each-ref"]);
    let dir = project.dir();
    git(&dir, ["commit", "--quiet", "--allow-empty", "--message", "made by a test"]);
    git(&dir, ["update-ref", "refs/heads/main", "HEAD"]);
    git(&dir, ["tag", "v9"]);
    git(&dir, ["config", "planted.key", "x"]);
    assert_eq!(project.repo.git(["for-each-ref"]), refs);
    assert_eq!(project.sandbox.run(&project.repo.root, "git", ["config", "planted.key"]).code, 1);
    let made = git(&dir, ["rev-parse", "HEAD"]);
    assert_ne!(project.sandbox.run(&project.repo.root, "git", ["cat-file", "-e", &made]).code, 0);
    project.check_out();
    assert_eq!(git(&dir, ["rev-parse", "HEAD", "main"]), format!("{0}\n{0}", project.head()));
    assert_eq!(git(&dir, ["tag"]), "");
}

#[test]
fn submodules_of_a_clean_checkout_come_from_the_main_checkout() {
    let project = Project::new();
    let library = project.sandbox.repo("library");
    library.commit_file("lib.txt", "one\n", "one");
    let url = library.root.to_str().unwrap();
    project.repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "deps/lib"]);
    project.repo.git(["commit", "--quiet", "--message", "submodule"]);
    project.check_out();
    let file = project.dir().join("deps/lib/lib.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
    assert_eq!(git(&project.dir(), ["status", "--porcelain"]), "");
    fs::write(&file, "changed\n").unwrap();
    project.check_out();
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
    project.repo.git(["rm", "--quiet", "deps/lib"]);
    project.repo.git(["commit", "--quiet", "--message", "gone"]);
    project.check_out();
    assert!(!project.dir().join("deps").exists());
}

#[test]
fn a_clean_checkout_works_with_sha256_and_in_a_bare_repository() {
    let sandbox = Sandbox::new();
    git(&sandbox.root(), ["init", "--quiet", "--object-format=sha256", "--initial-branch=main", "app"]);
    let repo = TestRepo { root: sandbox.root().join("app") };
    repo.commit_file("code.txt", "committed\n", "code");
    git(&sandbox.root(), ["clone", "--quiet", "--bare", "app", "bare.git"]);
    let bare = Repo::discover(&sandbox.root().join("bare.git")).unwrap();
    let dir = sandbox.root().join("checkout");
    let checkout = CleanCheckout::new(&bare, &dir, &sandbox.root().join("state"));
    checkout.check_out(&repo.git(["rev-parse", "HEAD"])).unwrap();
    assert_eq!(fs::read_to_string(dir.join("code.txt")).unwrap(), "committed\n");
    assert_eq!(git(&dir, ["status", "--porcelain"]), "");
}

#[test]
fn a_replaced_checkout_keeps_the_times_of_unchanged_files() {
    let project = Project::new();
    project.check_out();
    let (saved, index) = (project.sandbox.root().join("saved"), project.sandbox.root().join("index"));
    let modified = || fs::metadata(project.dir().join("code.txt")).unwrap().modified().unwrap();
    let before = modified();
    let checkout = project.checkout();
    assert!(paw_host::files::copy_tree(&project.dir(), &saved, Some(".git"), u64::MAX).unwrap());
    checkout.save_index(&index).unwrap();
    fs::write(project.dir().join("cache"), "by a failed run\n").unwrap();
    checkout.replace(&saved, &index).unwrap();
    project.check_out();
    assert!(!project.dir().join("cache").exists());
    assert_eq!((project.code().as_str(), modified()), ("committed\n", before));
}

#[test]
fn a_clean_checkout_refuses_a_directory_with_other_files() {
    let project = Project::new();
    fs::create_dir(project.dir()).unwrap();
    fs::write(project.dir().join("mine"), "x").unwrap();
    let error = project.checkout().check_out(&project.head()).unwrap_err();
    assert!(matches!(error, CleanCheckoutError::InTheWay(_)), "{error}");
    assert!(project.dir().join("mine").exists());
}
