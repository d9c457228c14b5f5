//! Rescuing and restoring commits.

use paw_worktree::rescue::{BranchOutcome, is_merged, store_tip};

use super::*;

fn commit(scene: &Scene, path: &str, text: &str) -> String {
    scene.write(path, text);
    scene.git(&["add", "--", path]);
    scene.git(&["commit", "--quiet", "--message", &format!("change {path}")]);
    scene.git(&["rev-parse", "HEAD"])
}

fn needs_rescue_with_branch(scene: &Scene) -> bool {
    let request = RescueRequest { delete_branch: true, ..scene.request() };
    store_if_needed(&request).unwrap().is_some()
}

#[test]
fn commits_need_a_rescue_only_if_their_branch_is_deleted() {
    let scene = Scene::new();
    commit(&scene, "new", "x");
    assert!(scene.nothing_to_store());
    assert!(needs_rescue_with_branch(&scene));
}

#[test]
fn commits_on_another_branch_tag_or_remote_need_no_rescue() {
    for keeper in ["refs/heads/other", "refs/tags/v1", "refs/remotes/origin/feat/x"] {
        let scene = Scene::new();
        commit(&scene, "new", "x");
        scene.git(&["update-ref", keeper, "HEAD"]);
        assert!(!needs_rescue_with_branch(&scene), "{keeper}");
    }
}

#[test]
fn branch_with_a_common_name_prefix_does_not_protect_commits() {
    let scene = Scene::new();
    commit(&scene, "new", "x");
    scene.main.git(["branch", "feat/x2", "main"]);
    assert!(needs_rescue_with_branch(&scene));
}

#[test]
fn branch_without_own_commits_needs_no_rescue() {
    assert!(!needs_rescue_with_branch(&Scene::new()));
}

#[test]
fn squash_merged_branch_counts_as_merged() {
    let scene = Scene::new();
    commit(&scene, "new", "x\n");
    commit(&scene, "a.txt", "one\ntwo\nfour\n");
    scene.main.git(["merge", "--quiet", "--squash", "feat/x"]);
    scene.main.git(["commit", "--quiet", "--message", "squashed"]);
    assert!(is_merged(&scene.repo.git(), &branch("feat/x"), &branch("main")).unwrap());
    assert!(!needs_rescue_with_branch(&scene));
}

#[test]
fn squash_merged_branch_counts_as_merged_after_later_changes() {
    let scene = Scene::new();
    commit(&scene, "a.txt", "one\ntwo\nfour\n");
    commit(&scene, "a.txt", "one\ntwo\nfive\n");
    scene.main.git(["merge", "--quiet", "--squash", "feat/x"]);
    scene.main.git(["commit", "--quiet", "--message", "squashed"]);
    scene.main.commit_file("a.txt", "one\ntwo\nsix\n", "on top");
    assert!(!needs_rescue_with_branch(&scene));
}

#[test]
fn rebase_merged_branch_counts_as_merged() {
    let scene = Scene::new();
    let first = commit(&scene, "new", "x\n");
    let second = commit(&scene, "newer", "y\n");
    scene.main.commit_file("other", "z\n", "meanwhile");
    scene.main.git(["cherry-pick", &first, &second]);
    scene.main.commit_file("new", "changed since\n", "on top");
    assert!(!needs_rescue_with_branch(&scene));
}

#[test]
fn partially_merged_or_reverted_branch_is_not_merged() {
    let scene = Scene::new();
    let first = commit(&scene, "new", "x\n");
    commit(&scene, "newer", "y\n");
    scene.main.commit_file("other", "z\n", "meanwhile");
    scene.main.git(["cherry-pick", &first]);
    assert!(needs_rescue_with_branch(&scene));

    let scene = Scene::new();
    commit(&scene, "experiment", "x\n");
    scene.git(&["revert", "--no-edit", "HEAD"]);
    assert!(needs_rescue_with_branch(&scene));
}

#[test]
fn branch_squashed_on_the_remote_counts_as_merged_before_a_pull() {
    let scene = Scene::new();
    commit(&scene, "new", "x\n");
    scene.main.git(["checkout", "--quiet", "--detach"]);
    scene.main.git(["merge", "--quiet", "--squash", "feat/x"]);
    scene.main.git(["commit", "--quiet", "--message", "squashed"]);
    scene.main.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    scene.main.git(["checkout", "--quiet", "main"]);
    assert!(!needs_rescue_with_branch(&scene));
}

#[test]
fn restore_recreates_a_deleted_branch() {
    let scene = Scene::new();
    let tip = commit(&scene, "new", "x");
    let rescue = store_if_needed(&RescueRequest { delete_branch: true, ..scene.request() }).unwrap().unwrap();
    scene.remove();
    scene.main.git(["branch", "--quiet", "-D", "feat/x"]);
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    let restored = scene.restore(&rescue);
    assert_eq!(restored.branch, BranchOutcome::Recreated { branch: branch("feat/x") });
    assert_eq!(git(&scene.back(), ["rev-parse", "refs/heads/feat/x"]), tip);
    assert_eq!(git(&scene.back(), ["branch", "--show-current"]), "feat/x");
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), "");
}

#[test]
fn restore_leaves_a_moved_or_checked_out_branch_alone() {
    let scene = Scene::new();
    scene.write("a.txt", "changed\n");
    let rescue = scene.store();
    let elsewhere = scene.restore(&rescue);
    assert!(elsewhere.branch.to_string().contains("is checked out at"), "{}", elsewhere.branch);
    let head = git(&scene.back(), ["rev-parse", "HEAD"]);

    scene.git(&["commit", "--quiet", "--all", "--message", "moved"]);
    let again = scene.sandbox.root().join("again");
    let moved = restore(&scene.repo, &rescue.id, RestoreInto::NewWorktree(&again), RestoreOptions::default())
        .unwrap();
    assert!(moved.branch.to_string().contains("left alone"), "{}", moved.branch);
    assert_eq!(git(&again, ["rev-parse", "HEAD"]), head);
    assert_eq!(git(&again, ["status", "--porcelain"]), " M a.txt");
}

#[test]
fn restore_returns_the_old_tip_of_a_rebased_branch() {
    let scene = Scene::new();
    let tip = commit(&scene, "new", "x");
    let rescue = store_tip(&scene.repo, &branch("feat/x"), "before rebase").unwrap();
    scene.git(&["reset", "--quiet", "--hard", "main"]);
    scene.main.git(["reflog", "expire", "--expire=now", "--all"]);
    scene.git(&["reflog", "expire", "--expire=now", "--all"]);
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    let restored = scene.restore(&rescue);
    assert!(matches!(restored.branch, BranchOutcome::Moved { .. }));
    assert_eq!(git(&scene.back(), ["rev-parse", "HEAD"]), tip);
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), "");
    assert!(store_tip(&scene.repo, &branch("no/such"), "x").is_err());
}

#[test]
fn rescue_keeps_commits_that_are_only_in_the_worktree_reflog() {
    let scene = Scene::new();
    scene.git(&["checkout", "--quiet", "--detach"]);
    let floating = commit(&scene, "new", "x");
    scene.git(&["checkout", "--quiet", "feat/x"]);
    scene.write("a.txt", "changed\n");
    scene.store();
    scene.remove();
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    assert_eq!(scene.main.git(["cat-file", "-t", &floating]), "commit");
}

#[test]
fn rescue_keeps_branch_tip_and_head_during_a_rebase() {
    let scene = Scene::new();
    let tip = commit(&scene, "a.txt", "ours\n");
    scene.main.commit_file("a.txt", "theirs\n", "theirs");
    assert!(!Git::at(&scene.worktree).output(["rebase", "main"]).unwrap().exit.success());
    let feature = branch("feat/x");
    let request = RescueRequest { branch: Some(&feature), delete_branch: true, ..scene.request() };
    store_if_needed(&request).unwrap().unwrap();
    scene.remove();
    scene.main.git(["branch", "--quiet", "-D", "feat/x"]);
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    assert_eq!(scene.main.git(["cat-file", "-t", &tip]), "commit");
}
