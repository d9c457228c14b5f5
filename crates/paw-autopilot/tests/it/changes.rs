//! Changes since the last commit, in a real worktree.

use std::fs;

use paw_autopilot::evidence::FileChange;
use paw_autopilot::evidence::changes::{between, since_head};
use paw_host::git::Git;
use paw_testkit::{Sandbox, TestRepo};

/// One line per file: `path: before -> after`.
fn shown(repo: &TestRepo) -> String {
    let text = |text: Option<String>| text.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
    let line = |change: FileChange| {
        format!("{}: {} -> {}", change.path.display(), text(change.before), text(change.after))
    };
    since_head(&Git::at(&repo.root)).unwrap().1.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn changes_have_committed_and_current_content() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    for name in ["changed", "deleted", "moved", "back again", "in\nlines", "same"] {
        repo.commit_file(name, &format!("{name}\n"), name);
    }
    let write = |name: &str, text: &str| fs::write(repo.root.join(name), text).unwrap();
    write("changed", "else\n");
    write("in\nlines", "else\n");
    fs::remove_file(repo.root.join("deleted")).unwrap();
    repo.git(["mv", "moved", "there"]);
    repo.git(["rm", "--quiet", "--cached", "back again"]);
    write("back again", "untracked\n");
    write("new", "new\n");
    write("added", "added\n");
    repo.git(["add", "added"]);
    write("intended", "intended\n");
    repo.git(["add", "--intent-to-add", "intended"]);
    write("same", "other\n");
    write("same", "same\n");
    insta::assert_snapshot!(shown(&repo), @r#"
    added: nothing -> "added\n"
    back again: "back again\n" -> "untracked\n"
    changed: "changed\n" -> "else\n"
    deleted: "deleted\n" -> nothing
    in
    lines: "in\nlines\n" -> "else\n"
    intended: nothing -> "intended\n"
    moved: "moved\n" -> nothing
    new: nothing -> "new\n"
    there: nothing -> "moved\n"
    "#);
}

#[test]
fn repository_without_commits_has_only_new_files() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().join("fresh");
    sandbox.write("fresh/a", "1\n");
    sandbox.run(&root, "git", ["init", "--quiet", "."]);
    sandbox.run(&root, "git", ["add", "a"]);
    let (commit, changes) = since_head(&Git::at(&root)).unwrap();
    assert_eq!(commit, None);
    let new = FileChange { path: "a".into(), after: Some("1\n".into()), ..FileChange::default() };
    assert_eq!(changes, [new]);
}

#[test]
fn conflicted_file_is_compared_with_our_side() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.commit_file("a", "base\n", "base");
    repo.git(["switch", "--quiet", "--create", "theirs"]);
    repo.commit_file("a", "theirs\n", "theirs");
    repo.git(["switch", "--quiet", "main"]);
    repo.commit_file("a", "ours\n", "ours");
    let merged = sandbox.run(&repo.root, "git", ["merge", "theirs"]);
    assert_ne!(merged.code, 0);
    let changes = since_head(&Git::at(&repo.root)).unwrap().1;
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].before.as_deref(), Some("ours\n"));
}

/// Paths that differ from the last commit.
fn changed(repo: &TestRepo) -> Vec<String> {
    let changes = since_head(&Git::at(&repo.root)).unwrap().1;
    changes.iter().map(|change| change.path.display().to_string()).collect()
}

#[test]
fn mode_and_symlink_changes_are_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    repo.commit_file("run.sh", "exit 0\n", "script");
    repo.commit_file("name", "run.sh", "name");
    assert!(changed(&repo).is_empty());
    let mode = |bits| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(bits);
        fs::set_permissions(repo.root.join("run.sh"), permissions).unwrap();
    };
    mode(0o755);
    fs::remove_file(repo.root.join("name")).unwrap();
    std::os::unix::fs::symlink("run.sh", repo.root.join("name")).unwrap();
    assert_eq!(changed(&repo), ["name", "run.sh"]);
    let then = since_head(&Git::at(&repo.root)).unwrap().1;
    mode(0o644);
    let now = since_head(&Git::at(&repo.root)).unwrap().1;
    let back: Vec<_> = between(&then, &now).into_iter().map(|change| change.path).collect();
    assert_eq!(back, [std::path::Path::new("run.sh")]);
}

#[test]
fn binary_changes_are_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("app");
    fs::write(repo.root.join("old.txt"), b"caf\xe9\n").unwrap();
    repo.git(["add", "--all"]);
    repo.git(["commit", "--quiet", "--message", "latin"]);
    assert!(changed(&repo).is_empty());
    fs::write(repo.root.join("old.txt"), b"caf\xe8\n").unwrap();
    assert_eq!(changed(&repo), ["old.txt"]);
}
