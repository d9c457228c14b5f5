//! Worktree creation: the scenarios of the specification, and more.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use paw_core::Diagnostic as _;
use paw_testkit::{TestRepo, git};
use paw_worktree::{CreateRequest, WorktreeError, WorktreeStatus};
use serde_json::json;

use crate::world::{World, is_clean};

fn code_and_message(error: &WorktreeError) -> (&'static str, String) {
    (error.report().code.as_str(), error.report().message)
}

#[test]
fn successful_creation_for_existing_branch() {
    let world = World::new();
    let request = CreateRequest { name: Some("auth-work".into()), ..world.request("feature/auth") };
    let created = world.worktrees().create(&request, &mut |_| {}).unwrap();
    let path = world.sibling("project-auth-work");
    let row = &created.worktree;
    assert_eq!((row.name.as_str(), &row.path, row.branch.as_str()), ("auth-work", &path, "feature/auth"));
    assert_eq!((row.status, row.created_branch), (WorktreeStatus::Active, false));
    assert_eq!(fs::read_to_string(path.join("README.md")).unwrap(), "hello\n");
    assert_eq!(git(&path, ["symbolic-ref", "HEAD"]), "refs/heads/feature/auth");
    assert!(is_clean(&path));
    assert_eq!(world.worktrees().list(Some(&world.repo.root)).unwrap().worktrees, std::slice::from_ref(row));
}

#[test]
fn successful_creation_with_new_branch() {
    let world = World::new();
    let request = CreateRequest { create_branch: true, ..world.request("feature/new-thing") };
    let created = world.worktrees().create(&request, &mut |_| {}).unwrap();
    assert_eq!(created.worktree.path, world.sibling("project-new-thing"));
    assert!(created.worktree.created_branch);
    assert_eq!(world.repo.git(["rev-parse", "feature/new-thing"]), world.repo.git(["rev-parse", "main"]));
    assert_eq!(world.worktrees().list(None).unwrap().worktrees[0].branch.as_str(), "feature/new-thing");
}

#[test]
fn fails_branch_already_checked_out() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "develop"]);
    let before = world.traces();
    let error = world.create("develop").unwrap_err();
    let message = format!("Branch 'develop' is already checked out at '{}'", world.repo.root.display());
    assert_eq!(code_and_message(&error), ("ALREADY_EXISTS", message));
    assert_eq!(world.traces(), before);
}

#[test]
fn fails_insufficient_disk_space() {
    let world = World::new();
    world.repo.commit_file("large", &"x".repeat(100_000), "large");
    world.repo.git(["branch", "--force", "feature/auth", "main"]);
    let before = world.traces();
    let worktrees = world.worktrees().with_free_bytes(|_| Ok(50_000));
    let error = worktrees.create(&world.request("feature/auth"), &mut |_| {}).unwrap_err();
    assert_eq!(
        code_and_message(&error),
        ("RESOURCE_EXHAUSTED", "Insufficient disk space to create worktree".into())
    );
    let blobs = 100_000 + 6;
    let required = blobs + blobs / 20 + 1024 * 1024;
    assert_eq!(error.report().details, json!({ "required_bytes": required, "available_bytes": 50_000 }));
    assert_eq!(world.traces(), before);
}

#[test]
fn branch_far_larger_than_main_fails_for_lack_of_disk_space() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "feature/auth"]);
    for n in 0..4 {
        world.repo.commit_file(&format!("large-{n}"), &n.to_string().repeat(1 << 20), "large");
    }
    world.repo.git(["checkout", "--quiet", "main"]);
    let before = world.traces();
    // Plenty for main, which has six bytes.
    let worktrees = world.worktrees().with_free_bytes(|_| Ok(5 << 20));
    let error = worktrees.create(&world.request("feature/auth"), &mut |_| {}).unwrap_err();
    assert_eq!(code_and_message(&error).0, "RESOURCE_EXHAUSTED");
    assert_eq!(world.traces(), before);
    let worktrees = world.worktrees().with_free_bytes(|_| Ok(6 << 20));
    worktrees.create(&world.request("feature/auth"), &mut |_| {}).unwrap();
}

#[test]
fn files_that_main_has_staged_for_deletion_count_for_a_new_branch() {
    let world = World::new();
    world.repo.commit_file("large", &"x".repeat(4 << 20), "large");
    world.repo.git(["rm", "--quiet", "large"]);
    let worktrees = world.worktrees().with_free_bytes(|_| Ok(4 << 20));
    let request = CreateRequest { create_branch: true, ..world.request("topic") };
    let error = worktrees.create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(code_and_message(&error).0, "RESOURCE_EXHAUSTED");
}

#[test]
fn create_succeeds_with_just_enough_disk_space() {
    let world = World::new();
    let worktrees = world.worktrees().with_free_bytes(|_| Ok(6 + 1024 * 1024));
    worktrees.create(&world.request("feature/auth"), &mut |_| {}).unwrap();
}

#[test]
fn fails_path_already_exists() {
    let world = World::new();
    let path = world.sibling("project-auth-work");
    fs::create_dir(&path).unwrap();
    let before = world.traces();
    let request = CreateRequest { name: Some("auth-work".into()), ..world.request("feature/auth") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(
        code_and_message(&error),
        ("ALREADY_EXISTS", format!("Path '{}' already exists", path.display()))
    );
    assert_eq!(world.traces(), before);
}

#[test]
fn fails_branch_does_not_exist() {
    let world = World::new();
    let before = world.traces();
    let error = world.create("feature/nonexistent").unwrap_err();
    assert_eq!(code_and_message(&error), ("NOT_FOUND", "Branch 'feature/nonexistent' does not exist".into()));
    assert_eq!(world.traces(), before);
}

#[test]
fn create_refuses_a_branch_that_exists_only_on_a_remote() {
    let world = World::new();
    let clone = TestRepo::clone_of(&world.repo.root, world.sibling("clone"));
    let error =
        world.worktrees().create(&CreateRequest::new(&clone.root, "feature/auth"), &mut |_| {}).unwrap_err();
    assert_eq!(code_and_message(&error), ("NOT_FOUND", "Branch 'feature/auth' does not exist".into()));
}

#[test]
fn fails_invalid_branch_name() {
    let world = World::new();
    let request = CreateRequest { create_branch: true, ..world.request("feature/bad..name") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    let message = "Invalid branch name: 'feature/bad..name' contains '..'";
    assert_eq!(code_and_message(&error), ("INVALID_ARGUMENT", message.into()));
}

#[test]
fn fails_name_contains_path_separator() {
    let world = World::new();
    let request = CreateRequest { name: Some("foo/bar".into()), ..world.request("feature/auth") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(
        code_and_message(&error),
        ("INVALID_ARGUMENT", "Worktree name cannot contain path separators".into())
    );
}

#[test]
fn atomicity_git_failure_rolls_back() {
    let world = World::new();
    // A required filter that fails makes the checkout fail halfway.
    world.repo.commit_file(".gitattributes", "*.bin filter=broken\n", "attributes");
    world.repo.commit_file("a.bin", "x", "binary");
    world.repo.git(["config", "filter.broken.smudge", "false"]);
    world.repo.git(["config", "filter.broken.required", "true"]);
    let before = world.traces();
    let request = CreateRequest {
        create_branch: true,
        path: Some(world.sibling("deep/er/tree")),
        ..world.request("feature/new-thing")
    };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(code_and_message(&error), ("INTERNAL", "Git worktree creation failed".into()));
    let stderr = error.report().details["stderr"].as_str().unwrap().to_owned();
    assert!(stderr.contains("smudge filter broken failed"), "{stderr}");
    assert_eq!(world.traces(), before);
    assert!(!world.repo.root.join(".git/worktrees").exists());
}

#[test]
fn create_rolls_back_after_a_failing_post_checkout_hook() {
    let world = World::new();
    install_hook(&world.repo, "#!/bin/sh\necho no >&2\ntouch junk\nexit 3\n");
    let before = world.traces();
    let request = CreateRequest { create_branch: true, ..world.request("feature/new-thing") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(code_and_message(&error), ("INTERNAL", "Git worktree creation failed".into()));
    assert_eq!(error.report().details, json!({ "stderr": "no" }));
    assert_eq!(world.traces(), before);
}

#[test]
fn create_refuses_a_new_branch_that_exists_or_conflicts() {
    let world = World::new();
    for (name, message) in [
        ("feature/auth", "Branch 'feature/auth' already exists"),
        ("feature", "Branch 'feature' conflicts with the existing branch 'feature/auth'"),
        (
            "feature/auth/deeper",
            "Branch 'feature/auth/deeper' conflicts with the existing branch 'feature/auth'",
        ),
    ] {
        let request = CreateRequest { create_branch: true, ..world.request(name) };
        let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
        assert_eq!(code_and_message(&error), ("ALREADY_EXISTS", message.into()));
    }
}

#[test]
fn create_refuses_a_path_that_is_not_a_repository() {
    let world = World::new();
    let refuse = |path: &Path| {
        let error = world.worktrees().create(&CreateRequest::new(path, "x"), &mut |_| {}).unwrap_err();
        (error.report().code.as_str(), world.sandbox.redact(&error.report().message))
    };
    assert_eq!(refuse(Path::new("")), ("INVALID_ARGUMENT", "Repository path is required".into()));
    let gone = ("NOT_FOUND", "Repository path '[SANDBOX]/gone' does not exist".into());
    assert_eq!(refuse(&world.sibling("gone")), gone);
    let other = ("INVALID_ARGUMENT", "'[SANDBOX]/home' is not a git repository".into());
    assert_eq!(refuse(&world.sibling("home")), other);
    world.repo.git(["init", "--quiet", "../empty"]);
    let request = CreateRequest { create_branch: true, ..CreateRequest::new(world.sibling("empty"), "x") };
    let error = world.worktrees().create(&request, &mut |_| {}).unwrap_err();
    assert_eq!(error.report().code.as_str(), "FAILED_PRECONDITION");
}

#[test]
fn create_from_a_linked_worktree_or_symlink_uses_the_main_repository() {
    let world = World::new();
    let first = world.create("feature/auth").unwrap().worktree;
    let link = world.sibling("link");
    std::os::unix::fs::symlink(&world.repo.root, &link).unwrap();
    let second = CreateRequest::new(&first.path, "develop");
    let second = world.worktrees().create(&second, &mut |_| {}).unwrap().worktree;
    assert_eq!((second.path, &second.repo), (world.sibling("project-develop"), &world.repo.root));
    let third = CreateRequest { create_branch: true, ..CreateRequest::new(&link, "third") };
    let third = world.worktrees().create(&third, &mut |_| {}).unwrap().worktree;
    assert_eq!((third.path, &third.repo), (world.sibling("project-third"), &world.repo.root));
    for dir in [&world.repo.root, &link, &first.path] {
        let listing = world.worktrees().list(Some(dir)).unwrap();
        assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (3, 0), "{}", dir.display());
    }
}

#[test]
fn relative_worktree_path_starts_at_the_repository() {
    let world = World::new();
    let request = CreateRequest { path: Some("../elsewhere/tree".into()), ..world.request("develop") };
    let created = world.worktrees().create(&request, &mut |_| {}).unwrap();
    assert_eq!(created.worktree.path, world.sibling("elsewhere/tree"));
}

/// Compares with `git worktree add`: index, configuration, HEAD, reflog and git's admin files.
#[test]
fn created_worktree_equals_one_created_by_git() {
    let world = World::new();
    world.repo.commit_file("dir/file", "text\n", "more");
    for branch in ["develop", "feature/auth"] {
        world.repo.git(["branch", "--force", branch, "main"]);
    }
    let log = world.sibling("hook.log");
    let hook = format!(
        "#!/bin/sh\n{{ echo \"$@\"; basename \"$PWD\"; echo \"dir=${{GIT_DIR-unset}}\"; }} >> {}\n",
        log.display()
    );
    install_hook(&world.repo, &hook);
    world.repo.git(["worktree", "add", "--quiet", "../project-auth", "feature/auth"]);
    let by_git = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    world.create("develop").unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap().replace("develop", "auth"), by_git);

    let (theirs, ours) = (world.sibling("project-auth"), world.sibling("project-develop"));
    for args in [
        &["ls-files", "--stage", "--debug"][..],
        &["status", "--porcelain=v2", "--ignored"],
        &["config", "--list", "--local"],
        &["reflog", "show", "--format=%H %gs", "HEAD"],
        &["rev-parse", "HEAD", "ORIG_HEAD"],
    ] {
        let output = |dir: &Path| {
            let text = git(dir, args);
            let stable = text
                .lines()
                .filter(|line| !["ctime", "mtime", "dev:", "uid:"].iter().any(|no| line.contains(no)));
            stable.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(output(&theirs), output(&ours), "{args:?}");
    }
    let files = |name: &str| {
        let dir = world.repo.root.join(".git/worktrees").join(name);
        let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files
    };
    assert_eq!(files("project-auth"), files("project-develop"));
}

#[test]
fn post_checkout_hook_is_found_through_core_hooks_path() {
    let world = World::new();
    world.repo.commit_file("hooks/post-checkout", "#!/bin/sh\ntouch ran\n", "hook");
    let hook = world.repo.root.join("hooks/post-checkout");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.repo.git(["commit", "--quiet", "--all", "--message", "mode"]);
    world.repo.git(["branch", "--force", "develop", "main"]);
    world.repo.git(["config", "core.hooksPath", "hooks"]);
    let created = world.create("develop").unwrap();
    assert!(created.worktree.path.join("ran").exists());
}

#[test]
fn checkout_applies_the_filters_of_the_repository() {
    let world = World::new();
    world.repo.git(["config", "filter.shout.clean", "tr A-Z a-z"]);
    world.repo.git(["config", "filter.shout.smudge", "tr a-z A-Z"]);
    world.repo.commit_file(".gitattributes", "*.loud filter=shout\n", "attributes");
    world.repo.commit_file("x.loud", "HELLO\n", "loud");
    world.repo.git(["branch", "--force", "develop", "main"]);
    let created = world.create("develop").unwrap();
    assert_eq!(fs::read_to_string(created.worktree.path.join("x.loud")).unwrap(), "HELLO\n");
    assert_eq!(git(&created.worktree.path, ["show", "HEAD:x.loud"]), "hello");
    assert!(is_clean(&created.worktree.path));
}

#[test]
fn created_worktree_keeps_a_sparse_checkout() {
    let world = World::new();
    world.repo.commit_file("in/file", "x", "in");
    world.repo.commit_file("out/file", "x", "out");
    world.repo.git(["branch", "--force", "develop", "main"]);
    world.repo.git(["sparse-checkout", "set", "in"]);
    let created = world.create("develop").unwrap();
    let path = created.worktree.path;
    assert!(path.join("in/file").exists() && !path.join("out/file").exists());
    assert!(is_clean(&path));
}

#[test]
fn submodules_are_copied_from_the_main_checkout_without_network() {
    let world = World::new();
    let inner = world.sandbox.repo("inner");
    let library = world.sandbox.repo("library");
    library.add_submodule(&inner.root, "deep/inner");
    world.repo.add_submodule(&library.root, "lib");
    world.repo.add_submodule(&inner.root, "unused");
    world.repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
        "--recursive",
        "lib",
    ]);
    world.repo.git(["submodule", "--quiet", "deinit", "--force", "unused"]);
    world.repo.git(["branch", "--force", "develop", "main"]);
    // The remotes are unreachable now.
    for repo in [&inner, &library] {
        fs::rename(&repo.root, repo.root.with_extension("gone")).unwrap();
    }
    let created = world.create("develop").unwrap();
    assert_eq!(created.notes, Vec::<String>::new());
    let path = created.worktree.path;
    assert!(path.join("lib/README.md").exists() && path.join("lib/deep/inner/README.md").exists());
    assert!(!path.join("unused/README.md").exists());
    assert!(is_clean(&path));
    let url = git(&path.join("lib"), ["config", "remote.origin.url"]);
    assert_eq!(url, library.root.display().to_string());
}

#[test]
fn worktree_of_a_bare_repository_is_created_next_to_it() {
    let world = World::new();
    world.repo.git(["clone", "--quiet", "--bare", ".", "../app.git"]);
    let request = CreateRequest::new(world.sibling("app.git"), "develop");
    let created = world.worktrees().create(&request, &mut |_| {}).unwrap();
    assert_eq!(created.worktree.path, world.sibling("app-develop"));
    let listing = world.worktrees().list(Some(&world.sibling("app.git"))).unwrap();
    assert_eq!((listing.worktrees.len(), listing.unmanaged.len()), (1, 0));
}

fn install_hook(repo: &TestRepo, script: &str) {
    repo.write(".git/hooks/post-checkout", script);
    let hook = repo.root.join(".git/hooks/post-checkout");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
}
