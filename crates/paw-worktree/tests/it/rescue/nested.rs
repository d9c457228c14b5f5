//! Nested repositories: submodules, and other repositories inside a worktree.

use paw_testkit::TestRepo;

use super::*;

#[test]
fn rescue_restores_a_nested_repository_with_history_and_stash() {
    let scene = Scene::new();
    let inner = TestRepo::init(scene.worktree.join("inner"));
    inner.commit_file("kept", "1", "second");
    inner.write("kept", "stashed");
    inner.git(["stash", "--quiet"]);
    inner.write("kept", "changed");
    inner.write("loose", "untracked");
    inner.write(".gitignore", "*.tmp\n");
    inner.write("junk.tmp", "junk");
    inner.git(["pack-refs", "--all"]);
    let (head, status) = (inner.git(["rev-parse", "HEAD"]), inner.git(["status", "--porcelain"]));

    let rescue = scene.store();
    assert_eq!(rescue.ignored_left_behind, [PathBuf::from("inner/junk.tmp")]);
    scene.remove();
    scene.restore(&rescue);
    let back = scene.back().join("inner");
    assert_eq!(git(&back, ["rev-parse", "HEAD"]), head);
    assert_eq!(git(&back, ["status", "--porcelain"]), status);
    assert_eq!(git(&back, ["stash", "list"]).lines().count(), 1);
    git(&back, ["fsck", "--strict"]);
    git(&scene.main.root, ["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn rescue_restores_a_nested_repository_without_commits() {
    let scene = Scene::new();
    let inner = scene.worktree.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, ["init", "--quiet"]);
    write(&inner, "file", "x");
    scene.survives();
    assert_eq!(git(&scene.back().join("inner"), ["status", "--porcelain"]), "?? file");
}

/// A scene whose main branch has a submodule `lib`, checked out in the worktree.
fn with_submodule() -> Scene {
    let scene = Scene::new();
    let library = scene.sandbox.repo("library");
    let allow = ["-c", "protocol.file.allow=always", "submodule"];
    scene.main.add_submodule(&library.root, "lib");
    scene.git(&["merge", "--quiet", "main"]);
    git(&scene.worktree, allow.into_iter().chain(["update", "--quiet", "--init", "--recursive"]));
    scene
}

fn commit_in(dir: &Path, path: &str) -> String {
    write(dir, path, "x");
    git(dir, ["add", "--", path]);
    git(dir, ["commit", "--quiet", "--message", "inside"]);
    git(dir, ["rev-parse", "HEAD"])
}

#[test]
fn clean_submodule_needs_no_rescue() {
    assert!(with_submodule().nothing_to_store());
}

#[test]
fn rescue_restores_commits_in_a_submodule() {
    let scene = with_submodule();
    let commit = commit_in(&scene.worktree.join("lib"), "new");
    let rescue = scene.store();
    scene.remove();
    scene.restore(&rescue);
    let lib = scene.back().join("lib");
    assert_eq!(git(&lib, ["rev-parse", "HEAD"]), commit);
    assert_eq!(git(&lib, ["status", "--porcelain"]), "");
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), " M lib");
    git(&lib, ["fsck", "--strict"]);
}

#[test]
fn rescue_restores_submodule_commits_of_a_clean_worktree() {
    let scene = with_submodule();
    let commit = commit_in(&scene.worktree.join("lib"), "new");
    scene.git(&["commit", "--quiet", "--all", "--message", "move lib"]);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    let rescue = scene.store();
    scene.remove();
    scene.restore(&rescue);
    assert_eq!(git(&scene.back().join("lib"), ["rev-parse", "HEAD"]), commit);
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), "");
}

#[test]
fn rescue_restores_a_side_branch_of_a_submodule() {
    let scene = with_submodule();
    let lib = scene.worktree.join("lib");
    git(&lib, ["checkout", "--quiet", "-b", "side"]);
    let commit = commit_in(&lib, "new");
    git(&lib, ["checkout", "--quiet", "--detach", "HEAD~1"]);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    let rescue = scene.store();
    scene.remove();
    scene.restore(&rescue);
    assert_eq!(git(&scene.back().join("lib"), ["rev-parse", "side"]), commit);
}

#[test]
fn rescue_restores_uncommitted_work_in_a_submodule() {
    let scene = with_submodule();
    let lib = scene.worktree.join("lib");
    write(&lib, "README.md", "staged\n");
    git(&lib, ["add", "README.md"]);
    write(&lib, "README.md", "changed\n");
    write(&lib, "new", "untracked");
    let (inside, outside) = (WorktreeSnapshot::of(&lib), scene.git(&["status", "--porcelain=v2"]));
    let rescue = scene.store();
    scene.remove();
    scene.restore(&rescue);
    assert_eq!(WorktreeSnapshot::of(&scene.back().join("lib")), inside);
    assert_eq!(git(&scene.back(), ["status", "--porcelain=v2"]), outside);
}

#[test]
fn rescue_restores_a_nested_submodule() {
    let scene = Scene::new();
    let allow = ["-c", "protocol.file.allow=always", "submodule"];
    let deep = scene.sandbox.repo("deep");
    let library = scene.sandbox.repo("library");
    library.add_submodule(&deep.root, "deep");
    scene.main.add_submodule(&library.root, "lib");
    scene.git(&["merge", "--quiet", "main"]);
    git(&scene.worktree, allow.into_iter().chain(["update", "--quiet", "--init", "--recursive"]));

    let commit = commit_in(&scene.worktree.join("lib/deep"), "new");
    git(&scene.worktree.join("lib"), ["commit", "--quiet", "--all", "--message", "deeper"]);
    scene.git(&["commit", "--quiet", "--all", "--message", "deeper still"]);
    let rescue = scene.store();
    scene.remove();
    scene.restore(&rescue);
    assert_eq!(git(&scene.back().join("lib/deep"), ["rev-parse", "HEAD"]), commit);
    assert_eq!(git(&scene.back(), ["status", "--porcelain"]), "");
}
