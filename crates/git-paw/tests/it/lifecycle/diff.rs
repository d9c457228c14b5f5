//! `git paw diff`

use std::fs;

use serde_json::Value;

use super::World;

#[test]
fn diff_shows_committed_uncommitted_and_untracked_work_of_an_agent() {
    let world = World::new();
    let dir = world.worktree("feat/a");
    let git = |args: &[&str]| world.repo.git(["-C", dir.to_str().unwrap()].iter().chain(args));
    fs::write(dir.join("committed.rs"), "one\ntwo\n").unwrap();
    git(&["add", "committed.rs"]);
    git(&["commit", "--quiet", "--message", "work"]);
    fs::write(dir.join("README.md"), "changed\n").unwrap();
    fs::create_dir(dir.join("new")).unwrap();
    fs::write(dir.join("new/file\u{1b}]0;x"), "untracked\n").unwrap();
    let before = git(&["status", "--porcelain"]);

    let ran = world.paw(&["diff", "feat/a"]);
    assert_eq!(ran.code, 0, "{ran}");
    for part in ["+two", "+changed", "+untracked", "diff --git a/committed.rs b/committed.rs"] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    assert!(!ran.stdout.contains("AGENTS.md"), "our own files are not work: {ran}");
    let stat = world.paw(&["diff", "a", "--stat"]).stdout;
    assert!(stat.contains("3 files, +4 ") && stat.contains("partly uncommitted"), "{stat}");
    assert!(!stat.contains('\u{1b}'), "{stat:?}");
    let listed: Value = serde_json::from_str(&world.paw(&["diff", "feat-a", "--json"]).stdout).unwrap();
    assert_eq!(listed["files"].as_array().unwrap().len(), 3);
    assert_eq!(listed["committed"], Value::Bool(false));
    let one = world.paw(&["diff", "feat/a", "--", "committed.rs"]).stdout;
    assert!(one.contains("+two") && !one.contains("+changed"), "{one}");
    assert_eq!(git(&["status", "--porcelain"]), before, "the worktree is unchanged");
}

#[test]
fn diff_runs_no_program_of_the_repository() {
    let world = World::new();
    let dir = world.worktree("feat/a");
    let trace = world.sandbox.root().join("ran");
    let touch = format!("touch {}", trace.display());
    for key in ["core.fsmonitor", "diff.external", "diff.x.textconv", "filter.x.clean", "core.pager"] {
        world.repo.git(["config", key, &touch]);
    }
    fs::write(dir.join(".gitattributes"), "* diff=x filter=x\n").unwrap();
    fs::write(dir.join("README.md"), "changed\n").unwrap();
    let ran = world.paw(&["diff", "feat/a"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!trace.exists());
}
