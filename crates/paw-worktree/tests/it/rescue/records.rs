//! Worktrees whose directory went away and came back.

use paw_worktree::rescue::{
    BranchOutcome, RescueError, RescueKind, find_record, restore_record, store_record,
};

use super::*;

fn admin_dir(scene: &Scene) -> PathBuf {
    PathBuf::from(scene.git(&["rev-parse", "--absolute-git-dir"]))
}

/// The directory goes away, git forgets it, the directory returns.
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
fn a_directory_that_returns_is_linked_again_with_everything_staged() {
    let scene = Scene::new();
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("a.txt", "changed\n");
    scene.write("later", "x");
    scene.git(&["add", "-N", "later"]);
    let (before, reflog) = (Seen::of(&scene.worktree), scene.git(&["reflog"]));
    let rescue = gone_and_back(&scene, || {});
    assert_eq!(rescue.kind, RescueKind::Record);
    assert_eq!(find_record(&scene.repo, &scene.worktree).unwrap(), Some(rescue.clone()));

    let relinked = restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(relinked.branch, BranchOutcome::Kept { branch: branch("feat/x") });
    assert_eq!(Seen::of(&scene.worktree), before);
    assert_eq!(scene.git(&["reflog"]), reflog);
    let listed = scene.main.git(["worktree", "list", "--porcelain"]);
    assert!(listed.contains(&format!("worktree {}", scene.worktree.display())), "{listed}");
    scene.git(&["commit", "--quiet", "--message", "goes on"]);
    assert_eq!(scene.git(&["branch", "--show-current"]), "feat/x");
}

#[test]
fn a_branch_deleted_meanwhile_is_there_again() {
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
fn a_branch_checked_out_elsewhere_meanwhile_leaves_head_on_no_branch() {
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
fn the_old_name_taken_meanwhile_is_no_obstacle() {
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
fn a_conflict_survives_in_a_record() {
    let scene = Scene::new();
    scene.write("a.txt", "ours\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "ours"]);
    scene.main.commit_file("a.txt", "theirs\n", "theirs");
    assert!(!Git::at(&scene.worktree).output(["merge", "main"]).unwrap().exit.success());
    let before = Seen::of(&scene.worktree);
    let rescue = gone_and_back(&scene, || {});
    restore_record(&scene.repo, &rescue.id, &scene.worktree, &scene.lock()).unwrap();
    assert_eq!(Seen::of(&scene.worktree), before);
}

#[test]
fn a_record_alone_can_be_restored_as_a_worktree() {
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
fn what_git_knows_already_or_what_is_no_record_is_not_linked() {
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
fn a_submodule_of_a_returned_directory_works_again() {
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
