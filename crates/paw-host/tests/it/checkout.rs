//! The steps of creating a worktree, compared with git itself.

use std::path::Path;

use paw_core::BranchName;
use paw_host::git::{self, BranchSource, Git, IndexedCheckout, RebaseOutcome};
use paw_host::locks::WorktreesLock;
use paw_testkit::Sandbox;

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

#[test]
fn checkout_size_is_read_from_every_index_version() {
    let sandbox = Sandbox::new();
    for (name, format, version) in
        [("two", "sha1", "2"), ("four", "sha1", "4"), ("long", "sha256", "2"), ("both", "sha256", "4")]
    {
        let repo = sandbox.root().join(name);
        let init = ["init", "--quiet", &format!("--object-format={format}"), name];
        paw_testkit::git(&sandbox.root(), init);
        let run = |args: &[&str]| paw_testkit::git(&repo, args);
        for (file, bytes) in [("a", 10), ("dir/longer name", 200), ("dir/other", 3000)] {
            sandbox.write(&format!("{name}/{file}"), &"x".repeat(bytes));
        }
        run(&["add", "."]);
        run(&["commit", "--quiet", "--message", "files"]);
        run(&["update-index", "--index-version", version, "--refresh"]);
        let index = repo.join(".git/index");
        let tree = run(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(git::find_indexed_checkout(&index), Some(IndexedCheckout { tree, bytes: 3210 }), "{name}");
        assert_eq!(Git::at(&repo).tree_bytes("HEAD").unwrap(), 3210, "{name}");
        run(&["rm", "--quiet", "--cached", "a"]);
        assert_eq!(git::find_indexed_checkout(&index), None, "{name}: a change is staged");
        run(&["reset", "--quiet"]);
        run(&["update-index", "--skip-worktree", "a"]);
        assert_eq!(git::find_indexed_checkout(&index), None, "{name}: a file may be missing");
        run(&["update-index", "--no-skip-worktree", "a"]);
        run(&["update-index", "--split-index"]);
        sandbox.write(&format!("{name}/new"), "x");
        run(&["add", "new"]);
        assert_eq!(git::find_indexed_checkout(&index), None, "{name}: most of a split index is elsewhere");
    }
}

#[test]
fn a_worktree_is_registered_and_checked_out_in_two_steps() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    let git = Git::at(&repo.root);
    let head = repo.git(["rev-parse", "HEAD"]);
    let dir = sandbox.root().join("linked");
    let lock = WorktreesLock::wait(&repo.root.join(".git")).unwrap();
    git.register_worktree(&dir, &branch("topic"), &BranchSource::NewAt(head.clone()), &lock).unwrap();
    assert!(!dir.join("README.md").exists());
    let state = git.branch_state(&branch("topic"), &repo.root.join(".git")).unwrap();
    assert_eq!(
        (state.commit.as_deref(), state.checked_out_at.as_deref()),
        (Some(head.as_str()), Some(dir.as_path()))
    );
    let linked = Git::at(&dir);
    linked.check_out_files().unwrap();
    assert!(dir.join("README.md").exists() && linked.status().unwrap().is_empty());

    let admin = repo.root.join(".git/worktrees/linked");
    let common = repo.root.join(".git");
    assert_eq!(git::find_linked_admin_dir(&dir).as_deref(), Some(admin.as_path()));
    assert_eq!(git::find_admin_dir(&common, &dir).as_deref(), Some(admin.as_path()));
    assert_eq!(git::worktree_of(&admin).as_deref(), Some(dir.as_path()));
    assert_eq!(git::find_admin_dir(&common, Path::new("/else/where")), None);
    git.remove_worktree(&dir, &lock).unwrap();
    git.delete_branch(&branch("topic")).unwrap();
    assert_eq!(git.branch_state(&branch("topic"), &repo.root.join(".git")).unwrap().commit, None);
}

#[test]
fn a_failed_rebase_is_aborted_and_reports_the_conflict() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.git(["checkout", "--quiet", "-b", "topic"]);
    let tip = repo.commit_file("README.md", "theirs\n", "theirs");
    repo.git(["checkout", "--quiet", "main"]);
    repo.commit_file("README.md", "ours\n", "ours");
    repo.git(["checkout", "--quiet", "topic"]);
    let git = Git::at(&repo.root);
    let outcome = git.rebase_onto(&branch("main")).unwrap();
    let RebaseOutcome::Failed { output, conflicts } = outcome else { panic!("the rebase was possible") };
    assert_eq!(conflicts, [Path::new("README.md")]);
    assert!(!output.is_empty());
    assert_eq!(repo.git(["rev-parse", "HEAD"]), tip);
    assert_eq!(git.find_current_branch().unwrap(), Some(branch("topic")));
    assert!(git.status().unwrap().is_empty());
    repo.git(["checkout", "--quiet", "-b", "behind", "main~1"]);
    assert_eq!(git.rebase_onto(&branch("main")).unwrap(), RebaseOutcome::Done);
    assert_eq!(repo.git(["rev-parse", "HEAD"]), repo.git(["rev-parse", "main"]));
}
