//! Records of worktrees whose directory disappeared and returned.

use paw_worktree::rescue::{
    BranchOutcome, RescueError, RescueKind, find_record, restore_record, store_record,
};

use super::*;

fn admin_dir(scene: &Scene) -> PathBuf {
    PathBuf::from(scene.git(&["rev-parse", "--absolute-git-dir"]))
}

/// Moves the directory away, prunes it, runs `meanwhile`, and moves the directory back.
fn gone_and_back(scene: &Scene, meanwhile: impl FnOnce()) -> Rescue {
    let admin = admin_dir(scene);
    let away = scene.sandbox.root().join("away");
    fs::rename(&scene.worktree, &away).unwrap();
    let rescue = store_record(&scene.repo, &admin, None, "directory is gone").unwrap();
    scene.main.git(["worktree", "prune"]);
    assert!(!admin.exists());
    meanwhile();
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    fs::rename(&away, &scene.worktree).unwrap();
    rescue
}

#[test]
fn record_relinks_a_returned_directory_with_its_staged_changes() {
    let scene = Scene::new();
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("a.txt", "changed\n");
    scene.write("later", "x");
    scene.git(&["add", "-N", "later"]);
    let (before, reflog) = (WorktreeSnapshot::of(&scene.worktree), scene.git(&["reflog"]));
    let rescue = gone_and_back(&scene, || {});
    assert_eq!(rescue.kind, RescueKind::Record);
    assert_eq!(find_record(&scene.repo, &scene.worktree).unwrap(), Some(rescue.clone()));

    let relinked = restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(relinked.branch, BranchOutcome::Kept { branch: branch("feat/x") });
    assert_eq!(WorktreeSnapshot::of(&scene.worktree), before);
    assert_eq!(scene.git(&["reflog"]), reflog);
    let listed = scene.main.git(["worktree", "list", "--porcelain"]);
    assert!(listed.contains(&format!("worktree {}", scene.worktree.display())), "{listed}");
    scene.git(&["commit", "--quiet", "--message", "continued"]);
    assert_eq!(scene.git(&["branch", "--show-current"]), "feat/x");
}

#[test]
fn record_recreates_a_deleted_branch() {
    let scene = Scene::new();
    scene.write("new", "x");
    scene.git(&["add", "new"]);
    scene.git(&["commit", "--quiet", "--message", "own"]);
    let rescue = gone_and_back(&scene, || drop(scene.main.git(["branch", "--quiet", "-D", "feat/x"])));
    let relinked = restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(relinked.branch, BranchOutcome::Recreated { branch: branch("feat/x") });
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn record_detaches_head_if_the_branch_is_checked_out_elsewhere() {
    let scene = Scene::new();
    let other = scene.sandbox.root().join("other");
    let rescue = gone_and_back(&scene, || {
        scene.main.git(["worktree", "add", "--quiet", other.to_str().unwrap(), "feat/x"]);
    });
    let relinked = restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert!(matches!(relinked.branch, BranchOutcome::CheckedOut { .. }));
    assert_eq!(scene.git(&["branch", "--show-current"]), "");
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn record_uses_another_name_if_the_old_one_is_taken() {
    let scene = Scene::new();
    let name = admin_dir(&scene).file_name().unwrap().to_owned();
    let rescue = gone_and_back(&scene, || {
        let same = scene.sandbox.root().join("elsewhere").join(&name);
        scene.main.git(["worktree", "add", "--quiet", "-b", "other", same.to_str().unwrap()]);
    });
    let relinked = restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_ne!(relinked.admin_dir.file_name().unwrap(), name);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

#[test]
fn record_restores_a_conflict() {
    let scene = Scene::new();
    scene.write("a.txt", "ours\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "ours"]);
    scene.main.commit_file("a.txt", "theirs\n", "theirs");
    assert!(!Git::at(&scene.worktree).output(["merge", "main"]).unwrap().exit.success());
    let before = WorktreeSnapshot::of(&scene.worktree);
    let rescue = gone_and_back(&scene, || {});
    restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(WorktreeSnapshot::of(&scene.worktree), before);
}

#[test]
fn record_can_be_restored_as_a_new_worktree() {
    let scene = Scene::new();
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    let admin = admin_dir(&scene);
    fs::remove_dir_all(&scene.worktree).unwrap();
    let rescue = store_record(&scene.repo, &admin, None, "directory is gone").unwrap();
    scene.main.git(["worktree", "prune"]);
    scene.main.git(["gc", "--quiet", "--prune=now"]);
    scene.restore(&rescue);
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), "M  a.txt");
}

#[test]
fn restore_record_refuses_a_linked_directory_or_another_kind_of_rescue() {
    let scene = Scene::new();
    scene.write("a.txt", "changed\n");
    let worktree_rescue = scene.store();
    let error = restore_record(&scene.repo, &worktree_rescue.id, &scene.worktree, &scene.lock()).unwrap_err();
    assert!(matches!(error, RescueError::NotARecord(_)), "{error}");
    let record = store_record(&scene.repo, &admin_dir(&scene), None, "x").unwrap();
    let error = restore_record(&scene.repo, &record.id, &scene.worktree, &scene.lock()).unwrap_err();
    assert!(error.to_string().contains("git already lists it"), "{error}");
}

#[test]
fn record_relinks_submodules_of_a_returned_directory() {
    let scene = Scene::new();
    let library = scene.sandbox.repo("library");
    let allow = ["-c", "protocol.file.allow=always", "submodule"];
    scene.main.add_submodule(&library.root, "lib");
    scene.git(&["merge", "--quiet", "main"]);
    git(&scene.worktree, allow.into_iter().chain(["update", "--quiet", "--init"]));
    write(&scene.worktree, "lib/new", "x");
    git(&scene.worktree.join("lib"), ["add", "new"]);
    git(&scene.worktree.join("lib"), ["commit", "--quiet", "--message", "inside"]);
    let head = git(&scene.worktree.join("lib"), ["rev-parse", "HEAD"]);
    let rescue = gone_and_back(&scene, || {});
    restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(git(&scene.worktree.join("lib"), ["rev-parse", "HEAD"]), head);
    assert_eq!(scene.git(&["status", "--porcelain"]), " M lib");
}
