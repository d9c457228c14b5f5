//! `--rebase`: a diverged branch is rebased onto main first.

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
fn merge_rebases_a_diverged_branch_in_its_worktree_and_saves_its_old_tip() {
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
fn merge_rebases_a_branch_without_a_worktree() {
    let world = diverged();
    let dir = world.worktree("b");
    world.repo.git(["worktree", "remove", dir.to_str().unwrap()]);
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert_eq!(world.main(), world.tip("feat/b"));
    assert_eq!(rescues(&world).len(), 1);
}

#[test]
fn merge_skips_a_branch_with_conflicts_and_asks_its_agent_to_resolve_them() {
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
    let feedback = world.messages_of("agent.feedback", "b")[0]["payload"]["errors"][0].clone();
    assert!(feedback.as_str().unwrap().contains("resolve the conflicts"), "{feedback}");
    world.assert_tidy();
}

#[test]
fn merge_does_not_rebase_a_dirty_worktree() {
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
    assert_eq!(world.messages_of("agent.feedback", "b").len(), 1);
}

#[test]
fn merge_skips_a_branch_that_is_being_rebased() {
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
fn merge_rebases_with_untracked_files_and_keeps_them() {
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
fn merge_saves_a_rebased_commit_whose_tests_fail_and_leaves_its_branch() {
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
fn a_verification_does_not_apply_to_the_rebased_commit() {
    let world = diverged();
    world.verify("a");
    world.verify("b");
    let report =
        world.merge_by(|_| paw_supervisor::merge::CommitTestResult::Unproven { why: "no tests".to_owned() });
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "skipped")]);
}

#[test]
fn merge_does_not_move_a_branch_with_new_commits() {
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
fn merge_finds_nothing_to_merge_if_main_has_the_same_changes() {
    let world = World::new(&["a"]).rebasing();
    let tip = world.commit("a", "a.txt", "a\n");
    world.repo.commit_file("mine.txt", "mine\n", "mine");
    world.repo.git(["cherry-pick", &tip]);
    let before = world.main();
    assert_eq!(outcomes(&world.merge()), [("feat/a", "up_to_date")]);
    assert_eq!(world.main(), before);
}
