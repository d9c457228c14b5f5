//! `git paw remove`

use std::fs;

use paw_testkit::wait_until;
use serde_json::json;

use super::World;

#[test]
fn remove_removes_one_agent_and_keeps_the_others() {
    let world = World::new();
    let other = world.pane("feat-b");
    let ran = world.paw(&["remove", "feat/a"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "removed the agent of feat/a; kept the branch\n"),
        "{ran}"
    );
    assert!(!world.worktree("feat/a").exists() && world.has_branch("feat/a"));
    assert_eq!((world.pane("feat-a"), world.pane("feat-b")), (None, other));
    let agents: Vec<_> =
        world.status()["worktrees"].as_array().unwrap().iter().map(|one| one["branch"].clone()).collect();
    assert_eq!(agents, [json!("feat/b")]);
}

#[test]
fn remove_refuses_uncommitted_changes_before_it_changes_anything() {
    let world = World::new();
    fs::write(world.worktree("feat/a").join("draft"), "unsaved").unwrap();
    let ran = world.paw(&["remove", "feat/a"]);
    assert!(ran.code == 1 && ran.stderr.contains("draft") && ran.stderr.contains("--force"), "{ran}");
    assert!(world.pane("feat-a").is_some() && world.worktree("feat/a").exists());
    let ran = world.paw(&["remove", "feat/a", "--force"]);
    assert!(ran.code == 0 && ran.stderr.contains("git paw undo restore"), "{ran}");
    assert!(!world.worktree("feat/a").exists());
}

#[test]
fn remove_stores_text_added_to_a_briefing() {
    let world = World::new();
    let briefing = world.worktree("feat/a").join("AGENTS.md");
    let text = fs::read_to_string(&briefing).unwrap();
    fs::write(&briefing, format!("my own rule\n{text}")).unwrap();
    let ran = world.paw(&["remove", "feat/a"]);
    assert!(ran.code == 0 && ran.stderr.contains("git paw undo restore"), "{ran}");
    let rescues = world.repo.git(["for-each-ref", "--format=%(refname)", "refs/paw/rescue"]);
    let kept = world.repo.git(["show", &format!("{}:AGENTS.md", rescues.lines().next().unwrap())]);
    assert_eq!(kept.trim(), "my own rule");
}

#[test]
fn remove_can_keep_the_worktree() {
    let world = World::new();
    fs::write(world.worktree("feat/a").join("draft"), "unsaved").unwrap();
    let ran = world.paw(&["remove", "feat/a", "--keep-worktree"]);
    assert!(ran.code == 0 && ran.stdout.contains("kept the branch and the worktree"), "{ran}");
    assert!(world.worktree("feat/a").join("draft").exists() && world.pane("feat-a").is_none());
}

#[test]
fn remove_refuses_unknown_branches_the_supervisor_and_the_last_agent() {
    let world = World::new();
    let ran = world.paw(&["remove", "feat/x"]);
    assert!(ran.code == 1 && ran.stderr.contains("feat/a, feat/b"), "{ran}");
    let ran = world.paw(&["remove", "supervisor"]);
    assert!(ran.code == 1 && ran.stderr.contains("supervisor"), "{ran}");
    assert_eq!(world.paw(&["remove", "feat/a"]).code, 0);
    let ran = world.paw(&["remove", "feat/b"]);
    assert!(ran.code == 1 && ran.stderr.contains("git paw stop"), "{ran}");
    assert!(world.is_alive());
}

#[test]
fn remove_works_if_the_worktree_was_deleted_by_hand() {
    let world = World::new();
    fs::remove_dir_all(world.worktree("feat/a")).unwrap();
    assert_eq!(world.paw(&["remove", "feat/a"]).code, 0);
    assert_eq!(world.status()["worktrees"].as_array().unwrap().len(), 1);
}

#[test]
fn remove_works_in_a_stopped_session() {
    let world = World::new();
    world.paw(&["stop"]);
    assert_eq!(world.paw(&["remove", "feat/a"]).code, 0);
    assert!(!world.worktree("feat/a").exists());
}

#[test]
fn remove_from_the_agents_own_pane_completes() {
    let world = World::new();
    let pane = world.pane("feat-a").unwrap();
    world.tmux(&["send-keys", "-t", &pane, "C-c"]);
    world.tmux(&["send-keys", "-t", &pane, &format!("{} remove feat/a", crate::paw::PROGRAM), "Enter"]);
    wait_until("its pane is gone", || world.pane("feat-a").is_none().then_some(()));
    assert!(!world.worktree("feat/a").exists() && world.has_branch("feat/a"));
    let agents = world.receipt()["worktrees"].clone();
    assert_eq!(agents.as_array().unwrap().len(), 1, "{agents}");
    let windows = world.tmux(&["list-windows", "-t", "=paw-app:", "-F", "#{window_panes}"]);
    assert_eq!(windows, "1", "only the session window is left");
}
