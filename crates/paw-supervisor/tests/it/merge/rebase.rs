//! `--rebase`: a branch that has diverged is put on top of main first.

use paw_supervisor::merge::{MergeOutcome, MergeSkip};
use paw_testkit::git;

use super::world::{World, outcome, outcomes, read, write};

fn rescues(world: &World) -> Vec<String> {
    let refs = world.repo.git(["for-each-ref", "--format=%(refname)", "refs/paw/rescue"]);
    refs.lines().map(str::to_owned).collect()
}

fn diverged() -> World {
    let world = World::new(&["a", "b"]).rebasing();
    world.commit("a", "a.txt", "a\n");
    world.commit("b", "b.txt", "b\n");
    world
}

#[test]
fn a_diverged_branch_is_brought_up_in_its_worktree_and_its_old_tip_is_kept() {
    let world = diverged();
    let old = world.tip("feat/b");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "merged")]);
    let new = world.tip("feat/b");
    assert_eq!((world.main(), world.repo.git(["rev-parse", "main~1"])), (new, world.tip("feat/a")));
    let dir = world.worktree("b");
    assert_eq!((read(&dir, "a.txt").as_str(), git(&dir, ["status", "--porcelain"]).as_str()), ("a\n", ""));
    assert_eq!(git(&dir, ["symbolic-ref", "HEAD"]), "refs/heads/feat/b");
    let kept = rescues(&world);
    assert!(kept.len() == 1 && world.is_kept(&kept[0], &old), "{kept:?}");
    assert!(report.notes.iter().any(|note| note.contains(&kept[0])), "{:?}", report.notes);
    world.assert_tidy();
}

#[test]
fn a_branch_without_a_worktree_is_brought_up_too() {
    let world = diverged();
    let dir = world.worktree("b");
    world.repo.git(["worktree", "remove", dir.to_str().unwrap()]);
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(world.main(), world.tip("feat/b"));
    assert_eq!(rescues(&world).len(), 1);
}

#[test]
fn a_branch_that_conflicts_is_skipped_and_asked_to_resolve_and_nothing_is_touched() {
    let world = World::new(&["a", "b"]).rebasing();
    world.commit("a", "shared.txt", "a\n");
    let old = world.commit("b", "shared.txt", "b\n");
    let report = world.merge();
    let MergeOutcome::Skipped { why: MergeSkip::Conflicts { reason } } = outcome(&report, "feat/b") else {
        panic!("{report:?}")
    };
    assert!(reason.contains("shared.txt"), "{reason}");
    assert_eq!((world.tip("feat/b"), world.main()), (old, world.tip("feat/a")));
    assert_eq!(git(&world.worktree("b"), ["status", "--porcelain"]), "");
    let feedback = world.said_of("agent.feedback", "b")[0]["payload"]["errors"][0].clone();
    assert!(feedback.as_str().unwrap().contains("resolve the conflicts"), "{feedback}");
    world.assert_tidy();
}

#[test]
fn a_rebase_that_would_move_uncommitted_changes_is_not_made() {
    let world = diverged();
    let old = world.tip("feat/b");
    write(&world.worktree("b"), "b.txt", "still typing\n");
    let report = world.merge();
    assert!(
        matches!(outcome(&report, "feat/b"), MergeOutcome::Skipped { why: MergeSkip::NotReady { .. } }),
        "{report:?}"
    );
    assert_eq!(
        (world.tip("feat/b"), read(&world.worktree("b"), "b.txt")),
        (old, "still typing\n".to_owned())
    );
    assert_eq!(world.said_of("agent.feedback", "b").len(), 1);
}

#[test]
fn a_branch_in_the_middle_of_its_own_rebase_is_left_alone() {
    let world = World::new(&["a", "b"]).rebasing();
    world.commit("a", "shared.txt", "a\n");
    let old = world.commit("b", "shared.txt", "b\n");
    let ran = world.sandbox().run(&world.worktree("b"), "git", ["rebase", "feat/a"]);
    assert_ne!(ran.code, 0, "{ran}");
    let report = world.merge();
    let MergeOutcome::Skipped { why } = outcome(&report, "feat/b") else { panic!("{report:?}") };
    assert_eq!(why.to_string(), "not rebased: feat/b is being rebased");
    assert_eq!(world.tip("feat/b"), old);
    assert!(git(&world.worktree("b"), ["status"]).contains("rebase in progress"));
}

#[test]
fn files_that_git_does_not_know_neither_hold_up_a_rebase_nor_are_lost() {
    let world = diverged();
    write(&world.worktree("b"), "notes", "mine\n");
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(
        (world.tip("feat/b"), read(&world.worktree("b"), "notes")),
        (world.main(), "mine\n".to_owned())
    );
    let world = diverged();
    write(&world.repo.root.join(".git/info"), "exclude", "a.txt\n");
    write(&world.worktree("b"), "a.txt", "mine\n");
    let report = world.merge();
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(read(&world.worktree("b"), "a.txt"), "mine\n");
    assert_ne!(world.tip("feat/b"), world.main(), "the branch stays where its files are");
    assert!(report.notes.iter().any(|note| note.contains("a.txt")), "{:?}", report.notes);
}

#[test]
fn a_rebased_branch_whose_tests_fail_is_left_alone_and_the_result_is_kept() {
    let world = World::new(&["a", "b"]).rebasing();
    world.commit("a", "a.txt", "a\n");
    let old = world.commit("b", "broken", "b\n");
    let report = world.merge();
    let MergeOutcome::Regression { commit, rescue, .. } = outcome(&report, "feat/b") else {
        panic!("{report:?}")
    };
    assert_ne!(commit, &old, "it was tested on top of main");
    assert!(world.is_kept(rescue, commit), "{rescue}");
    assert_eq!((world.tip("feat/b"), world.main()), (old, world.tip("feat/a")));
}

#[test]
fn a_verification_of_the_old_tip_says_nothing_about_the_rebased_one() {
    let world = diverged();
    world.verify("a");
    world.verify("b");
    let report =
        world.merge_by(|_| paw_supervisor::merge::CommitTestResult::Unproven { why: "no tests".to_owned() });
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "skipped")]);
}

#[test]
fn a_branch_that_went_on_while_it_was_tested_is_not_moved() {
    let world = diverged();
    let mut newer = None;
    let report = world.merge_by(|checkout| {
        if checkout.branch.as_str() == "feat/b" {
            newer = Some(world.commit("b", "more.txt", "more\n"));
        }
        super::world::prove(checkout)
    });
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(Some(world.tip("feat/b")), newer);
}

#[test]
fn work_that_main_has_already_under_another_name_is_nothing_to_merge() {
    let world = World::new(&["a"]).rebasing();
    let tip = world.commit("a", "a.txt", "a\n");
    world.repo.commit_file("mine.txt", "mine\n", "mine");
    world.repo.git(["cherry-pick", &tip]);
    let before = world.main();
    assert_eq!(outcomes(&world.merge()), [("feat/a", "up_to_date")]);
    assert_eq!(world.main(), before);
}
