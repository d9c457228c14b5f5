//! A commit whose tests fail never reaches main.

use paw_core::{ErrorCode, PawError};
use paw_supervisor::merge::{CommitTestResult, MergeError, MergeOutcome, MergeSkip, MergeStep};

use paw_testkit::git;

use super::world::{World, outcome, outcomes, prove};

#[test]
fn merge_keeps_a_regression_out_of_main_and_reports_and_saves_it() {
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
    let feedback = world.messages_of("agent.feedback", "a");
    let errors = feedback[0]["payload"]["errors"].as_array().unwrap();
    assert!(errors.iter().all(|error| error.as_str().unwrap().starts_with("[regression] ")), "{errors:?}");
    assert_eq!(errors[1], "[regression] broken is there");
    world.assert_tidy();
}

#[test]
fn merge_saves_a_rejected_commit_without_test_leftovers() {
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
            super::world::write(checkout.files.dir(), "left", "x\n");
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
fn merge_continues_after_a_failing_branch() {
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
fn merge_reports_that_main_fails_too_and_tests_main_once() {
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
    let errors = world.messages_of("agent.feedback", "b")[0]["payload"]["errors"].clone();
    assert!(errors[1].as_str().unwrap().contains("the gates fail on main too"), "{errors}");
    assert_eq!(errors[2], "[regression] red");
}

#[test]
fn main_does_not_move_while_merge_tests_run() {
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
fn merge_without_tests_moves_main_only_to_verified_commits() {
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
fn merge_tests_see_no_uncommitted_or_leftover_files() {
    let world = World::new(&["a", "b"]);
    world.commit("a", "a.txt", "x\n");
    super::world::write(&world.worktree("a"), "helper", "x\n");
    world.commit("b", "b.txt", "x\n");
    let world = world.rebasing();
    let report = world.merge_by(|checkout| {
        let found =
            checkout.files.dir().join("helper").exists() || checkout.files.dir().join("left").exists();
        super::world::write(checkout.files.dir(), "left", "x\n");
        super::world::write(checkout.files.dir(), "shared.txt", "changed by a test\n");
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
fn merge_tests_see_no_files_that_only_another_branch_ignores() {
    let world = World::new(&["a", "b"]);
    world.commit("a", ".gitignore", "generated\n");
    world.commit("b", "b.txt", "x\n");
    let world = world.rebasing();
    let mut found = Vec::new();
    let seen = &mut found;
    world.merge_by(|checkout| {
        seen.push((checkout.branch.to_string(), checkout.files.dir().join("generated").exists()));
        super::world::write(checkout.files.dir(), "generated", "x\n");
        // Only the first branch is merged, so the second does not have its ignore rules.
        if checkout.files.dir().join(".gitignore").exists() {
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
fn merge_stops_without_moving_main_if_tests_cannot_run() {
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let before = world.main();
    let error = world
        .merge_with(&mut |_| Err(PawError::new(ErrorCode::Internal, "the disk is full")), &mut |_, _| {})
        .unwrap_err();
    assert!(matches!(error, MergeError::Proof(_)), "{error}");
    assert_eq!(world.main(), before);
    assert!(world.merge().resumed, "the next merge resumes");
    world.assert_tidy();
}

#[test]
fn merge_reports_its_steps_in_order() {
    use MergeStep::{Advanced, Advancing, Planned, Proven, Recorded, Reported, Summarised, Testing};
    let world = World::new(&["a"]);
    world.commit("a", "a.txt", "x\n");
    let mut steps = Vec::new();
    world.merge_with(&mut |checkout| Ok(prove(checkout)), &mut |step, _| steps.push(step)).unwrap();
    assert_eq!(steps, [Planned, Testing, Proven, Advancing, Advanced, Recorded, Reported, Summarised]);
}

#[test]
fn a_failed_run_leaves_nothing_that_helps_a_later_commit_onto_main() {
    let world = World::new(&["a", "b"]);
    world.repo.commit_file(".gitignore", "cache\n", "ignore");
    for agent in ["a", "b"] {
        git(&world.worktree(agent), ["merge", "--quiet", "main"]);
        world.commit(agent, &format!("{agent}.txt"), "x\n");
    }
    let world = world.rebasing();
    let mut found = Vec::new();
    // The first run fails and leaves ignored files; with their help any later commit would pass.
    let seen = &mut found;
    let report = world.merge_by(|tested| {
        let cache = tested.files.dir().join("cache");
        seen.push((tested.branch.to_string(), cache.exists()));
        super::world::write(tested.files.dir(), "cache", "left\n");
        match tested.branch.as_str() {
            "feat/a" => CommitTestResult::Failed { errors: vec!["red".to_owned()] },
            _ => CommitTestResult::Passed,
        }
    });
    assert_eq!(outcomes(&report), [("feat/a", "regression"), ("feat/b", "merged")]);
    // Main itself was tested after feat/a, so feat/b finds what main's run left.
    let expected = [("feat/a", false), ("main", false), ("feat/b", true)];
    assert_eq!(found, expected.map(|(branch, warm)| (branch.to_owned(), warm)));
    world.assert_tidy();
}

#[test]
fn build_output_of_a_merged_commit_is_kept_for_the_next() {
    let world = World::new(&["a", "b"]);
    world.repo.commit_file(".gitignore", "cache\n", "ignore");
    for agent in ["a", "b"] {
        git(&world.worktree(agent), ["merge", "--quiet", "main"]);
        world.commit(agent, &format!("{agent}.txt"), "x\n");
    }
    let world = world.rebasing();
    let mut found = Vec::new();
    let seen = &mut found;
    world.merge_by(|tested| {
        seen.push(super::world::read(tested.files.dir(), "cache"));
        super::world::write(tested.files.dir(), "cache", tested.branch.as_str());
        CommitTestResult::Passed
    });
    assert_eq!(found, ["", "feat/a"]);
}
