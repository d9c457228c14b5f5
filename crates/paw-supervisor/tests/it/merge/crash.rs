//! The process dies at every step. Main is then untouched or proven, and the next merge goes on as if nothing had been.

use std::path::PathBuf;

use paw_core::BranchName;
use paw_host::process::{Command, Exit};
use paw_supervisor::merge::{MergeStep, PlannedMerge};
use paw_testkit::git;

use super::world::{World, outcomes, prove};

const ABORTED: Exit = Exit::Signal(6);

/// Where the child dies: at a step, of one branch if it says so.
fn is_named(step: MergeStep, branch: Option<&BranchName>) -> bool {
    let of = branch.map_or_else(|| format!("{step:?}"), |branch| format!("{step:?} {branch}"));
    std::env::var("PAW_TEST_DIE_AT").is_ok_and(|moment| moment == of)
}

/// Run by the tests below, in a process of its own.
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
fn a_merge_that_dies_at_any_step_leaves_main_untouched_or_proven_and_is_gone_on_with() {
    let moments = [
        ("Planned", 0),
        ("Testing feat/a", 0),
        ("Proven feat/a", 0),
        ("Advancing feat/a", 0),
        ("Advanced feat/a", 1),
        ("Recorded feat/a", 1),
        ("Told feat/a", 1),
        ("Testing feat/b", 1),
        ("Proven feat/b", 1),
        ("Advancing feat/b", 1),
        ("Advanced feat/b", 2),
        ("Recorded feat/b", 2),
        ("BranchRebased feat/b", 2),
        ("Told feat/b", 2),
        ("Testing feat/c", 2),
        ("Proven feat/c", 2),
        ("Recorded feat/c", 2),
        ("Told feat/c", 2),
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

        let count = |name: &str| world.said().iter().filter(|message| message["type"] == name).count();
        let said = ["agent.advanced-main", "agent.feedback", "agent.status"].map(count);
        assert_eq!(said, [2, 1, 1], "{moment}: everything is said once");
    }
}

#[test]
fn what_a_dead_merge_left_does_not_hold_up_a_look_and_a_look_leaves_it() {
    let world = world();
    dies(&world, "Advanced feat/a");
    assert!(world.bench().exists());
    let merge: PlannedMerge = world.open().unwrap();
    assert_eq!(merge.forecast(true).unwrap().len(), 2, "a is over");
    drop(merge);
    assert!(world.merge().resumed);
}

#[test]
fn a_branch_that_moved_after_the_crash_is_judged_anew() {
    let world = world();
    dies(&world, "Told feat/c");
    let broken = world.worktree("c").join("broken");
    std::fs::remove_file(broken).unwrap();
    world.commit("c", "c.txt", "mended\n");
    assert_eq!(outcomes(&world.merge()), [("feat/a", "merged"), ("feat/b", "merged"), ("feat/c", "merged")]);
}

#[test]
fn a_damaged_journal_is_said_and_main_stays() {
    let world = world();
    let before = world.main();
    std::fs::create_dir_all(world.repo.root.join(".git/paw")).unwrap();
    super::world::write(&world.repo.root.join(".git/paw"), "merge.json", "{half");
    let error = world.open().unwrap_err();
    assert!(error.to_string().contains("merge.json"), "{error}");
    assert_eq!(world.main(), before);
}
