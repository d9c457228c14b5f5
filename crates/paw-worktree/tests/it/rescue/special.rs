//! Rescues of worktrees in every special state.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn clean_worktree_with_a_kept_branch_needs_no_rescue() {
    assert!(Scene::new().nothing_to_store());
}

#[test]
fn rescue_restores_staged_unstaged_and_untracked_work() {
    let scene = Scene::new();
    scene.write("a.txt", "one\nstaged\nthree\n");
    scene.git(&["add", "a.txt"]);
    scene.write("a.txt", "one\nstaged\nand more\n");
    scene.write("dir/b.txt", "unstaged\n");
    scene.write("new/deep/untracked.txt", "untracked\n");
    scene.write("new.txt", "staged new\n");
    scene.git(&["add", "new.txt"]);
    scene.survives();
}

#[test]
fn storing_does_not_change_index_head_reflog_or_stash() {
    let scene = Scene::new();
    scene.write("a.txt", "stashed\n");
    scene.git(&["stash", "--quiet"]);
    scene.write("a.txt", "changed\n");
    scene.write("u", "untracked");
    scene.git(&["add", "-N", "u"]);
    let admin = PathBuf::from(scene.git(&["rev-parse", "--absolute-git-dir"]));
    let everything = || {
        let mut files = BTreeMap::new();
        collect(&admin, Path::new(""), &mut files);
        let logs = fs::read(scene.main.root.join(".git/logs/refs/stash")).unwrap();
        let times = fs::metadata(admin.join("index")).unwrap().modified().unwrap();
        let refs = scene.main.git(["for-each-ref", "refs/heads", "refs/stash", "refs/tags"]);
        (files, logs, times, refs, scene.git(&["stash", "list"]), WorktreeSnapshot::of(&scene.worktree))
    };
    let before = everything();
    scene.store();
    assert_eq!(everything(), before);
}

#[test]
fn rescue_restores_permissions_and_symlinks() {
    let scene = Scene::new();
    scene.write("secret", "key");
    set_mode(&scene.worktree.join("secret"), 0o600);
    scene.write("tool", "#!/bin/sh\n");
    set_mode(&scene.worktree.join("tool"), 0o755);
    set_mode(&scene.worktree.join("a.txt"), 0o755);
    symlink("nowhere/at all", scene.worktree.join("dangling")).unwrap();
    symlink("/etc", scene.worktree.join("absolute")).unwrap();
    fs::remove_file(scene.worktree.join("dir/b.txt")).unwrap();
    symlink("../a.txt", scene.worktree.join("dir/b.txt")).unwrap();
    scene.survives();
}

#[test]
fn rescue_restores_hostile_file_names() {
    let scene = Scene::new();
    for name in [
        &b"new\nline"[..],
        b"-q",
        b"\"quoted\"",
        b"tab\there",
        b"back\\slash",
        b"caf\xe9\xff",
        b" ",
        b"$(rm)",
        b"%x",
        b"git~1",
        b".GIT",
    ] {
        write(&scene.worktree, OsStr::from_bytes(name), name);
    }
    write(&scene.worktree, OsStr::from_bytes(b"dir\n/\xfe/x"), "deep");
    scene.git(&["add", "--", "-q", "\"quoted\""]);
    scene.write("-q", "changed again");
    scene.survives();
}

#[test]
fn rescue_restores_staged_and_unstaged_deletions() {
    let scene = Scene::new();
    fs::remove_file(scene.worktree.join("a.txt")).unwrap();
    scene.git(&["rm", "--quiet", "dir/b.txt"]);
    scene.survives();
}

#[test]
fn rescue_restores_a_file_removed_only_from_the_index() {
    let scene = Scene::new();
    scene.git(&["rm", "--quiet", "--cached", "a.txt"]);
    scene.survives();
}

#[test]
fn rescue_restores_a_file_and_a_directory_that_swapped_types() {
    let scene = Scene::new();
    fs::remove_file(scene.worktree.join("a.txt")).unwrap();
    scene.write("a.txt/inside", "x");
    fs::remove_dir_all(scene.worktree.join("dir")).unwrap();
    scene.write("dir", "now a file");
    scene.survives();
}

#[test]
fn rescue_restores_intent_to_add() {
    let scene = Scene::new();
    scene.write("later", "not yet");
    scene.git(&["add", "--intent-to-add", "later"]);
    scene.survives();
}

#[test]
fn rescue_restores_an_empty_index() {
    let scene = Scene::new();
    scene.git(&["rm", "--quiet", "--cached", "-r", "."]);
    scene.survives();
}

#[test]
fn rescue_restores_a_staged_change_that_was_reverted_on_disk() {
    let scene = Scene::new();
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("a.txt", "one\ntwo\nthree\n");
    scene.survives();
}

/// Both branches change the same line.
fn diverge(scene: &Scene) {
    scene.write("a.txt", "ours\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "ours"]);
    scene.main.commit_file("a.txt", "theirs\n", "theirs");
}

fn conflict(scene: &Scene) {
    diverge(scene);
    let merged = Git::at(&scene.worktree).output(["merge", "--no-edit", "main"]).unwrap();
    assert!(!merged.exit.success());
}

#[test]
fn rescue_restores_a_conflict_and_the_merge_can_be_finished() {
    let scene = Scene::new();
    conflict(&scene);
    scene.write("extra", "untracked");
    let stages = scene.git(&["ls-files", "--unmerged"]);
    scene.survives();
    assert_eq!(git(&scene.back(), ["ls-files", "--unmerged"]), stages);
    write(&scene.back(), "a.txt", "solved\n");
    git(&scene.back(), ["add", "a.txt"]);
    git(&scene.back(), ["commit", "--quiet", "--no-edit"]);
    assert_eq!(git(&scene.back(), ["rev-list", "--parents", "--max-count=1", "HEAD"]).split(' ').count(), 3);
}

#[test]
fn rescue_restores_a_rebase_that_can_be_continued() {
    let scene = Scene::new();
    diverge(&scene);
    assert!(!Git::at(&scene.worktree).output(["rebase", "main"]).unwrap().exit.success());
    scene.survives();
    write(&scene.back(), "a.txt", "solved\n");
    git(&scene.back(), ["add", "a.txt"]);
    Git::at(scene.back()).run(["rebase", "--continue"]).unwrap();
    assert_eq!(git(&scene.back(), ["branch", "--show-current"]), "feat/x");
}

#[test]
fn rescue_restores_an_unborn_branch() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().join("empty");
    fs::create_dir(&root).unwrap();
    git(&root, ["init", "--quiet", "--initial-branch=main"]);
    write(&root, "staged", "s");
    git(&root, ["add", "staged"]);
    write(&root, "untracked", "u");
    let repo = Repo::discover(&root).unwrap();
    let request = RescueRequest {
        repo: &repo,
        worktree: &root,
        branch: None,
        reason: "reset",
        include_ignored: false,
        delete_branch: false,
    };
    let rescue = store_if_needed(&request).unwrap().unwrap();
    assert_eq!(rescue.head, None);
    let before = WorktreeSnapshot::of(&root);
    git(&root, ["symbolic-ref", "HEAD", "refs/heads/other"]);
    let back = sandbox.root().join("back");
    let restored =
        restore(&repo, &rescue.id, RestoreInto::NewWorktree(&back), RestoreOptions::default()).unwrap();
    assert_eq!(restored.branch.to_string(), "on branch 'main', which has no commit yet");
    assert_eq!(WorktreeSnapshot::of(&back), before);
}

#[test]
fn rescue_restores_an_orphan_branch() {
    let scene = Scene::new();
    scene.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    scene.write("first", "x");
    scene.survives();
    assert_eq!(git(&scene.back(), ["symbolic-ref", "HEAD"]), "refs/heads/fresh");
}

#[test]
fn rescue_restores_commits_on_a_detached_head() {
    let scene = Scene::new();
    scene.git(&["checkout", "--quiet", "--detach"]);
    scene.write("a.txt", "on no branch\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "floating"]);
    let head = scene.git(&["rev-parse", "HEAD"]);
    let restored = scene.survives();
    assert_eq!(git(&scene.back(), ["rev-parse", "HEAD"]), head);
    assert_eq!(restored.branch.to_string(), "HEAD is detached, as before");
}

#[test]
fn rescue_lists_ignored_files_and_stores_them_only_on_request() {
    let scene = Scene::new();
    scene.write("a.txt", "changed\n");
    scene.write("debug.log", "log");
    scene.write("build/out/app", "binary");
    let rescue = scene.store();
    let mut left = rescue.ignored_left_behind;
    left.sort();
    assert_eq!(left, [PathBuf::from("build"), PathBuf::from("debug.log")]);

    let request = RescueRequest { include_ignored: true, ..scene.request() };
    let rescue = store_if_needed(&request).unwrap().unwrap();
    assert!(rescue.ignored_left_behind.is_empty());
    let before = WorktreeSnapshot::of(&scene.worktree);
    scene.remove();
    scene.restore(&rescue);
    assert_eq!(WorktreeSnapshot::of(&scene.back()), before);
}

#[test]
fn ignored_files_alone_need_a_rescue_only_on_request() {
    let scene = Scene::new();
    scene.write("debug.log", "log");
    assert!(scene.nothing_to_store());
    let request = RescueRequest { include_ignored: true, ..scene.request() };
    assert!(store_if_needed(&request).unwrap().is_some());
    assert_eq!(paw_worktree::rescue::find_ignored(&scene.worktree).unwrap(), [PathBuf::from("debug.log")]);
}

#[test]
fn rescue_restores_filtered_content_byte_for_byte() {
    let scene = Scene::with(|main| {
        main.commit_file(".gitattributes", "*.txt text\n*.up filter=upper\n", "attributes");
        main.commit_file("lines.txt", "a\nb\n", "lines");
        main.commit_file("x.up", "abc\n", "filtered");
    });
    scene.main.git(["config", "filter.upper.clean", "tr a-z A-Z"]);
    scene.write("lines.txt", "a\r\nb\r\nc\r\n");
    scene.write("new.txt", "mixed\r\nendings\n");
    scene.write("x.up", "changed to MiXeD\r\n");
    scene.write("new.up", "MiXeD\r\n");
    scene.survives();
}

#[test]
fn restore_writes_files_unfiltered_if_a_filter_fails() {
    let scene = Scene::with(|main| {
        main.commit_file(".gitattributes", "*.big filter=gone\n", "attributes");
        main.commit_file("a.big", "pointer\n", "pointer");
        main.commit_file("z.txt", "last\n", "last");
    });
    scene.write("new.big", "content");
    scene.write("z.txt", "changed\n");
    let rescue = scene.store();
    scene.remove();
    scene.main.git(["config", "filter.gone.smudge", "false"]);
    scene.main.git(["config", "filter.gone.required", "true"]);
    scene.restore(&rescue);
    let read = |name| fs::read_to_string(scene.back().join(name)).unwrap();
    assert_eq!(
        (read("a.big"), read("new.big"), read("z.txt")),
        ("pointer\n".into(), "content".into(), "changed\n".into())
    );
}

#[test]
fn storing_does_not_run_hooks() {
    let scene = Scene::new();
    let ran = scene.sandbox.root().join("ran");
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-checkout"] {
        let path = scene.main.root.join(".git/hooks").join(hook);
        write(&scene.main.root, &path, format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
        set_mode(&path, 0o755);
    }
    scene.write("a.txt", "changed\n");
    scene.store();
    assert!(!ran.exists());
}

#[test]
fn rescue_restores_a_sparse_checkout() {
    let scene = Scene::new();
    scene.git(&["sparse-checkout", "set", "--cone", "kept"]);
    assert!(!scene.worktree.join("dir").exists());
    scene.write("kept/new", "x");
    scene.write("a.txt", "changed\n");
    scene.survives();
    assert!(!scene.back().join("dir").exists());
    assert_eq!(git(&scene.back(), ["sparse-checkout", "list"]), "kept");
}

#[test]
fn rescue_restores_changes_in_assume_unchanged_and_skip_worktree_files() {
    let scene = Scene::new();
    scene.git(&["update-index", "--assume-unchanged", "a.txt"]);
    scene.git(&["update-index", "--skip-worktree", "dir/b.txt"]);
    assert!(scene.nothing_to_store());
    scene.write("a.txt", "mine\n");
    scene.write("dir/b.txt", "mine too\n");
    scene.survives();
}

#[test]
fn rescue_ignores_configuration_that_hides_changes() {
    let scene = Scene::new();
    scene.main.git(["config", "status.showUntrackedFiles", "no"]);
    scene.main.git(["config", "diff.ignoreSubmodules", "all"]);
    scene.main.git(["config", "status.relativePaths", "true"]);
    scene.main.git(["config", "core.quotePath", "true"]);
    scene.write("untracked", "x");
    scene.survives();
}

#[test]
fn rescue_restores_a_split_index() {
    let scene = Scene::new();
    scene.main.git(["config", "core.splitIndex", "true"]);
    scene.write("new", "x");
    scene.git(&["update-index", "--split-index"]);
    scene.git(&["add", "new"]);
    scene.write("a.txt", "changed\n");
    scene.survives();
}

#[test]
fn rescue_works_in_a_sha256_repository() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().join("long");
    fs::create_dir(&root).unwrap();
    git(&root, ["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    write(&root, "a", "1");
    git(&root, ["add", "a"]);
    git(&root, ["commit", "--quiet", "--message", "first"]);
    fs::remove_file(root.join("a")).unwrap();
    let repo = Repo::discover(&root).unwrap();
    let request = RescueRequest {
        repo: &repo,
        worktree: &root,
        branch: None,
        reason: "reset",
        include_ignored: false,
        delete_branch: false,
    };
    assert_eq!(store_if_needed(&request).unwrap().unwrap().commit.len(), 64);
}

#[test]
fn rescue_can_be_shown_by_plain_git() {
    let scene = Scene::new();
    scene.write("a.txt", "changed\n");
    scene.write("new", "untracked\n");
    let rescue = scene.store();
    let changed = scene.main.git(["diff", "--name-status", "feat/x", &rescue.reference]);
    assert_eq!(changed, "M\ta.txt\nA\tnew");
    assert_eq!(scene.main.git(["show", &format!("{}:new", rescue.reference)]), "untracked");
}

#[test]
fn rescue_skips_a_socket() {
    let scene = Scene::new();
    let _socket = std::os::unix::net::UnixListener::bind(scene.worktree.join("agent.sock")).unwrap();
    scene.write("a.txt", "changed\n");
    scene.survives();
}
