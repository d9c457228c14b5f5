//! Creating, listing, switching and removing worktrees.

use std::fs;

use paw_daemon::proto::{
    CreateWorktreeRequest, ListWorktreesRequest, RemoveWorktreeRequest, SwitchWorktreeRequest,
};
use paw_testkit::git;
use serde_json::json;
use tonic::Code;

use crate::world::{World, exists, told};

#[tokio::test(flavor = "multi_thread")]
async fn successful_creation_for_existing_branch() {
    let world = World::new();
    let daemon = world.daemon().await;
    let request = CreateWorktreeRequest { name: Some("auth-work".into()), ..world.request("feature/auth") };
    let made = daemon.create(request).await.unwrap();
    assert_eq!((made.name.as_str(), made.branch.as_str()), ("auth-work", "feature/auth"));
    assert_eq!(made.path, world.at("project-auth-work").display().to_string());
    assert_eq!(made.repo_path, world.repo.root.display().to_string());
    assert_eq!((made.status.as_str(), made.setup_status.as_str(), made.managed), ("active", "none", true));
    assert!(made.id.starts_with("wt_") && made.message.is_none() && made.created_at.is_some());
    assert_eq!(git(made.path.as_ref(), ["symbolic-ref", "HEAD"]), "refs/heads/feature/auth");
    assert_eq!(daemon.list().await, [made]);
}

#[tokio::test(flavor = "multi_thread")]
async fn successful_creation_with_new_branch() {
    let world = World::new();
    let daemon = world.daemon().await;
    let request = CreateWorktreeRequest { create_branch: true, ..world.request("feature/new-thing") };
    let made = daemon.create(request).await.unwrap();
    assert_eq!(made.path, world.at("project-new-thing").display().to_string());
    assert_eq!(daemon.list().await[0].branch, "feature/new-thing");
    assert_eq!(world.repo.git(["rev-parse", "feature/new-thing"]), world.repo.git(["rev-parse", "main"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_branch_already_checked_out() {
    let world = World::new();
    world.repo.git(["checkout", "--quiet", "develop"]);
    let daemon = world.daemon().await;
    let before = world.traces();
    let error = daemon.create(world.request("develop")).await.unwrap_err();
    let path = world.repo.root.display().to_string();
    let message = format!("Branch 'develop' is already checked out at '{path}'");
    assert_eq!(
        told(&error),
        ("ALREADY_EXISTS".into(), message, json!({ "branch": "develop", "path": path }))
    );
    assert_eq!((world.traces(), daemon.list().await.len()), (before, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_insufficient_disk_space() {
    let world = World::new();
    let daemon = world.daemon_with(&[("GIT_PAW_TEST_FREE_BYTES", "50000")]).await;
    let before = world.traces();
    let error = daemon.create(world.request("feature/auth")).await.unwrap_err();
    let details = json!({ "required_bytes": 1_048_582.0, "available_bytes": 50_000.0 });
    let message = "Insufficient disk space to create worktree".to_owned();
    assert_eq!(told(&error), ("RESOURCE_EXHAUSTED".into(), message, details));
    assert_eq!((world.traces(), daemon.list().await.len()), (before, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_path_already_exists() {
    let world = World::new();
    let path = world.at("project-auth-work");
    fs::create_dir(&path).unwrap();
    let daemon = world.daemon().await;
    let request = CreateWorktreeRequest { name: Some("auth-work".into()), ..world.request("feature/auth") };
    let error = daemon.create(request).await.unwrap_err();
    let message = format!("Path '{}' already exists", path.display());
    assert_eq!(
        told(&error),
        ("ALREADY_EXISTS".into(), message, json!({ "path": path.display().to_string() }))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_branch_does_not_exist() {
    let world = World::new();
    let daemon = world.daemon().await;
    let error = daemon.create(world.request("feature/nonexistent")).await.unwrap_err();
    let message = "Branch 'feature/nonexistent' does not exist".to_owned();
    assert_eq!(told(&error), ("NOT_FOUND".into(), message, json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_invalid_branch_name() {
    let world = World::new();
    let daemon = world.daemon().await;
    let request = CreateWorktreeRequest { create_branch: true, ..world.request("feature/bad..name") };
    let error = daemon.create(request).await.unwrap_err();
    let message = "Invalid branch name: 'feature/bad..name' contains '..'".to_owned();
    assert_eq!(told(&error), ("INVALID_ARGUMENT".into(), message, json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn fails_name_contains_path_separator() {
    let world = World::new();
    let daemon = world.daemon().await;
    let request = CreateWorktreeRequest { name: Some("foo/bar".into()), ..world.request("feature/auth") };
    let error = daemon.create(request).await.unwrap_err();
    let message = "Worktree name cannot contain path separators".to_owned();
    assert_eq!(told(&error), ("INVALID_ARGUMENT".into(), message, json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn atomicity_git_failure_rolls_back() {
    let world = World::new();
    world.repo.commit_file(".gitattributes", "*.bin filter=broken\n", "attributes");
    world.repo.commit_file("a.bin", "x", "binary");
    world.repo.git(["config", "filter.broken.smudge", "false"]);
    world.repo.git(["config", "filter.broken.required", "true"]);
    let daemon = world.daemon().await;
    let before = world.traces();
    let request = CreateWorktreeRequest { create_branch: true, ..world.request("feature/new-thing") };
    let (code, message, details) = told(&daemon.create(request).await.unwrap_err());
    assert_eq!((code.as_str(), message.as_str()), ("INTERNAL", "Git worktree creation failed"));
    assert!(details["stderr"].as_str().unwrap().contains("smudge filter broken failed"), "{details}");
    assert_eq!((world.traces(), daemon.list().await.len()), (before, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_paths_must_be_absolute() {
    let world = World::new();
    let daemon = world.daemon().await;
    let mut request = world.request("develop");
    request.repo_path = "project".into();
    let message = "Repository path must be absolute: 'project'".to_owned();
    let expected = ("INVALID_ARGUMENT".to_owned(), message, json!({ "path": "project" }));
    assert_eq!(told(&daemon.create(request).await.unwrap_err()), expected);
    let list = ListWorktreesRequest { repo_path: "project".into() };
    let error = daemon.client.worktrees.clone().list_worktrees(list).await.unwrap_err();
    assert_eq!(told(&error), expected);
    let error = daemon.create(CreateWorktreeRequest::default()).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::InvalidArgument, "Repository path is required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees_created_by_plain_git_are_listed_as_unmanaged() {
    let world = World::new();
    world.repo.git(["worktree", "add", "--quiet", "../project-by-hand", "develop"]);
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("feature/auth")).await.unwrap();
    let request = ListWorktreesRequest { repo_path: made.path.clone() };
    let listed =
        daemon.client.worktrees.clone().list_worktrees(request).await.unwrap().into_inner().worktrees;
    let shown: Vec<_> =
        listed.iter().map(|tree| (tree.name.as_str(), tree.managed, tree.id.is_empty())).collect();
    assert_eq!(shown, [("auth", true, false), ("by-hand", false, true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_returns_the_previous_worktree() {
    let world = World::new();
    let daemon = world.daemon().await;
    let one = daemon.create(world.request("develop")).await.unwrap();
    let two = daemon.create(world.request("feature/auth")).await.unwrap();
    let switch = |id: &str| {
        let request = SwitchWorktreeRequest { worktree_id: id.to_owned() };
        let mut client = daemon.client.worktrees.clone();
        async move { client.switch_worktree(request).await.map(tonic::Response::into_inner) }
    };
    let first = switch(&one.id).await.unwrap();
    assert_eq!((first.worktree.unwrap().path, first.previous_worktree_id), (one.path, None));
    let second = switch("auth").await.unwrap();
    assert_eq!((second.worktree.unwrap().id, second.previous_worktree_id), (two.id, Some(one.id)));
    let error = switch("wt_none").await.unwrap_err();
    assert_eq!(told(&error), ("NOT_FOUND".into(), "Worktree 'wt_none' does not exist".into(), json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_dirty_worktree_requires_force_and_rescues_its_work() {
    let world = World::new();
    let daemon = world.daemon().await;
    let made = daemon.create(world.request("develop")).await.unwrap();
    fs::write(format!("{}/notes.txt", made.path), "keep me\n").unwrap();
    let remove = |force| {
        let request = RemoveWorktreeRequest { worktree_id: made.id.clone(), force };
        let mut client = daemon.client.worktrees.clone();
        async move { client.remove_worktree(request).await.map(tonic::Response::into_inner) }
    };
    let (code, message, details) = told(&remove(false).await.unwrap_err());
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("FAILED_PRECONDITION", "Worktree has uncommitted changes")
    );
    assert_eq!(details, json!({ "files": ["notes.txt"] }));
    let removed = remove(true).await.unwrap();
    assert!(removed.removed && !exists(&made.path));
    let rescue = removed.rescue.unwrap();
    assert!(rescue.starts_with("refs/paw/rescue/"), "{rescue}");
    world.repo.git(["rev-parse", "--verify", &rescue]);
    assert_eq!(daemon.list().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_creations_all_succeed() {
    let world = World::new();
    let daemon = world.daemon().await;
    let requests =
        (0..8).map(|n| CreateWorktreeRequest { create_branch: true, ..world.request(&format!("many/b{n}")) });
    let calls: Vec<_> = requests
        .map(|request| {
            let mut client = daemon.client.worktrees.clone();
            tokio::spawn(async move { client.create_worktree(request).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(daemon.list().await.len(), 8);
}
