//! Removing, switching, adopting and pruning worktrees.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use paw_core::Diagnostic as _;
use paw_host::clock;
use paw_host::process::{self, Command};
use paw_testkit::{TestRepo, git, wait_until};
use paw_worktree::rescue::{self, RestoreInto, RestoreOptions};
use paw_worktree::{
    ConversationStatus, CreateRequest, ManagedWorktree, RemoveOptions, RemovedWorktree, WorktreeError,
    WorktreeStatus,
};

use crate::log::warnings;
use crate::world::World;

const FORCE: RemoveOptions = RemoveOptions { force: true, delete_branch: false, include_ignored: false };

fn remove(
    world: &World,
    row: &ManagedWorktree,
    options: RemoveOptions,
) -> Result<RemovedWorktree, WorktreeError> {
    world.worktrees().remove(row.id.as_str(), None, options)
}

#[test]
fn remove_deletes_a_clean_worktree_and_keeps_its_branch() {
    let world = World::new();
    let before = world.traces();
    let request = CreateRequest { path: Some("../deep/er/tree".into()), ..world.request("feature/auth") };
    let row = world.worktrees().create(&request, &mut |_| {}).unwrap().worktree;
    let removed = remove(&world, &row, RemoveOptions::default()).unwrap();
    assert_eq!((removed.sessions_closed, removed.rescue, removed.branch_deleted), (0, None, false));
    assert_eq!(world.traces(), before);
}

#[test]
fn remove_keeps_a_dirty_worktree_and_rescues_it_with_force() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    fs::write(row.path.join("new file"), "work").unwrap();
    fs::write(row.path.join("README.md"), "changed").unwrap();
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert_eq!(
        (error.report().code.as_str(), error.report().message.as_str()),
        ("FAILED_PRECONDITION", "Worktree has uncommitted changes")
    );
    assert_eq!(error.report().details, serde_json::json!({ "files": ["README.md", "new file"] }));
    assert!(row.path.join("new file").exists());
    let removed = remove(&world, &row, FORCE).unwrap();
    let reference = removed.rescue.unwrap().reference;
    assert!(!row.path.exists());
    assert_eq!(world.repo.git(["show", &format!("{reference}:new file")]), "work");
    assert_eq!(world.repo.git(["show", &format!("{reference}:README.md")]), "changed");
}

#[test]
fn remove_rescues_an_unmerged_branch_before_deleting_it() {
    let world = World::new();
    let request = CreateRequest { create_branch: true, ..world.request("topic") };
    let row = world.worktrees().create(&request, &mut |_| {}).unwrap().worktree;
    fs::write(row.path.join("x"), "x").unwrap();
    git(&row.path, ["add", "x"]);
    git(&row.path, ["commit", "--quiet", "--message", "work"]);
    let tip = git(&row.path, ["rev-parse", "HEAD"]);
    let removed =
        remove(&world, &row, RemoveOptions { delete_branch: true, ..RemoveOptions::default() }).unwrap();
    assert!(removed.branch_deleted);
    assert_eq!(world.repo.git(["branch", "--list", "topic"]), "");
    let reference = removed.rescue.unwrap().reference;
    world.repo.git(["merge-base", "--is-ancestor", &tip, &reference]);
}

#[test]
fn remove_deletes_a_merged_branch_but_never_the_default_branch() {
    let world = World::new();
    let both = RemoveOptions { delete_branch: true, ..RemoveOptions::default() };
    let row = world.create("feature/auth").unwrap().worktree;
    let removed = remove(&world, &row, both).unwrap();
    assert!(removed.branch_deleted && removed.rescue.is_none());
    world.repo.git(["checkout", "--quiet", "develop"]);
    let row = world.create("main").unwrap().worktree;
    let removed = remove(&world, &row, both).unwrap();
    assert_eq!(
        (removed.branch_deleted, removed.notes),
        (false, vec!["branch 'main' was kept: it is the default branch".into()])
    );
}

#[test]
fn remove_deletes_only_the_branch_the_worktree_was_created_for() {
    let both = RemoveOptions { delete_branch: true, ..RemoveOptions::default() };
    for (checkout, problem) in [
        (&["-b", "other"][..], "its worktree had 'other' checked out, which was kept too"),
        (&["--detach"], "its worktree had no branch checked out"),
    ] {
        let world = World::new();
        let row = world.create("feature/auth").unwrap().worktree;
        git(&row.path, [&["checkout", "--quiet"], checkout].concat());
        let branches = world.traces().branches;
        let removed = remove(&world, &row, both).unwrap();
        assert_eq!(
            (removed.branch_deleted, removed.notes),
            (false, vec![format!("branch 'feature/auth' was kept: {problem}")])
        );
        assert_eq!(world.traces().branches, branches);
    }
}

#[test]
fn remove_reports_deleted_ignored_files_even_without_a_rescue() {
    let world = World::new();
    fs::write(world.repo.root.join(".git/info/exclude"), "/.env\n").unwrap();
    for options in [RemoveOptions::default(), FORCE] {
        let row = world.create("feature/auth").unwrap().worktree;
        fs::write(row.path.join(".env"), "secret").unwrap();
        let removed = remove(&world, &row, options).unwrap();
        assert_eq!((removed.rescue, removed.ignored_left_behind), (None, vec![".env".into()]));
    }
}

#[test]
fn remove_names_the_file_it_cannot_delete() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let stuck = row.path.join("stuck");
    fs::create_dir(&stuck).unwrap();
    fs::write(stuck.join("file"), "x").unwrap();
    fs::set_permissions(&stuck, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(stuck.join("probe"), "x").is_ok() {
        // Root ignores permissions.
        remove(&world, &row, FORCE).unwrap();
        assert!(!row.path.exists());
        return;
    }
    let error = remove(&world, &row, FORCE).unwrap_err();
    assert_eq!(error.report().message, "Git worktree removal failed");
    assert!(error.to_string().ends_with("project-auth/stuck/file"), "{error}");
    let rows = world.worktrees().list(None).unwrap().worktrees;
    assert_eq!((rows.len(), rows[0].status), (1, WorktreeStatus::Broken), "{rows:?}");
    fs::set_permissions(&stuck, fs::Permissions::from_mode(0o755)).unwrap();
    let removed = remove(&world, &row, FORCE).unwrap();
    assert!(removed.notes[0].ends_with("was left unchanged"), "{:?}", removed.notes);
}

#[test]
fn remove_deletes_a_locked_worktree_only_with_force() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    world.repo.git(["worktree", "lock", row.path.to_str().unwrap()]);
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert_eq!(
        (error.report().code.as_str(), error.report().message.as_str()),
        ("FAILED_PRECONDITION", "Worktree is locked")
    );
    remove(&world, &row, FORCE).unwrap();
    assert!(!row.path.exists());
}

#[test]
fn remove_names_running_processes_and_ends_them_with_force() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let dir = row.path.clone();
    let sleeper = std::thread::spawn(move || Command::new("sleep").arg("600").dir(dir).capture().unwrap());
    wait_until("the process runs in the worktree", || {
        (!process::processes_in(&row.path).is_empty()).then_some(())
    });
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert!(
        error.report().details["processes"][0].as_str().unwrap().starts_with("sleep 600 (pid "),
        "{}",
        error.report().details
    );
    let removed = remove(&world, &row, FORCE).unwrap();
    assert_eq!(removed.ended.len(), 1);
    assert!(!sleeper.join().unwrap().exit.success());
}

#[test]
fn remove_does_not_end_a_tmux_server_started_in_the_worktree() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let root = world.sandbox.root();
    let session = |name| ["new-session", "-d", "-s", name, "-c", root.to_str().unwrap(), "sleep 600"];
    let started = world.sandbox.run(&row.path, "tmux", session("elsewhere"));
    assert_eq!(started.code, 0, "{started}");
    assert_eq!(world.sandbox.tmux(session("another")).code, 0);
    let removed = remove(&world, &row, FORCE).unwrap();
    assert_eq!((removed.ended.len(), row.path.exists()), (0, false));
    for name in ["elsewhere", "another"] {
        assert_eq!(world.sandbox.tmux(["has-session", "-t", name]).code, 0, "{name}");
    }
}

#[test]
fn remove_waits_for_a_short_lived_process() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let dir = row.path.clone();
    let short_lived =
        std::thread::spawn(move || Command::new("sleep").arg("0.2").dir(dir).capture().unwrap());
    wait_until("the process runs in the worktree", || {
        (short_lived.is_finished() || !process::processes_in(&row.path).is_empty()).then_some(())
    });
    remove(&world, &row, RemoveOptions::default()).unwrap();
    assert!(!row.path.exists() && short_lived.join().unwrap().exit.success());
}

#[test]
fn remove_refuses_during_a_turn_and_closes_conversations_with_force() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let worktrees = world.worktrees();
    let now = clock::now();
    let conversation = worktrees.registry().start_conversation(&row.id, "claude", None, now).unwrap();
    worktrees.registry().start_conversation(&row.id, "claude", None, now).unwrap();
    assert!(
        worktrees
            .registry()
            .set_conversation_status(&conversation.id, ConversationStatus::Active, now)
            .unwrap()
    );
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert_eq!(error.report().details, serde_json::json!({ "conversations": [conversation.id] }));
    assert_eq!(remove(&world, &row, FORCE).unwrap().sessions_closed, 2);
    let conversation = worktrees.registry().require_conversation(conversation.id.as_str()).unwrap();
    assert_eq!((conversation.status, conversation.worktree), (ConversationStatus::Closed, None));
    assert!(
        !worktrees
            .registry()
            .set_conversation_status(&conversation.id, ConversationStatus::Active, now)
            .unwrap()
    );
}

#[test]
fn remove_refuses_for_a_turn_before_it_waits_for_the_processes_of_that_turn() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    let worktrees = world.worktrees();
    let now = clock::now();
    let conversation = worktrees.registry().start_conversation(&row.id, "claude", None, now).unwrap();
    worktrees.registry().set_conversation_status(&conversation.id, ConversationStatus::Active, now).unwrap();
    let dir = row.path.clone();
    let turn = std::thread::spawn(move || Command::new("sleep").arg("600").dir(dir).capture().unwrap());
    wait_until("the turn runs in the worktree", || {
        (!process::processes_in(&row.path).is_empty()).then_some(())
    });
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert!(matches!(error, WorktreeError::HasActiveConversation { .. }), "{error}");
    remove(&world, &row, FORCE).unwrap();
    assert!(!turn.join().unwrap().exit.success(), "--force ended it");
}

#[test]
fn remove_keeps_a_worktree_with_a_dirty_submodule() {
    let world = World::new();
    let library = world.sandbox.repo("library");
    world.repo.add_submodule(&library.root, "lib");
    world.repo.git(["branch", "--force", "develop", "main"]);
    // Configuration that hides a dirty submodule must not hide it from the removal.
    world.repo.git(["config", "submodule.lib.ignore", "all"]);
    let row = world.create("develop").unwrap().worktree;
    fs::write(row.path.join("lib/scratch"), "x").unwrap();
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert!(matches!(error, WorktreeError::Dirty { .. }), "{error}");
    fs::remove_file(row.path.join("lib/scratch")).unwrap();
    remove(&world, &row, RemoveOptions::default()).unwrap();
    assert!(!row.path.exists());
}

#[test]
fn remove_refuses_a_worktree_that_contains_another() {
    let world = World::new();
    let outer = world.create("feature/auth").unwrap().worktree;
    fs::write(world.repo.root.join(".git/info/exclude"), "/.worktrees/\n").unwrap();
    let request = CreateRequest { path: Some(outer.path.join(".worktrees/b")), ..world.request("develop") };
    let inner = world.worktrees().create(&request, &mut |_| {}).unwrap().worktree;
    fs::write(inner.path.join("work"), "work").unwrap();
    for options in [RemoveOptions::default(), FORCE] {
        let error = remove(&world, &outer, options).unwrap_err();
        assert_eq!(
            (error.report().code.as_str(), error.report().details),
            ("FAILED_PRECONDITION", serde_json::json!({ "worktrees": [inner.path] }))
        );
        assert!(inner.path.join("work").exists());
    }
    remove(&world, &inner, FORCE).unwrap();
    remove(&world, &outer, RemoveOptions::default()).unwrap();
    assert!(!outer.path.exists());
}

/// A worktree with a clone of another repository in an ignored directory.
struct WithClone {
    world: World,
    row: ManagedWorktree,
    library: TestRepo,
    clone: PathBuf,
}

impl WithClone {
    fn at(path: &str) -> Self {
        let world = World::new();
        let row = world.create("feature/auth").unwrap().worktree;
        fs::write(world.repo.root.join(".git/info/exclude"), "/deps/\n").unwrap();
        let library = world.sandbox.repo("library");
        let clone = row.path.join(path);
        world.repo.git(["clone", "--quiet", library.root.to_str().unwrap(), clone.to_str().unwrap()]);
        Self { world, row, library, clone }
    }
}

#[test]
fn remove_rescues_a_repository_in_an_ignored_directory() {
    let WithClone { world, row, clone, .. } = WithClone::at("deps/deep/library");
    fs::create_dir_all(row.path.join("deps/package")).unwrap();
    fs::write(row.path.join("deps/package/.git"), "gitdir: ../nowhere\n").unwrap();
    git(&clone, ["commit", "--quiet", "--allow-empty", "--message", "nowhere else"]);
    let tip = git(&clone, ["rev-parse", "HEAD"]);
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert_eq!(error.report().details, serde_json::json!({ "files": ["deps/deep/library"] }));
    let rescue = remove(&world, &row, FORCE).unwrap().rescue.unwrap();
    let back = world.sibling("back");
    let repo = paw_host::git::Repo::discover(&world.repo.root).unwrap();
    let into = RestoreInto::NewWorktree(&back);
    rescue::restore(&repo, &rescue.id, into, RestoreOptions::default()).unwrap();
    assert_eq!(git(&back.join("deps/deep/library"), ["rev-parse", "HEAD"]), tip);
}

#[test]
fn remove_ignores_an_unmodified_clone_in_an_ignored_directory() {
    let WithClone { world, row, .. } = WithClone::at("deps/library");
    assert_eq!(remove(&world, &row, RemoveOptions::default()).unwrap().rescue, None);
    assert!(!row.path.exists());
}

#[test]
fn remove_does_not_run_filters_of_a_repository_in_an_ignored_directory() {
    let WithClone { world, row, library, clone } = WithClone::at("deps/library");
    let ran = world.sandbox.root().join("ran");
    git(&clone, ["config", "filter.evil.clean", &format!("touch '{}'; cat", ran.display())]);
    fs::write(clone.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    fs::write(clone.join("README.md"), fs::read(library.root.join("README.md")).unwrap()).unwrap();
    let error = remove(&world, &row, RemoveOptions::default()).unwrap_err();
    assert_eq!(error.report().details, serde_json::json!({ "files": ["deps/library"] }));
    assert!(remove(&world, &row, FORCE).unwrap().rescue.is_some());
    assert!(!ran.exists(), "the removal ran a program that an agent configured");
}

#[test]
fn switch_returns_the_previous_worktree() {
    let world = World::new();
    let auth = world.create("feature/auth").unwrap().worktree;
    let develop = world.create("develop").unwrap().worktree;
    let worktrees = world.worktrees();
    let first = worktrees.switch("auth", None).unwrap();
    assert_eq!((first.worktree.path, first.previous_worktree_id), (auth.path.clone(), None));
    let second = worktrees.switch(develop.id.as_str(), None).unwrap();
    assert_eq!(second.previous_worktree_id, Some(auth.id.clone()));
    remove(&world, &develop, RemoveOptions::default()).unwrap();
    assert_eq!(worktrees.switch("auth", None).unwrap().previous_worktree_id, None);
    let error = worktrees.switch("missing", None).unwrap_err();
    assert_eq!(
        (error.report().code.as_str(), error.report().message.as_str()),
        ("NOT_FOUND", "Worktree 'missing' does not exist")
    );
}

#[test]
fn switch_refuses_an_ambiguous_name_with_the_ids() {
    let world = World::new();
    let other = world.sandbox.repo("other");
    other.git(["branch", "auth"]);
    let here = world.create("feature/auth").unwrap().worktree;
    let there =
        world.worktrees().create(&CreateRequest::new(&other.root, "auth"), &mut |_| {}).unwrap().worktree;
    let error = world.worktrees().switch("auth", None).unwrap_err();
    assert_eq!(error.report().details, serde_json::json!({ "ids": [here.id, there.id] }));
    let found = world.worktrees().switch("auth", Some(&other.root)).unwrap().worktree;
    assert_eq!(found.id, there.id);
}

#[test]
fn remove_by_name_never_matches_another_repository() {
    let world = World::new();
    let other = world.sandbox.repo("other");
    other.git(["branch", "auth"]);
    world.create("feature/auth").unwrap();
    let there =
        world.worktrees().create(&CreateRequest::new(&other.root, "auth"), &mut |_| {}).unwrap().worktree;
    world.worktrees().remove("auth", Some(&world.repo.root), FORCE).unwrap();
    let error = world.worktrees().remove("auth", Some(&world.repo.root), FORCE).unwrap_err();
    assert_eq!(
        (error.report().code.as_str(), error.report().details),
        ("NOT_FOUND", serde_json::json!({ "ids": [there.id] }))
    );
    assert!(there.path.exists());
    world.worktrees().remove(there.id.as_str(), Some(&world.repo.root), FORCE).unwrap();
    assert!(!there.path.exists());
}

#[test]
fn unmanaged_worktrees_are_listed_and_can_be_adopted() {
    let world = World::new();
    let path = world.sibling("project-theirs");
    world.repo.git(["worktree", "add", "--quiet", "-b", "theirs", path.to_str().unwrap()]);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    let found = &listing.unmanaged[0];
    assert_eq!((found.name.as_str(), &found.path, found.missing), ("theirs", &path, false));
    assert!(listing.worktrees.is_empty());
    let row = world.worktrees().adopt(&path).unwrap();
    assert_eq!((row.name.as_str(), row.branch.as_str(), row.adopted), ("theirs", "theirs", true));
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!((listing.worktrees, listing.unmanaged), (vec![row.clone()], Vec::new()));
    assert!(matches!(world.worktrees().adopt(&path), Err(WorktreeError::AlreadyRegistered { .. })));
    assert!(matches!(world.worktrees().adopt(&world.repo.root), Err(WorktreeError::NotAWorktree(_))));
    remove(&world, &row, RemoveOptions::default()).unwrap();
}

#[test]
fn prune_removes_only_stale_worktrees() {
    let world = World::new();
    let gone = world.create("feature/auth").unwrap().worktree;
    let stays = world.create("develop").unwrap().worktree;
    fs::remove_dir_all(&gone.path).unwrap();
    let pruned = world.worktrees().prune(Some(&world.repo.root)).unwrap();
    assert_eq!(pruned.removed.into_iter().map(|removed| removed.worktree.id).collect::<Vec<_>>(), [gone.id]);
    assert_eq!(world.worktrees().list(None).unwrap().worktrees, [stays]);
}

#[test]
fn prune_keeps_a_locked_worktree_and_removes_the_others() {
    let world = World::new();
    let locked = world.create("feature/auth").unwrap().worktree;
    let gone = world.create("develop").unwrap().worktree;
    world.repo.git(["worktree", "lock", locked.path.to_str().unwrap()]);
    for row in [&locked, &gone] {
        fs::remove_dir_all(&row.path).unwrap();
    }
    let pruned = world.worktrees().prune(Some(&world.repo.root)).unwrap();
    let kept: Vec<_> = pruned.locked.into_iter().map(|row| row.id).collect();
    let removed: Vec<_> = pruned.removed.into_iter().map(|removed| removed.worktree.id).collect();
    assert_eq!((kept, removed), (vec![locked.id], vec![gone.id]));
}

#[test]
fn list_shows_other_repositories_if_one_is_unreadable() {
    let world = World::new();
    let other = world.sandbox.repo("other");
    other.git(["branch", "topic"]);
    let here = world.create("feature/auth").unwrap().worktree;
    let request = CreateRequest::new(&other.root, "topic");
    let there = world.worktrees().create(&request, &mut |_| {}).unwrap().worktree;
    fs::write(other.root.join(".git/HEAD"), "no longer a repository").unwrap();
    let mut rows = Vec::new();
    let logged = warnings(|| rows = world.worktrees().list(None).unwrap().worktrees);
    assert_eq!(rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), [here.id, there.id]);
    assert!(logged.len() == 1 && logged[0].contains(&other.root.display().to_string()), "{logged:?}");
}

#[test]
fn list_shows_the_currently_checked_out_branch() {
    let world = World::new();
    let row = world.create("feature/auth").unwrap().worktree;
    git(&row.path, ["checkout", "--quiet", "-b", "renamed"]);
    let listing = world.worktrees().list(Some(&world.repo.root)).unwrap();
    assert_eq!(listing.worktrees[0].branch.as_str(), "renamed");
}
