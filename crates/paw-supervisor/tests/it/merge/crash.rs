//! Kills a merge at every step. Main is then unchanged or tested, and the next merge resumes.

use std::path::PathBuf;

use paw_core::BranchName;
use paw_host::process::{Command, Exit};
use paw_supervisor::merge::{MergeStep, PlannedMerge};
use paw_testkit::git;

use super::world::{World, outcomes, prove};

const ABORTED: Exit = Exit::Signal(6);

/// Whether the child aborts at this step, and branch if one is named.
fn is_named(step: MergeStep, branch: Option<&BranchName>) -> bool {
    let of = branch.map_or_else(|| format!("{step:?}"), |branch| format!("{step:?} {branch}"));
    std::env::var("PAW_TEST_DIE_AT").is_ok_and(|moment| moment == of)
}

/// Run by the tests below in a separate process.
#[test]
#[ignore = "run by other tests"]
fn child() {
    let world = World::at(PathBuf::from(std::env::var_os("PAW_TEST_ROOT").unwrap()), &["a", "b", "c"]);
    let mut die = |step: MergeStep, branch: Option<&BranchName>| {
        if is_named(step, branch) {
            std::process::abort();
        }
    };
    world.merge_with(&mut |checkout| Ok(prove(checkout)), &mut die).unwrap();
}

fn dies(world: &World, moment: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "merge::crash::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env("PAW_TEST_ROOT", world.root())
        .env("PAW_TEST_DIE_AT", moment)
        .capture()
        .unwrap();
    assert_eq!(output.exit, ABORTED, "{moment}: {}", String::from_utf8_lossy(&output.stderr));
}

/// `a` merges, `b` has to be rebased, `c` fails.
fn world() -> World {
    let world = World::new(&["a", "b", "c"]).rebasing();
    world.commit("a", "a.txt", "a\n");
    world.commit("b", "b.txt", "b\n");
    world.commit("c", "broken", "c\n");
    world.blocked("b", "a");
    world.blocked("c", "b");
    world
}

#[test]
fn a_merge_killed_at_any_step_leaves_main_tested_and_resumes() {
    let moments = [
        ("Planned", 0),
        ("Testing feat/a", 0),
        ("Proven feat/a", 0),
        ("Advancing feat/a", 0),
        ("Advanced feat/a", 1),
        ("Recorded feat/a", 1),
        ("Reported feat/a", 1),
        ("Testing feat/b", 1),
        ("Proven feat/b", 1),
        ("Advancing feat/b", 1),
        ("Advanced feat/b", 2),
        ("Recorded feat/b", 2),
        ("BranchRebased feat/b", 2),
        ("Reported feat/b", 2),
        ("Testing feat/c", 2),
        ("Proven feat/c", 2),
        ("Recorded feat/c", 2),
        ("Reported feat/c", 2),
        ("Summarised", 2),
    ];
    for (moment, merged) in moments {
        let world = world();
        let before = world.main();
        dies(&world, moment);
        let moved = world.repo.git(["rev-list", "--count", &format!("{before}..main")]);
        assert_eq!(moved, merged.to_string(), "{moment}");
        assert_eq!(world.repo.git(["status", "--porcelain"]), "", "{moment}");
        assert!(!world.repo.root.join("broken").exists(), "{moment}");

        let report = world.merge();
        assert!(report.resumed, "{moment}");
        assert_eq!(report.before, before, "{moment}");
        let expected = [("feat/a", "merged"), ("feat/b", "merged"), ("feat/c", "regression")];
        assert_eq!(outcomes(&report), expected, "{moment}");
        assert_eq!(world.main(), world.tip("feat/b"), "{moment}");
        assert_eq!(git(&world.worktree("b"), ["status", "--porcelain"]), "", "{moment}");
        world.assert_tidy();

        let count = |name: &str| world.messages().iter().filter(|message| message["type"] == name).count();
        let sent = ["agent.advanced-main", "agent.feedback", "agent.status"].map(count);
        assert_eq!(sent, [2, 1, 1], "{moment}: every message is sent once");
    }
}

#[test]
fn a_forecast_works_after_a_killed_merge_and_keeps_its_state() {
    let world = world();
    dies(&world, "Advanced feat/a");
    assert!(world.test_checkout().exists());
    let merge: PlannedMerge = world.open().unwrap();
    assert_eq!(merge.forecast(true).unwrap().len(), 2, "a is merged");
    drop(merge);
    assert!(world.merge().resumed);
}

#[test]
fn a_resumed_merge_tests_a_branch_that_moved_again() {
    let world = world();
    dies(&world, "Reported feat/c");
    let broken = world.worktree("c").join("broken");
    std::fs::remove_file(broken).unwrap();
    world.commit("c", "c.txt", "fixed\n");
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged"), ("feat/b", "merged"), ("feat/c", "merged")]);
}

#[test]
fn a_damaged_merge_journal_is_reported_and_main_stays() {
    let world = world();
    let before = world.main();
    std::fs::create_dir_all(world.repo.root.join(".git/paw")).unwrap();
    super::world::write(&world.repo.root.join(".git/paw"), "merge.json", "{half");
    let error = world.open().unwrap_err();
    assert!(error.to_string().contains("merge.json"), "{error}");
    assert_eq!(world.main(), before);
}
