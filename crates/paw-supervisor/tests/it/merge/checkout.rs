//! A merge keeps the user's changes where main is checked out.

use std::fs;

use paw_supervisor::merge::{MergeOutcome, MergeSkip};
use paw_testkit::git;

use super::world::{World, outcome, outcomes, prove, read, write};

fn refusal(report: &paw_supervisor::merge::MergeReport, name: &str) -> String {
    let MergeOutcome::Skipped { why: MergeSkip::Refused { why } } = outcome(report, name) else {
        panic!("{report:?}")
    };
    why.clone()
}

#[test]
fn merge_keeps_uncommitted_changes_in_other_files() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "a\n");
    write(&world.repo.root, "shared.txt", "mine\n");
    write(&world.repo.root, "README.md", "staged\n");
    world.repo.git(["add", "README.md"]);
    write(&world.repo.root, "untracked", "mine\n");
    let before = world.repo.git(["status", "--porcelain"]);
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged")]);
    assert_eq!(world.repo.git(["status", "--porcelain"]), before);
    assert_eq!(read(&world.repo.root, "shared.txt"), "mine\n");
    assert_eq!(read(&world.repo.root, "a.txt"), "a\n");
}

#[test]
fn merge_refuses_to_overwrite_changed_untracked_and_ignored_files() {
    for (name, ignored) in [("shared.txt", false), ("new.txt", false), ("secret.env", true)] {
        let world = World::new(&["a"]);
        world.commit("a", name, "theirs\n");
        if ignored {
            write(&world.repo.root.join(".git/info"), "exclude", "*.env\n");
        }
        write(&world.repo.root, name, "mine\n");
        let before = world.main();
        let report = world.merge();
        let why = refusal(&report, "feat/a");
        assert!(why.contains(name) && why.contains("app"), "{name}: {why}");
        assert_eq!((world.main(), read(&world.repo.root, name)), (before, "mine\n".to_owned()), "{name}");
        assert!(world.messages_of("agent.feedback", "a").is_empty(), "the agent cannot fix it");
        world.assert_tidy();
    }
}

#[test]
fn a_refused_branch_is_merged_once_the_file_is_gone() {
    let world = World::new(&["a"]);
    world.commit("a", "new.txt", "theirs\n");
    write(&world.repo.root, "new.txt", "mine\n");
    assert_eq!(outcomes(&world.merge()), [("feat/a", "skipped")]);
    fs::remove_file(world.repo.root.join("new.txt")).unwrap();
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged")]);
}

#[test]
fn merge_moves_main_if_it_is_not_checked_out() {
    let world = World::new(&["a"]);
    let tip = world.commit("a", "a.txt", "a\n");
    world.repo.git(["switch", "--quiet", "-c", "elsewhere"]);
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged")]);
    assert_eq!(world.main(), tip);
    assert!(!world.repo.root.join("a.txt").exists(), "the user's own checkout stays");
    assert_eq!(world.repo.git(["status", "--porcelain"]), "");
    assert!(world.repo.git(["reflog", "main"]).contains("git paw merge feat/a"));
}

#[test]
fn merge_updates_main_in_a_linked_worktree() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "a\n");
    world.repo.git(["switch", "--quiet", "-c", "elsewhere"]);
    let dir = world.root().join("main-tree");
    world.repo.git(["worktree", "add", "--quiet", dir.to_str().unwrap(), "main"]);
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged")]);
    assert_eq!(
        (read(&dir, "a.txt"), git(&dir, ["status", "--porcelain"])),
        ("a\n".to_owned(), String::new())
    );
}

#[test]
fn merge_works_in_a_bare_repository() {
    let world = World::new(&["a"]);
    let tip = world.commit("a", "a.txt", "a\n");
    world.repo.git(["switch", "--quiet", "--detach"]);
    world.repo.git(["config", "core.bare", "true"]);
    assert!(world.repo().bare);
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "merged")]);
    assert_eq!(report.after, tip);
}

#[test]
fn merge_keeps_a_commit_made_on_main_meanwhile() {
    for checked_out in [true, false] {
        let world = World::new(&["a"]);
        world.commit("a", "a.txt", "a\n");
        if !checked_out {
            world.repo.git(["switch", "--quiet", "--detach"]);
        }
        let mut mine = None;
        let report = world.merge_by(|checkout| {
            if mine.is_none() {
                let commit = world.repo.commit_file("mine.txt", "mine\n", "meanwhile");
                if !checked_out {
                    world.repo.git(["update-ref", "refs/heads/main", &commit]);
                }
                mine = Some(commit);
            }
            prove(checkout)
        });
        assert_eq!(outcome(&report, "feat/a"), &MergeOutcome::Skipped { why: MergeSkip::Diverged });
        assert_eq!(Some(world.main()), mine);
    }
}

#[test]
fn merge_with_rebase_retests_a_branch_if_main_moved() {
    let world = World::new(&["a"]).rebasing();
    world.commit("a", "a.txt", "a\n");
    let mut tested = Vec::new();
    let report = world.merge_by(|checkout| {
        if tested.is_empty() {
            world.repo.commit_file("mine.txt", "mine\n", "meanwhile");
        }
        tested.push(checkout.files.dir().join("mine.txt").exists());
        prove(checkout)
    });
    assert_eq!(outcomes(&report), [("feat/a", "merged")]);
    assert_eq!(tested, [false, true]);
    assert!(world.repo.root.join("mine.txt").exists() && world.repo.root.join("a.txt").exists());
}

#[test]
fn merge_does_not_move_main_during_a_rebase() {
    let world = World::new(&["a"]);
    world.repo.git(["branch", "other"]);
    let mine = world.repo.commit_file("shared.txt", "mine\n", "mine");
    let world = world.with_agent("b", "main");
    world.commit("b", "b.txt", "b\n");
    world.repo.git(["switch", "--quiet", "other"]);
    world.repo.commit_file("shared.txt", "other\n", "other");
    world.repo.git(["switch", "--quiet", "main"]);
    let ran = world.sandbox().run(&world.repo.root, "git", ["rebase", "other"]);
    assert_ne!(ran.code, 0, "{ran}");
    let report = world.merge();
    assert!(refusal(&report, "feat/b").contains("main is being rebased"), "{report:?}");
    assert_eq!(world.main(), mine);
}
