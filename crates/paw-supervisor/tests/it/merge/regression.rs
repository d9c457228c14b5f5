//! What fails never reaches main.

use paw_core::{ErrorCode, PawError};
use paw_supervisor::merge::{CommitTestResult, MergeError, MergeOutcome, MergeSkip, MergeStep};

use super::world::{World, outcome, outcomes, prove};

#[test]
fn a_regression_never_reaches_main_and_is_told_with_its_tag_and_kept() {
    let world = World::new(&["a"]);
    let before = world.main();
    let tip = world.commit("a", "broken", "x\n");
    let report = world.merge();
    let MergeOutcome::Regression { commit, errors, rescue, main_fails: false } = outcome(&report, "feat/a")
    else {
        panic!("{report:?}")
    };
    assert_eq!((commit, errors.as_slice()), (&tip, &["broken is there".to_owned()][..]));
    assert_eq!((world.main(), world.tip("feat/a")), (before, tip.clone()));
    assert!(!world.repo.root.join("broken").exists());
    assert!(rescue.starts_with("refs/paw/rescue/") && world.is_kept(rescue, &tip), "{rescue}");
    let feedback = world.said_of("agent.feedback", "a");
    let errors = feedback[0]["payload"]["errors"].as_array().unwrap();
    assert!(errors.iter().all(|error| error.as_str().unwrap().starts_with("[regression] ")), "{errors:?}");
    assert_eq!(errors[1], "[regression] broken is there");
    world.assert_tidy();
}

#[test]
fn what_is_kept_of_a_rejected_commit_is_the_commit_and_not_what_its_tests_left() {
    for rebase in [false, true] {
        let world = World::new(&["a"]);
        world.commit("a", "broken", "x\n");
        let world = if rebase {
            world.repo.commit_file("mine.txt", "mine\n", "mine");
            world.rebasing()
        } else {
            world
        };
        let report = world.merge_by(|checkout| {
            let proof = prove(checkout);
            super::world::write(checkout.dir, "left", "x\n");
            proof
        });
        let MergeOutcome::Regression { commit, rescue, .. } = outcome(&report, "feat/a") else {
            panic!("{report:?}")
        };
        let tree = |name: &str| world.repo.git(["rev-parse", &format!("{name}^{{tree}}")]);
        assert_eq!(tree(rescue), tree(commit), "with a rebase: {rebase}");
    }
}

#[test]
fn each_branch_is_tested_and_a_failure_does_not_stop_the_next() {
    let world = World::new(&["a", "b", "c"]);
    world.commit("a", "broken", "x\n");
    world.commit("b", "b.txt", "x\n");
    let mut tested = Vec::new();
    let report = world.merge_by(|checkout| {
        tested.push(checkout.branch.to_string());
        prove(checkout)
    });
    assert_eq!(tested, ["feat/a", "main", "feat/b"], "what has nothing to merge needs no test");
    assert_eq!(outcomes(&report), [("feat/a", "regression"), ("feat/b", "merged"), ("feat/c", "up_to_date")]);
    assert_eq!(world.main(), world.tip("feat/b"));
}

#[test]
fn where_main_fails_as_well_the_agent_is_told_and_main_is_tested_once() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "x\n");
    world.commit("b", "b.txt", "x\n");
    let mut tested = Vec::new();
    let report = world.merge_by(|checkout| {
        tested.push(checkout.branch.to_string());
        CommitTestResult::Failed { errors: vec!["red".to_owned()] }
    });
    assert_eq!(tested, ["feat/a", "main", "feat/b"]);
    assert_eq!(outcomes(&report), [("feat/a", "regression"), ("feat/b", "regression")]);
    let errors = world.said_of("agent.feedback", "b")[0]["payload"]["errors"].clone();
    assert!(errors[1].as_str().unwrap().contains("the tests fail on main as well"), "{errors}");
    assert_eq!(errors[2], "[regression] red");
}

#[test]
fn main_does_not_move_while_tests_run() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let before = world.main();
    let mut during = Vec::new();
    let seen = &mut during;
    world.merge_by(|checkout| {
        seen.push((world.main(), world.repo.root.join("a.txt").exists()));
        prove(checkout)
    });
    assert_eq!(during, [(before, false)]);
}

#[test]
fn what_cannot_be_tested_moves_main_only_if_exactly_it_was_verified() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "x\n");
    world.commit("b", "b.txt", "x\n");
    world.verify("b");
    let report = world.merge_by(|_| CommitTestResult::Unproven { why: "no test_command".to_owned() });
    let why = MergeSkip::Unproven { why: "no test_command".to_owned() };
    assert_eq!(outcome(&report, "feat/a"), &MergeOutcome::Skipped { why });
    assert_eq!(outcome(&report, "feat/b").word(), "merged");
}

#[test]
fn what_a_branch_left_uncommitted_and_what_tests_left_behind_help_nobody() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "x\n");
    super::world::write(&world.worktree("a"), "helper", "x\n");
    world.commit("b", "b.txt", "x\n");
    let world = world.rebasing();
    let report = world.merge_by(|checkout| {
        let found = checkout.dir.join("helper").exists() || checkout.dir.join("left").exists();
        super::world::write(checkout.dir, "left", "x\n");
        super::world::write(checkout.dir, "shared.txt", "changed by a test\n");
        if found {
            CommitTestResult::Failed { errors: vec!["found".to_owned()] }
        } else {
            CommitTestResult::Passed
        }
    });
    assert_eq!(outcomes(&report), [("feat/a", "merged"), ("feat/b", "merged")]);
    assert!(!world.repo.root.join("left").exists());
}

#[test]
fn what_only_the_branch_before_ignored_helps_nobody() {
    let world = World::new(&["a", "b"]);
    world.commit("a", ".gitignore", "generated\n");
    world.commit("b", "b.txt", "x\n");
    let world = world.rebasing();
    let mut found = Vec::new();
    let seen = &mut found;
    world.merge_by(|checkout| {
        seen.push((checkout.branch.to_string(), checkout.dir.join("generated").exists()));
        super::world::write(checkout.dir, "generated", "x\n");
        // Only the first of them is merged, so the second knows nothing of its rules.
        if checkout.dir.join(".gitignore").exists() {
            CommitTestResult::Failed { errors: Vec::new() }
        } else {
            CommitTestResult::Passed
        }
    });
    assert_eq!(
        found,
        [("feat/a".to_owned(), false), ("main".to_owned(), false), ("feat/b".to_owned(), false)]
    );
}

#[test]
fn a_proof_that_cannot_be_made_ends_the_merge_with_main_where_it_was() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let before = world.main();
    let error = world
        .merge_with(&mut |_| Err(PawError::new(ErrorCode::Internal, "the disk is full")), &mut |_, _| {})
        .unwrap_err();
    assert!(matches!(error, MergeError::Proof(_)), "{error}");
    assert_eq!(world.main(), before);
    assert!(!world.bench().exists());
    assert!(world.merge().resumed, "the next one goes on");
    world.assert_tidy();
}

#[test]
fn steps_are_told_as_they_happen() {
    use MergeStep::{Advanced, Advancing, Planned, Proven, Recorded, Reported, Summarised, Testing};
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let mut steps = Vec::new();
    world.merge_with(&mut |checkout| Ok(prove(checkout)), &mut |step, _| steps.push(step)).unwrap();
    assert_eq!(steps, [Planned, Testing, Proven, Advancing, Advanced, Recorded, Reported, Summarised]);
}
