//! Listing, showing, finding and forgetting rescues.

use paw_core::Diagnostic as _;
use paw_worktree::rescue::{RescueError, RescuedFileKind, forget, list, require, show, store_tip};

use super::*;

#[test]
fn rescues_are_listed_newest_first_with_branch_and_worktree() {
    let scene = Scene::new();
    assert!(list(&scene.repo).unwrap().is_empty());
    scene.write("a.txt", "changed\n");
    let first = scene.store();
    let second = store_tip(&scene.repo, &branch("feat/x"), "before rebase").unwrap();
    let listed = list(&scene.repo).unwrap();
    assert_eq!(listed, [second.clone(), first.clone()]);
    assert_eq!(first.branch, Some(branch("feat/x")));
    assert_eq!(first.worktree.as_deref(), Some(scene.worktree.as_path()));
    assert_eq!(first.reference, format!("refs/paw/rescue/{}", first.id));
    assert!(first.id.ends_with("-feat-x"), "{}", first.id);
    assert_ne!(first.id, second.id);
}

#[test]
fn rescues_of_one_second_get_distinct_ids_and_a_common_prefix_is_ambiguous() {
    let scene = Scene::new();
    let of = || store_tip(&scene.repo, &branch("feat/x"), "again").unwrap();
    let ids = [of().id, of().id, of().id];
    assert!(ids.iter().collect::<std::collections::BTreeSet<_>>().len() == 3);
    assert_eq!(require(&scene.repo, &ids[0]).unwrap().id, ids[0]);
    assert!(matches!(require(&scene.repo, "2"), Err(RescueError::Ambiguous { .. })));
    let error = require(&scene.repo, "nothing").unwrap_err();
    assert_eq!(error.report().to_string(), "no rescue 'nothing'\nhint: run 'git paw undo' to list rescues");
}

#[test]
fn forget_deletes_a_rescue() {
    let scene = Scene::new();
    let rescue = store_tip(&scene.repo, &branch("feat/x"), "x").unwrap();
    assert_eq!(forget(&scene.repo, &rescue.id).unwrap(), rescue);
    assert!(list(&scene.repo).unwrap().is_empty());
}

#[test]
fn foreign_ref_is_not_listed_as_a_rescue() {
    let scene = Scene::new();
    scene.main.git(["update-ref", "refs/paw/rescue/foreign", "HEAD"]);
    assert!(list(&scene.repo).unwrap().is_empty());
}

#[test]
fn show_lists_every_kind_of_work() {
    let scene = Scene::new();
    scene.write("committed", "1\n2\n");
    scene.git(&["add", "committed"]);
    scene.git(&["commit", "--quiet", "--message", "a commit"]);
    scene.write("a.txt", "staged\n");
    scene.git(&["add", "a.txt"]);
    scene.write("dir/b.txt", "bee\nbuzz\n");
    scene.write("new\nline", "x\n");
    scene.write("bin", b"\0\x01");
    scene.write("debug.log", "log\n");
    fs::remove_file(scene.worktree.join(".gitignore")).unwrap();
    scene.git(&["config", "core.excludesFile", ""]);
    let request = RescueRequest { delete_branch: true, ..scene.request() };
    let rescue = store_if_needed(&request).unwrap().unwrap();
    scene.remove();
    scene.main.git(["branch", "--quiet", "-D", "feat/x"]);
    let shown = show(&scene.repo, &rescue.id).unwrap();
    let commit = &shown.commits[0].id[..10];
    insta::assert_snapshot!(shown.summary.replace(commit, "[COMMIT]"), @r"
    commit      [COMMIT] a commit
    committed   committed (+2 -0)
    staged      a.txt (+1 -3)
    unstaged    .gitignore (deleted)
    unstaged    dir/b.txt (+1 -0)
    untracked   bin (binary)
    untracked   debug.log (+1 -0)
    untracked   new�line (+1 -0)
    ");
    let kinds: Vec<RescuedFileKind> = shown.files.iter().map(|file| file.kind).collect();
    assert_eq!(kinds.len(), 7);
    assert!(serde_json::to_string(&shown).unwrap().contains(r#""kind":"untracked""#));
}
